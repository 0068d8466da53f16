#include "executor/campaign/campaign.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/silence.h"
#include "base/text/units.h"
#include "engine/core/placement.h"
#include "executor/campaign/report_times.h"
#include "executor/launcher/last_lines.h"
#include "executor/launcher/trial_words.h"
#include "executor/metrics/metric_reader.h"
#include "profiles/job/job_image.h"
#include "profiles/job/job_trial.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A run is a trial of its own: number = index, attempt 0.
struct run {
    struct rb_campaign *c;
    struct rb_campaign_run result;
    // dormant: until there is a checkpoint to resume from
    enum {
        RUN_WAITING,
        RUN_RUNNING,
        RUN_SAVING,
        RUN_KILLED,
        RUN_ENDED,
        RUN_DORMANT
    } state;                   // killed: its processes are being ended
    struct rb_silence silence; // of its reports, until it is taken to hang
    bool doubted;              // it has lasted too long; its node is asked whether the run is silent
    struct rb_slot slot;
    struct rb_report_times times;
    int64_t resource_start, resource_end;
    char checkpoint[4096]; // the checkpoint it saved, or will resume from; "": none
    double load_sum;
    int n_loads;
    bool beyond;                     // it has trained past its end, and is being ended
    bool stopping;                   // trial.stop: saved: it is ended once it has saved
    struct rb_metric_reader *reader; // of its output
    int team;                        // the first of the runs that share its GPU; itself if it is alone
    struct rb_step_lines step_lines;
    struct rb_last_lines printed;   // reports left out
    int n_times, n_syncs, n_noises; // number of reports that had each
};

struct rb_campaign {
    struct rb_campaign_config config;
    struct rb_key_value container; // of every node, value NULL: none
    struct rb_launcher *launcher;
    struct rb_pool *pool;
    struct run *runs; // longest first, [n_runs], followed by the one that resumes from another's checkpoint
    int n_runs, n_all;
    struct rb_places places; // the nodes that are ready
    int n_settled;           // nodes that are ready or never will be
    bool stopping, was_held_up, any_report;
    struct rb_err failure;
    enum rb_campaign_resumed resumed;
    int64_t beyond; // first report after RB_RESOURCE_END, 0: none
};

static int64_t now_us(const struct rb_campaign *c)
{
    return c->config.pool.loop->now_us(c->config.pool.loop->ctx);
}

// Length of all the loop's gaps so far.
static int64_t away_us(const struct rb_campaign *c)
{
    return now_us(c) - rb_attended_us(c->config.pool.loop);
}

