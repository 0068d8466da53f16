#include "simulator/cluster/trace_run.h"

#include "base/text/units.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Rounds for which a policy may leave all GPUs idle while jobs wait.
#define MOST_IDLE_ROUNDS 1000

void rb_trace_options_defaults(struct rb_trace_options *o)
{
    *o = (struct rb_trace_options){
        .rules = RB_TRACE_EVENTS,
        .sharing = {.restart_us = 30 * RB_US_PER_S,
                    .round_us = 60 * RB_US_PER_S,
                    .fairness_p = NAN, // the policy's own
                    .avoid_interference = true},
        .n_nodes = 16,
        .gpus_per_node = 4,
        .min_nodes = 1,
        .provisioning = {.queue_s = rb_dist_constant(0), .init_s = rb_dist_constant(0)},
    };
}

static struct rb_goodput_batches **list_batches(const struct rb_apps *apps)
{
    struct rb_goodput_batches **batches = rb_xcalloc((size_t)apps->n, sizeof *batches);
    for (int i = 0; i < apps->n; i++) {
        const struct rb_batch_limits limits = rb_app_limits(&apps->apps[i]);
        batches[i] = rb_goodput_batches_create(&limits, RB_APP_MAX_GPUS);
    }
    return batches;
}

static bool check(const struct rb_trace *trace, const struct rb_trace_options *o, struct rb_err *err)
{
    if (o->autoscale && o->rules == RB_TRACE_OSDI21)
        return rb_err_set(err, RB_E_TRACE_RULES, "the published rules know no autoscaling: take the rules events");
    if (o->autoscale && trace->jobs[0].has_value && !o->rates)
        return rb_err_set(err, RB_E_PRICE_UNKNOWN,
                          "the trace says what an hour is worth to its jobs, and the nodes have no price to weigh it "
                          "against: say --usd-per-gpu-hour, or leave the column out");
    return true;
}

// Each of the two delays at the requested confidence: longer than the sum of both at that confidence if both vary.
static int64_t late_provision_us(const struct rb_trace_options *o)
{
    const struct rb_trace_provisioning *p = &o->provisioning;
    if (!(o->confidence > 0 && o->confidence < 1))
        return rb_us_from_seconds(rb_dist_mean(&p->queue_s) + rb_dist_mean(&p->init_s));
    return rb_us_from_seconds(rb_dist_quantile(&p->queue_s, o->confidence) +
                              rb_dist_quantile(&p->init_s, o->confidence));
}

static bool create_policies(struct rb_trace_run *r, struct rb_err *err)
{
    const struct rb_trace_options *o = &r->options;
    const struct rb_trace_provisioning *p = &o->provisioning;
    const struct rb_autoscale_options scaling = {
        .min_nodes = o->min_nodes,
        .max_nodes = o->n_nodes,
        .gpus_per_node = o->gpus_per_node,
        .least_worth = o->least_worth,
        .provision_us = rb_us_from_seconds(rb_dist_mean(&p->queue_s) + rb_dist_mean(&p->init_s)),
        .late_provision_us = late_provision_us(o),
        .restart_us = o->sharing.restart_us,
        .round_us = o->sharing.round_us,
        .rates = o->rates,
    };
    if (!o->policy->create(&o->sharing, &r->policy_state, err))
        return false;
    if (!o->autoscale || o->autoscale->create(&scaling, &r->autoscale_state, err))
        return true;
    o->policy->destroy(r->policy_state);
    return false;
}

// ---- jobs that cannot run here

void rb_trace_skip(struct rb_trace_run *run, int job, const char *why)
{
    struct rb_trace_training *t = &run->jobs[job];
    t->skipped = rb_arena_strdup(&run->arena, why);
    t->ended_us = run->now_us > t->submitted_us ? run->now_us : t->submitted_us;
    t->nodes = t->gpus = 0;
    if (run->rows[job])
        memset(run->rows[job], 0, (size_t)run->cluster.n_nodes * sizeof *run->rows[job]);
    run->n_skipped++;
}

static bool oracle_knows(const struct rb_trace_training *t, int most_gpus)
{
    for (int gpus = 1; gpus <= most_gpus && gpus <= RB_APP_MAX_GPUS; gpus++) {
        if (isfinite(t->oracle_step_s[gpus]))
            return true;
    }
    return false;
}