static void talk(struct rb_campaign *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void talk(struct rb_campaign *c, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->config.talk(c->config.ctx, text);
}

// --- runs ---------------------------------------------------------------------------------------------------------------

static void start_waiting(struct rb_campaign *c);

static void disarm(struct run *r)
{
    rb_silence_end(&r->silence);
    r->doubted = false;
}

static void kill_run(struct run *r, const char *why)
{
    disarm(r);
    r->state = RUN_KILLED;
    snprintf(r->result.error, sizeof r->result.error, "%s", why);
    r->c->launcher->ops->kill(r->c->launcher, (int)(r - r->c->runs), 0);
}

static void hung(struct run *r)
{
    const struct rb_campaign_config *config = &r->c->config;
    const struct rb_job *job = config->pool.job;
    char text[200], time[32];
    snprintf(text, sizeof text, "%s for %s (trial.timeout): killed; its output: %s/logs/",
             r->times.last_resource < config->resource ? "no report" : "it has reported all and does not end",
             rb_format_duration(job->trial.timeout_us, time), config->run_dir);
    kill_run(r, text);
}

static void expect_report(struct run *r);

static void is_silent(void *arg)
{
    struct run *r = arg;
    expect_report(r); // where no answer comes, the question is put again
    r->doubted = true;
    r->c->launcher->ops->echo(r->c->launcher, (int)(r - r->c->runs), 0);
}

static void expect_report(struct run *r)
{
    const int64_t timeout_us = r->c->config.pool.job->trial.timeout_us;
    r->doubted = false;
    if (timeout_us > 0)
        rb_silence_begin(&r->silence, r->c->config.pool.loop, timeout_us, is_silent, r);
}

// Runs of a team follow each other.
static int team_size(const struct run *r)
{
    return r->result.sharers;
}

static void begin_output(struct run *r)
{
    const struct rb_job *job = r->c->config.pool.job;
    rb_metric_reader_free(r->reader);
    r->reader = rb_metric_reader_new(&(struct rb_metric_reader_config){
        .form = &job->form, .unit = job->scheduler.unit, .metric_name = job->metric_name, .start = r->resource_start});
}

// No sampler proposes what is measured: it is drawn from the declared ranges. NULL: the job has none, and the launcher
// draws.
static const struct rb_value *draw_values(const struct rb_job *job, int config, struct rb_arena *arena)
{
    if (!job->scheduler.sampler.type)
        return NULL;
    struct rb_value *values = rb_arena_array(arena, (size_t)job->space.n_params + 1, sizeof *values);
    rb_space_sample(&job->space, job->seed, (uint32_t)config, values);
    return values;
}

static void start_run(struct rb_campaign *c, struct run *r, struct rb_slot slot)
{
    struct rb_arena arena = {0};
    const char *ip = rb_pool_node(c->pool, slot.node)->address;
    struct rb_trial_order order = {
        .job = c->config.pool.job,
        .run_id = c->config.pool.run_id,
        .trial = r->result.config,
        .parent = -1,
        .suggested = draw_values(c->config.pool.job, r->result.config, &arena),
        .attempt = r->result.round, // a script that draws noise from its identity draws other noise
        .resource_start = r->resource_start,
        .resource_end = r->resource_end,
        .node_ips = &ip,
        .n_nodes = 1,
        .sharers = c->config.n_shares > 0 ? r->result.sharers : 0,
        .gpus = r->result.gpus,
        .batch = r->result.with,
        .deadline_unix_us = -1,
    };
    struct rb_key_value *env;
    int n_env;
    rb_trial_env(&order, &arena, &env, &n_env);
    RB_AUTO(rb_buf_finish) struct rb_buf words = RB_BUF_INIT;
    rb_trial_words(&order, r->resource_start > 0, &words);
    begin_output(r);
    struct rb_task task = {
        .trial = (int)(r - c->runs),
        .slots = &r->slot,
        .n_slots = 1,
        .env = env,
        .n_env = n_env,
        .command = c->config.pool.job->run,
        .words = rb_buf_str(&words),
        .resume_from = r->resource_start > 0 ? r->checkpoint : NULL,
    };
    r->state = RUN_RUNNING;
    r->slot = slot;
    r->result.node = slot.node;
    rb_report_times_start(&r->times, now_us(c), away_us(c));
    c->launcher->ops->start(c->launcher, &task);
    expect_report(r);
    rb_arena_finish(&arena);
}

static int gpus_per_node(const struct rb_campaign *c)
{
    return c->config.pool.offer->gpus;
}

// A run that must not share its node holds all of it and uses what it is measured on.
static bool place(struct rb_campaign *c, int gpus, struct rb_slot *out)
{
    int n_slots;
    if (gpus > gpus_per_node(c) ||
        !rb_places_take(&c->places, c->config.exclusive ? gpus_per_node(c) : gpus, out, &n_slots))
        return false;
    out->gpus = c->config.exclusive ? rb_gpu_mask(gpus) : out->gpus;
    return true;
}

static void maybe_over(struct rb_campaign *c)
{
    for (int i = 0; i < c->n_all; i++)
        if (c->runs[i].state < RUN_ENDED && (c->runs[i].state == RUN_KILLED || !c->stopping))
            return;
    if (c->n_settled == c->config.pool.n_nodes || c->stopping)
        rb_pool_end(c->pool);
}

static void fail_waiting(struct rb_campaign *c, const char *why)
{
    for (int i = 0; i < c->n_all; i++)
        if (c->runs[i].state == RUN_WAITING) {
            c->runs[i].state = RUN_ENDED;
            snprintf(c->runs[i].result.error, sizeof c->runs[i].result.error, "%s", why);
        }
}

static void start_waiting(struct rb_campaign *c)
{
    if (c->stopping) {
        maybe_over(c);
        return;
    }
    if (c->places.n_held == 0 && c->n_settled == c->config.pool.n_nodes)
        fail_waiting(c, "no node came up");
    for (int i = 0; i < c->n_all; i++) {
        struct rb_slot slot;
        if (c->runs[i].state != RUN_WAITING || c->runs[i].team != i || !place(c, c->runs[i].result.gpus, &slot))
            continue;
        for (int k = 0; k < team_size(&c->runs[i]); k++)
            start_run(c, &c->runs[i + k], slot);
    }
    maybe_over(c);
}

static bool team_has_ended(const struct rb_campaign *c, const struct run *r)
{
    for (int k = 0; k < team_size(r); k++) {
        if (c->runs[r->team + k].state != RUN_ENDED)
            return false;
    }
    return true;
}

// Do all runs on the GPU train now: has each begun, and none ended?
static bool team_trains(const struct rb_campaign *c, const struct run *r)
{
    for (int k = 0; k < team_size(r); k++) {
        const struct run *other = &c->runs[r->team + k];
        if (other != r && (other->state != RUN_RUNNING || other->times.first_us < 0 ||
                           other->times.last_resource >= c->config.resource))
            return false;
    }
    return true;
}

static bool is_check(const struct rb_campaign *c, const struct run *r)
{
    return r == &c->runs[c->n_runs];
}

static void describe(const struct rb_campaign *c, const struct run *r, char *out, size_t size)
{
    char on[32];
    if (r->result.sharers > 1)
        snprintf(out, size, "configuration %d on 1/%d GPU", r->result.config, r->result.sharers);
    else
        snprintf(out, size, "configuration %d on %s%s", r->result.config,
                 rb_trial_unit_text(&c->config.pool.job->trial, r->result.gpus, on),
                 r->result.probe ? ", a larger batch" : "");
}

static void report_resumed(struct rb_campaign *c, const char *error)
{
    if (c->resumed == RB_RESUMED_UNKNOWN)
        talk(c, "it is unknown whether the script resumes from a checkpoint: %s", error);
    else
        talk(c, "started again from a checkpoint, the script %s",
             c->resumed == RB_RESUMED_YES ? "goes on from it" : "begins with the first unit again");
}

// The only question was whether it resumes from the checkpoint.
static void end_check(struct rb_campaign *c, struct run *r, const char *error)
{
    disarm(r);
    r->state = RUN_ENDED;
    rb_places_give(&c->places, r->slot.node, c->config.exclusive ? rb_gpu_mask(gpus_per_node(c)) : r->slot.gpus);
    if (!c->stopping)
        report_resumed(c, error);
    start_waiting(c);
}

static void end_run(struct rb_campaign *c, struct run *r, const char *error)
{
    char what[80];
    if (is_check(c, r)) {
        end_check(c, r, error ? error : "it reported nothing");
        return;
    }
    describe(c, r, what, sizeof what);
    disarm(r);
    r->state = RUN_ENDED;
    r->result.unit_s = r->times.unit_s;
    r->result.n_units = r->times.n_units;
    r->result.mean_unit_s = rb_report_times_mean_s(&r->times);
    r->result.ok = error == NULL;
    if (team_has_ended(c, r))
        rb_places_give(&c->places, r->slot.node, c->config.exclusive ? rb_gpu_mask(gpus_per_node(c)) : r->slot.gpus);
    if (error) {
        snprintf(r->result.error, sizeof r->result.error, "%s", error);
        talk(c, "%s failed: %s", what, error);
    } else {
        char unit[32], startup[32];
        talk(c, "%s: %s per %s, start-up %s", what, rb_format_seconds(r->result.mean_unit_s, unit),
             c->config.pool.job->scheduler.unit, rb_format_seconds(r->result.startup_s, startup));
    }
    start_waiting(c);
}

static void measure(struct rb_campaign *c, struct run *r, bool saved)
{
    struct rb_campaign_run *m = &r->result;
    m->startup_s = rb_report_times_startup_s(&r->times);
    m->checkpoint_s = saved ? (double)(now_us(c) - r->times.last_us) / 1e6 : -1;
    m->load = r->n_loads > 0 ? r->load_sum / r->n_loads : -1;
}

// --- the launcher's events ------------------------------------------------------------------------------------------------

static void on_prepared(void *ctx, int node, const struct rb_err *err)
{
    struct rb_campaign *c = ctx;
    rb_pool_prepared(c->pool, node, err);
    if (!err)
        c->launcher->ops->heartbeat(c->launcher, node, 0); // a campaign needs no longer life than the limit set at boot
}

static void on_fetching(void *ctx, int node, bool on)
{
    struct rb_campaign *c = ctx;
    rb_pool_fetching(c->pool, node, on);
}

static void on_fetched(void *ctx, int node, int64_t us)
{
    struct rb_campaign *c = ctx;
    rb_pool_fetched(c->pool, node, us);
}

static void on_pulled(void *ctx, int node, int64_t us)
{
    struct rb_campaign *c = ctx;
    rb_pool_pulled(c->pool, node, us);
}

static double batch_scale(const struct run *r, const struct rb_job *job)
{
    const struct rb_campaign_run *m = &r->result;
    return m->with.batch.per_gpu > 0 ? rb_batch_total(&m->with.batch, m->gpus) / (double)job->trial.batch_size : 1;
}

// Adds to the means so far.
static void count_steps(struct run *r, const struct rb_step_stats *reported)
{
    struct rb_step_stats *mean = &r->result.steps;
    if (reported->step_s > 0)
        mean->step_s += (reported->step_s - mean->step_s) / ++r->n_times;
    if (reported->has_sync) {
        mean->has_sync = true;
        mean->sync_s += (reported->sync_s - mean->sync_s) / ++r->n_syncs;
    }
    if (reported->has_noise) {
        mean->has_noise = true;
        r->n_noises++;
        mean->noise.sqr += (reported->noise.sqr - mean->noise.sqr) / r->n_noises;
        mean->noise.var += (reported->noise.var - mean->noise.var) / r->n_noises;
    }
}

// The first report of a run that should have resumed from a checkpoint. Some scripts evaluate the state that they have read
// once more.
static void judge_resumed(struct rb_campaign *c, struct run *r, int64_t resource)
{
    const bool again = resource == r->resource_start && r->resource_start > 1;
    c->resumed = resource > r->resource_start || again ? RB_RESUMED_YES : RB_RESUMED_NO;
    kill_run(r, "");
}

// It has trained the required resource, and continues.
static void end_beyond(struct rb_campaign *c, struct run *r, int64_t resource)
{
    if (r->beyond)
        return;
    r->beyond = true;
    c->beyond = c->beyond ? c->beyond : resource;
    c->launcher->ops->end(c->launcher, (int)(r - c->runs), 0);
}

// It has trained all that was asked for, and is ended once it has saved that.
static void stop_when_saved(struct rb_campaign *c, struct run *r, int64_t unit_us)
{
    const double most_s = 2, least_s = 0.2, half_unit_s = (double)unit_us / 2e6;
    const double rest_s = unit_us >= 0 && half_unit_s < most_s ? half_unit_s : most_s;
    r->stopping = true;
    c->launcher->ops->stop(c->launcher, (int)(r - c->runs), 0, 0, rest_s > least_s ? rest_s : least_s);
}

static void look_at_load(struct rb_campaign *c, struct run *r)
{
    double load;
    if (c->config.sees_load && getloadavg(&load, 1) == 1) {
        r->load_sum += load;
        r->n_loads++;
    }
}

static void take_line(void *ctx, const struct rb_metric_line *found)
{
    struct run *r = ctx;
    struct rb_campaign *c = r->c;
    const struct rb_job *job = c->config.pool.job;
    struct rb_metric_line line = *found;
    rb_step_lines_take(&r->step_lines, &line, batch_scale(r, job));
    c->any_report = c->any_report || line.is_report;
    if (!line.is_report || line.resource <= r->times.last_resource || r->state != RUN_RUNNING)
        return;
    if (is_check(c, r)) {
        judge_resumed(c, r, line.resource);
        return;
    }
    if (line.resource > r->resource_end && r->times.last_resource >= r->resource_end) {
        if (!r->stopping)
            end_beyond(c, r, line.resource);
        return;
    }
    count_steps(r, &line.steps);
    look_at_load(c, r);
    const int64_t unit_us =
        rb_report_times_take(&r->times, now_us(c), away_us(c), line.resource, team_trains(c, r));
    expect_report(r);
    if (job->trial.stop == RB_STOP_SAVED && r->times.last_resource >= r->resource_end)
        stop_when_saved(c, r, unit_us);
}

static void on_line(void *ctx, int trial, int attempt, const char *bytes, size_t n)
{
    (void)attempt;
    struct rb_campaign *c = ctx;
    struct run *r = &c->runs[trial];
    if (r->state == RUN_RUNNING && !rb_metric_reader_line(r->reader, bytes, n, take_line, r))
        rb_last_lines_take(&r->printed, bytes, n);
}

static void on_file(void *ctx, int trial, int attempt, const char *name, const char *bytes, size_t n, bool restart)
{
    (void)attempt;
    struct rb_campaign *c = ctx;
    struct run *r = &c->runs[trial];
    const int before = r->times.n_units;
    const bool first = r->times.first_us < 0;
    if (r->state == RUN_RUNNING && restart)
        rb_metric_reader_file_restart(r->reader, name);
    else if (r->state == RUN_RUNNING)
        rb_metric_reader_file(r->reader, name, bytes, n, take_line, r);
    rb_report_times_took_file(&r->times, before, first);
}

static void on_again(void *ctx, int trial, int attempt)
{
    (void)attempt;
    struct rb_campaign *c = ctx;
    begin_output(&c->runs[trial]);
}

static void on_echoed(void *ctx, int trial, int attempt)
{
    (void)attempt;
    struct rb_campaign *c = ctx;
    if (c->runs[trial].doubted)
        hung(&c->runs[trial]);
}

// It exited with 0 and cannot be measured: writes which report is missing.
static void describe_missing(const struct run *r, char *out, size_t size)
{
    const struct rb_campaign_config *config = &r->c->config;
    const char *unit = config->pool.job->scheduler.unit, *metric = config->pool.job->metric_name;
    char seen[160];
    rb_metric_reader_seen(r->reader, seen, sizeof seen);
    if (r->times.last_resource < config->resource)
        snprintf(out, size, "it reported %lld of %lld %ss (lines like `%s=1 %s=0.5` on stdout); %s%s",
                 (long long)r->times.last_resource, (long long)config->resource, unit, unit, metric, seen,
                 r->times.last_resource > 0 ? "; if it reports less often, train longer (--resource)" : "");
    else
        snprintf(out, size,
                 "it reported %s %lld without the one before: expected a line `%s=1 %s=0.5` for each, in order", unit,
                 (long long)r->times.last_resource, unit, metric);
}

// ---- scripts that fail

static bool seen_before(const struct rb_campaign *c, const struct run *r)
{
    for (int i = 0; i < c->n_runs; i++)
        if (&c->runs[i] != r && c->runs[i].result.failure == r->result.failure)
            return true;
    return false;
}

int rb_campaign_n_failed_alike(const struct rb_campaign *c, int i)
{
    int n = 0;
    for (int k = 0; k < c->n_runs; k++) {
        bool first = c->runs[k].result.failure == c->runs[i].result.failure;
        for (int before = 0; before < k && first; before++)
            first = c->runs[before].result.failure != c->runs[i].result.failure ||
                    c->runs[before].result.config != c->runs[k].result.config;
        n += first;
    }
    return n;
}

char *rb_campaign_printed(const struct rb_campaign *c, int i, char *out, size_t size)
{
    return rb_last_lines_text(&c->runs[i].printed, out, size);
}

static void stop_others(struct rb_campaign *c, const struct run *r, const char *why);

// Shows the lines only once, even if other runs print the same.
static void script_failed(struct rb_campaign *c, struct run *r, int code, const char *error)
{
    char said[400];
    const int needed = c->config.n_configs < RB_BROKEN_TRIALS ? c->config.n_configs : RB_BROKEN_TRIALS;
    const bool reports = code == 0 && r->times.last_resource > 0; // it works, though not as expected
    r->result.failure = reports ? 0 : rb_last_lines_signature(&r->printed, code);
    if (r->result.failure != 0 && !seen_before(c, r) && r->printed.n > 0)
        talk(c, "the script printed: %s", rb_last_lines_text(&r->printed, said, sizeof said));
    if (r->result.failure != 0 && !c->any_report && rb_campaign_n_failed_alike(c, (int)(r - c->runs)) >= needed)
        stop_others(c, r, "not measured: the script is broken");
    end_run(c, r, error);
}

static void on_exited(void *ctx, int trial, int attempt, int code)
{
    struct rb_campaign *c = ctx;
    struct run *r = &c->runs[trial];
    char text[400];
    if (r->state == RUN_RUNNING)
        rb_metric_reader_end(r->reader, take_line, r);
    if (r->state != RUN_RUNNING)
        return;
    disarm(r);
    if (r->times.last_resource >= c->config.resource && rb_report_times_as_one(&r->times, now_us(c)))
        talk(c, "its reports came all at once: the time of a %s is taken to be the whole run's, start-up included",
             c->config.pool.job->scheduler.unit);
    rb_report_times_end(&r->times);
    if (code != 0 && !r->beyond) {
        snprintf(text, sizeof text, "exit code %d; its output: %s/logs/", code, c->config.run_dir);
        script_failed(c, r, code, text);
    } else if (r->times.late_startup || (r->times.n_gaps > 0 && r->times.n_units == 0)) {
        end_run(c, r,
                "this process did not run for a while (stopped or suspended), so its times were not measured: measure "
                "again");
    } else if (r->times.last_resource >= c->config.resource && r->times.n_units == 0 && r->result.sharers > 1) {
        end_run(c, r, "the others on its GPU did not train at the same time: train longer (--resource)");
    } else if (r->times.last_resource < c->config.resource || r->times.n_units == 0) {
        describe_missing(r, text, sizeof text);
        script_failed(c, r, code, text);
    } else {
        char dest[4096];
        snprintf(dest, sizeof dest, "%s/checkpoints/run-%d", c->config.run_dir, trial);
        r->state = RUN_SAVING;
        c->launcher->ops->save(c->launcher, trial, attempt, dest);
    }
}

// The first checkpoint of a run that was alone on its GPUs is used for a resume on the same number of GPUs.
static void go_on_from(struct rb_campaign *c, const struct run *r, const char *checkpoint)
{
    struct run *check = &c->runs[c->n_runs];
    if (c->n_all == c->n_runs || check->state != RUN_DORMANT || r->result.sharers > 1 || r->result.probe ||
        strlen(checkpoint) >= sizeof check->checkpoint)
        return;
    check->result.gpus = r->result.gpus;
    check->result.config = r->result.config;
    check->result.round = r->result.round;
    check->result.with = r->result.with;
    check->resource_start = r->times.last_resource;
    check->resource_end = r->times.last_resource + 1;
    strcpy(check->checkpoint, checkpoint);
    check->state = RUN_WAITING;
}

static void on_saved(void *ctx, int trial, int attempt, const char *checkpoint, const struct rb_err *err)
{
    (void)attempt;
    struct rb_campaign *c = ctx;
    struct run *r = &c->runs[trial];
    if (r->state != RUN_SAVING)
        return;
    measure(c, r, err == NULL && !rb_report_times_was_away(&r->times, away_us(c)));
    if (!err)
        go_on_from(c, r, checkpoint);
    end_run(c, r, NULL);
}

static void on_killed(void *ctx, int trial, int attempt)
{
    (void)attempt;
    struct rb_campaign *c = ctx;
    struct run *r = &c->runs[trial];
    char why[sizeof r->result.error];
    if (r->state != RUN_KILLED)
        return;
    snprintf(why, sizeof why, "%s", r->result.error);
    end_run(c, r, why);
}

static void on_unreachable(void *ctx, int node, const char *why)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_campaign *c = ctx;
    rb_places_remove(&c->places, node);
    rb_buf_printf(&text, "its node could no longer be reached: %s", why);
    for (int i = 0; i < c->n_all; i++)
        if (c->runs[i].state >= RUN_RUNNING && c->runs[i].state < RUN_ENDED && c->runs[i].slot.node == node)
            end_run(c, &c->runs[i], rb_buf_str(&text));
}

static void on_waiting(void *ctx, int node, const char *why)
{
    struct rb_campaign *c = ctx;
    rb_pool_waiting(c->pool, node, why);
}

static void on_switched(void *ctx, int node, const struct rb_switch_report *report)
{
    struct rb_campaign *c = ctx;
    struct rb_err err = {0};
    if (report->state == RB_SWITCH_ARMED)
        return;
    rb_err_set(&err, RB_E_SWITCH_NOT_ARMED,
               "node %d: it is not known whether its dead man's switch is armed (%s): if rbprofile dies, `rbrun gc` "
               "has to end it",
               node, report->why[0] ? report->why : "it gave no reason");
    talk(c, "%s [RB%d]", err.message, (int)rb_err_number(&err));
}

// Until there is room. Times measured meanwhile come from a full machine; the user must judge them.
static void on_held_up(void *ctx, int trial, const struct rb_err *err)
{
    struct rb_campaign *c = ctx;
    if (trial >= 0 && c->runs[trial].state == RUN_RUNNING)
        expect_report(&c->runs[trial]);
    if (!c->was_held_up)
        talk(c, "%s; waiting for room", err->message);
    c->was_held_up = true;
}

// --- the pool's events ------------------------------------------------------------------------------------------------------

static void on_node(void *ctx, int node, const struct rb_err *err)
{
    struct rb_campaign *c = ctx;
    c->n_settled++;
    if (err) {
        talk(c, "node %d: %s", node, err->message);
        if (c->failure.code == RB_ERR_NONE)
            c->failure = *err;
    } else {
        const struct rb_pool_node *n = rb_pool_node(c->pool, node);
        char queueing[32], initialisation[32];
        talk(c, "node %d ready: %s queueing, %s initialisation", node,
             rb_format_duration(n->running_us - n->requested_us, queueing),
             rb_format_duration(n->prepared_us - n->running_us, initialisation));
        rb_places_set(&c->places, node, gpus_per_node(c), rb_gpu_mask(gpus_per_node(c)));
    }
    start_waiting(c);
}