// Reasons known before anything runs. All other jobs are skipped when the policy puts them where they cannot run.
static void skip_hopeless(struct rb_trace_run *r)
{
    const struct rb_sharing *policy = r->options.policy;
    const int all = r->options.n_nodes * r->options.gpus_per_node;
    for (int j = 0; j < r->trace->n; j++) {
        const struct rb_trace_job *job = &r->trace->jobs[j];
        if (policy->needs_oracle) {
            rb_trace_training_consult_oracle(&r->jobs[j]);
            if (!oracle_knows(&r->jobs[j], all))
                rb_trace_skip(
                    r, j,
                    rb_arena_printf(&r->arena,
                                    "%s was measured with a batch of %d on no number of GPUs that nodes of %d "
                                    "make up, up to the cluster's %d",
                                    job->app->name, r->jobs[j].batch, r->options.gpus_per_node, all));
        } else if (policy->as_submitted && job->gpus > all) {
            rb_trace_skip(r, j,
                          rb_arena_printf(&r->arena,
                                          "it was submitted with %d GPUs, which %s keeps to, and the cluster has %d",
                                          job->gpus, policy->name, all));
        }
    }
}

static void list_prices(struct rb_trace_run *r)
{
    const struct rb_rate *rates = r->options.rates;
    r->price = rb_xcalloc((size_t)r->options.n_nodes, sizeof *r->price);
    for (int n = 0; rates && n < r->options.n_nodes; n++) {
        assert(n == 0 || rates[n].uusd_per_hour >= rates[n - 1].uusd_per_hour);
        r->n_prices += n == 0 || rates[n].uusd_per_hour > rates[n - 1].uusd_per_hour;
        r->price[n] = r->n_prices - 1;
    }
    r->gpu_us = rb_xcalloc((size_t)r->trace->n * (size_t)r->n_prices + 1, sizeof *r->gpu_us);
}

bool rb_trace_run_init(struct rb_trace_run *run, const struct rb_trace *trace, const struct rb_trace_options *options,
                       struct rb_err *err)
{
    struct rb_trace_run r = {.trace = trace, .options = *options};
    if (!check(trace, options, err) || !create_policies(&r, err))
        return false;
    rb_trace_nodes_init(&r.nodes, options->n_nodes, options->gpus_per_node,
                        options->autoscale ? options->min_nodes : options->n_nodes, &options->provisioning);
    r.cluster = (struct rb_shared_cluster){.n_nodes = r.nodes.n, .gpus = r.nodes.gpus, .rates = options->rates};
    list_prices(&r);
    r.batches = list_batches(trace->apps);
    r.jobs = rb_xcalloc((size_t)trace->n, sizeof *r.jobs);
    r.rows = rb_xcalloc((size_t)trace->n, sizeof *r.rows);
    r.active = rb_xcalloc((size_t)trace->n, sizeof *r.active);
    for (int j = 0; j < trace->n; j++)
        rb_trace_training_init(&r.jobs[j], &trace->jobs[j], !options->policy->as_submitted, options->gpus_per_node,
                               r.batches[trace->jobs[j].app - trace->apps->apps]);
    for (int j = 0; j < trace->n; j++) {
        r.jobs[j].submitted_us = trace->jobs[j].submitted_us;
        r.jobs[j].by_throughput = options->autoscale && options->autoscale->by_throughput;
    }
    if (options->rules == RB_TRACE_OSDI21)
        rb_trace_pin_osdi21(&r);
    rb_arena_init(&r.arena);
    skip_hopeless(&r);
    *run = r;
    return true;
}

void rb_trace_run_finish(struct rb_trace_run *run)
{
    if (!run->trace)
        return;
    run->options.policy->destroy(run->policy_state);
    if (run->options.autoscale)
        run->options.autoscale->destroy(run->autoscale_state);
    for (int j = 0; j < run->trace->n; j++) {
        rb_trace_training_finish(&run->jobs[j]);
        free(run->rows[j]);
    }
    for (int i = 0; i < run->trace->apps->n; i++)
        rb_goodput_batches_destroy(run->batches[i]);
    rb_trace_nodes_finish(&run->nodes);
    rb_arena_finish(&run->arena);
    free(run->price);
    free(run->gpu_us);
    free(run->batches);
    free(run->jobs);
    free(run->rows);
    free(run->active);
    free(run->seen);
    free(run->division);
    *run = (struct rb_trace_run){0};
}