static void on_gone(void *ctx, const struct rb_err *err)
{
    struct rb_campaign *c = ctx;
    c->config.finished(c->config.ctx, err);
}

// --- life ---------------------------------------------------------------------------------------------------------------

static struct rb_campaign_run *add_run(struct rb_campaign *c, int gpus, int sharers, int config, int round, int team)
{
    struct run *r = &c->runs[c->n_runs++];
    r->c = c;
    r->team = team;
    r->result.gpus = gpus;
    r->result.sharers = sharers;
    r->result.config = config;
    r->result.round = round;
    r->result.with = rb_batching_initial(c->config.pool.job, gpus);
    r->result.load = -1;
    r->resource_end = c->config.resource;
    rb_report_times_init(&r->times, (int)c->config.resource);
    return &r->result;
}

// The number of teams in which every configuration appears at least once.
static int n_teams(const struct rb_campaign *c, int sharers)
{
    return (c->config.n_configs + sharers - 1) / sharers;
}

static void add_teams(struct rb_campaign *c, int sharers, int *round)
{
    for (int t = 0; t < n_teams(c, sharers); t++, ++*round) {
        const int team = c->n_runs;
        for (int k = 0; k < sharers; k++)
            add_run(c, 1, sharers, (t * sharers + k) % c->config.n_configs, *round, team);
    }
}

// Each is four times the one before, as far as one gradient fits on a GPU. Without them the time per sample of a step
// would be known only for the initial batch.
static void add_probes(struct rb_campaign *c, int gpus, int *round)
{
    const struct rb_job *job = c->config.pool.job;
    const struct rb_batch initial = rb_batching_initial(job, gpus).batch;
    int64_t per_gpu = initial.per_gpu;
    for (int i = 0; i < c->config.n_batches && per_gpu > 0 && initial.accumulation == 0; i++, ++*round) {
        per_gpu *= 4;
        if (per_gpu > job->trial.batch_max_per_gpu || per_gpu * gpus > job->trial.batch_max)
            return;
        struct rb_campaign_run *m = add_run(c, gpus, 1, 0, *round, c->n_runs);
        m->probe = true;
        m->with.batch.per_gpu = (int)per_gpu;
    }
}

static void add_check(struct rb_campaign *c)
{
    const int at = c->n_runs;
    add_run(c, 1, 1, 0, 0, at);
    c->runs[at].state = RUN_DORMANT;
    c->n_runs = at;
    c->n_all = at + 1;
}

// Longest first, to keep the campaign short: fewest GPUs first, ties by configuration. Then runs that share a GPU, then
// runs with a larger batch.
static void list_runs(struct rb_campaign *c)
{
    const struct rb_campaign_config *config = &c->config;
    int n = config->n_gpus * (config->n_configs + config->n_batches), round = config->n_gpus;
    for (int i = 0; i < config->n_shares; i++)
        n += n_teams(c, config->shares[i]) * config->shares[i];
    c->runs = rb_xcalloc((size_t)n + 2, sizeof *c->runs);
    for (int i = 0; i < config->n_gpus * config->n_configs; i++)
        add_run(c, config->gpus[i / config->n_configs], 1, i % config->n_configs, i / config->n_configs, i);
    for (int i = 0; i < config->n_shares; i++)
        add_teams(c, config->shares[i], &round);
    for (int i = 0; i < config->n_gpus; i++)
        add_probes(c, config->gpus[i], &round);
    c->n_all = c->n_runs;
    if (c->n_runs > 0 && !config->pool.job->starts_over)
        add_check(c);
}