static int64_t last_end_us(const struct rb_trace_run *run)
{
    int64_t end_us = 0;
    for (int j = 0; j < run->trace->n; j++) {
        if (!run->jobs[j].skipped && run->jobs[j].ended_us > end_us)
            end_us = run->jobs[j].ended_us;
    }
    return end_us;
}

static bool all_skipped(const struct rb_trace_run *run, struct rb_err *err)
{
    return rb_err_set(err, RB_E_TRACE_CLUSTER,
                      "none of the %d jobs can run on this cluster under %s; the first is job %s: %s", run->trace->n,
                      run->options.policy->name, run->trace->jobs[0].name, run->jobs[0].skipped);
}

bool rb_trace_run_all(struct rb_trace_run *run, struct rb_err *err)
{
    if (!(run->options.rules == RB_TRACE_OSDI21 ? rb_trace_run_osdi21(run, err) : rb_trace_run_events(run, err)))
        return false;
    if (run->n_skipped == run->trace->n)
        return all_skipped(run, err);
    rb_trace_nodes_release_all(&run->nodes, last_end_us(run));
    return true;
}

static void skip_waiting(struct rb_trace_run *run)
{
    for (int i = 0; i < run->n_active; i++)
        rb_trace_skip(run, run->active[i],
                      rb_arena_printf(&run->arena, "%s gave it no GPU in %d rounds in which all GPUs were free",
                                      run->options.policy->name, MOST_IDLE_ROUNDS));
    rb_trace_remove_ended(run);
    run->n_idle_rounds = 0;
}

bool rb_trace_check_end(struct rb_trace_run *run, struct rb_err *err)
{
    if (run->n_active > 0 && run->n_idle_rounds > MOST_IDLE_ROUNDS)
        skip_waiting(run);
    if (run->n_active == 0 || run->now_us <= (int64_t)RB_TRACE_LONGEST_S * RB_US_PER_S)
        return true;
    return rb_err_set(err, RB_E_TRACE_CLUSTER,
                      "%d of %d jobs would not end within ten years, %s among them: give the cluster more nodes",
                      run->trace->n - run->n_ended, run->trace->n, run->trace->jobs[run->active[0]].name);
}

// ---- active jobs

static void reserve(struct rb_trace_run *run)
{
    if (run->n_active <= run->active_cap)
        return;
    run->active_cap = 2 * run->n_active;
    run->seen = rb_xrealloc(run->seen, (size_t)run->active_cap, sizeof *run->seen);
    run->division =
        rb_xrealloc(run->division, (size_t)run->active_cap, (size_t)run->cluster.n_nodes * sizeof *run->division);
}

int64_t rb_trace_next_arrival_us(const struct rb_trace_run *run)
{
    const bool full = run->options.at_once > 0 && run->n_active >= run->options.at_once;
    return run->n_arrived < run->trace->n && !full ? run->trace->jobs[run->n_arrived].submitted_us : INT64_MAX;
}

void rb_trace_arrivals(struct rb_trace_run *run)
{
    while (rb_trace_next_arrival_us(run) <= run->now_us) {
        if (run->jobs[run->n_arrived].skipped) {
            run->n_arrived++;
            run->n_ended++;
            continue;
        }
        run->jobs[run->n_arrived].submitted_us =
            run->options.at_once > 0 ? run->now_us : run->trace->jobs[run->n_arrived].submitted_us;
        run->rows[run->n_arrived] = rb_xcalloc((size_t)run->cluster.n_nodes, sizeof(int));
        run->active[run->n_active++] = run->n_arrived++;
    }
    reserve(run);
}

void rb_trace_remove_ended(struct rb_trace_run *run)
{
    int n = 0;
    for (int i = 0; i < run->n_active; i++) {
        const int job = run->active[i];
        if (run->jobs[job].ended_us < 0) {
            run->active[n++] = job;
            continue;
        }
        free(run->rows[job]);
        run->rows[job] = NULL;
        run->n_ended++;
        if (run->options.watcher && run->jobs[job].started_us >= 0)
            run->options.watcher->ended(run->options.watcher->ctx, job, run->jobs[job].ended_us);
    }
    run->n_active = n;
}