struct rb_campaign *rb_campaign_create(const struct rb_campaign_config *config)
{
    struct rb_campaign *c = rb_xcalloc(1, sizeof *c);
    c->config = *config;
    c->config.pool.ready = on_node;
    c->config.pool.gone = on_gone;
    c->config.pool.ctx = c;
    c->container = (struct rb_key_value){"*", rb_job_container_image(config->pool.job, config->pool.infra)};
    struct rb_launcher_config l = {
        .loop = config->pool.loop,
        .job = config->pool.job,
        .run_id = config->pool.run_id,
        .run_dir = config->run_dir,
        .workdir = config->workdir,
        .containers = &c->container,
        .n_containers = c->container.value != NULL,
        .transport = config->pool.transport,
        .events = {.ctx = c,
                   .prepared = on_prepared,
                   .fetching = on_fetching,
                   .fetched = on_fetched,
                   .pulled = on_pulled,
                   .line = on_line,
                   .file = on_file,
                   .again = on_again,
                   .echoed = on_echoed,
                   .exited = on_exited,
                   .saved = on_saved,
                   .killed = on_killed,
                   .unreachable = on_unreachable,
                   .waiting = on_waiting,
                   .held_up = on_held_up,
                   .switched = on_switched},
    };
    c->launcher = rb_launcher_create(&l);
    c->pool = rb_pool_create(&c->config.pool);
    list_runs(c);
    return c;
}

void rb_campaign_destroy(struct rb_campaign *c)
{
    if (!c)
        return;
    rb_pool_destroy(c->pool);
    c->launcher->ops->destroy(c->launcher);
    for (int i = 0; i < c->n_all; i++) {
        disarm(&c->runs[i]);
        rb_report_times_finish(&c->runs[i].times);
        rb_metric_reader_free(c->runs[i].reader);
    }
    free(c->runs);
    rb_places_finish(&c->places);
    free(c);
}

bool rb_campaign_start(struct rb_campaign *c, struct rb_err *err)
{
    return rb_pool_start(c->pool, c->launcher, err);
}

// Stops all but `except`, which has ended by itself.
static void stop_others(struct rb_campaign *c, const struct run *except, const char *why)
{
    c->stopping = true;
    fail_waiting(c, why);
    for (int i = 0; i < c->n_all; i++) {
        struct run *r = &c->runs[i];
        if (r == except)
            continue;
        if (r->state == RUN_RUNNING && c->config.on_this_machine)
            kill_run(r, why);
        else if (r->state == RUN_RUNNING || r->state == RUN_SAVING)
            snprintf(r->result.error, sizeof r->result.error, "%s", why);
    }
}

void rb_campaign_stop(struct rb_campaign *c)
{
    stop_others(c, NULL, "interrupted");
    maybe_over(c);
}

int rb_campaign_n_runs(const struct rb_campaign *c)
{
    return c->n_runs;
}

// If something was measured and nothing was saved, the script writes no checkpoint.
enum rb_campaign_resumed rb_campaign_resumed(const struct rb_campaign *c)
{
    bool saved = false;
    if (c->config.pool.job->starts_over)
        return rb_campaign_has_measured(c) ? RB_RESUMED_NO : RB_RESUMED_UNKNOWN;
    for (int i = 0; i < c->n_runs; i++)
        saved = saved || (c->runs[i].result.ok && c->runs[i].result.checkpoint_s >= 0);
    return rb_campaign_has_measured(c) && !saved ? RB_RESUMED_NO : c->resumed;
}

bool rb_campaign_has_measured(const struct rb_campaign *c)
{
    bool measured = false;
    for (int i = 0; i < c->n_runs; i++)
        measured = measured || c->runs[i].result.ok;
    return measured;
}

int64_t rb_campaign_beyond(const struct rb_campaign *c)
{
    return c->beyond;
}

const struct rb_campaign_run *rb_campaign_run(const struct rb_campaign *c, int i)
{
    return &c->runs[i].result;
}

const struct rb_err *rb_campaign_failure(const struct rb_campaign *c)
{
    return c->failure.code == RB_ERR_NONE ? NULL : &c->failure;
}

const struct rb_pool_node *rb_campaign_node(const struct rb_campaign *c, int node)
{
    return rb_pool_node(c->pool, node);
}
