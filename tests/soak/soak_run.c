#include "soak_run.h"

#include "executor/controller/controller.h"
#include "executor/run/replanning.h"
#include "executor/run/standing.h"
#include "fake_reports.h"
#include "providers/wire/http.h"
#include "soak_random.h"
#include "soak_world.h"
#include "tests/base/remove_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_US INT64_C(1000000)
#define MINUTE_US (60 * SECOND_US)
#define LIFE_US   (24 * 60 * MINUTE_US) // a controller that takes longer hangs
#define AFTER_US  (10 * MINUTE_US)      // for whatever is still on its way when the run is over

#define REMEMBERED_US (55 * MINUTE_US)

enum { MAX_FORGOTTEN = 64 };
enum { MAX_GIVEN_UP = 6 }; // a run that gave up is resumed so often, then stays as it is

static const char run_id[] = "soak-run";

struct run {
    const struct soak_options *options;
    struct soak_outcome *out;
    struct rb_arena arena;
    struct soak_world world;
    struct soak_cloud cloud;
    struct fake_machines machines;
    char dir[64], journal_path[96];
    struct rb_http *http;
    struct rb_provider providers[2]; // of the world's infras
    struct rb_run_place places[2];
    struct rb_journal *journal;
    struct rb_controller *controller;
    struct rb_standing standing;   // of a run that replans, else NULL in it
    struct rb_replanning replanning;
    int forgotten[MAX_FORGOTTEN]; // by ordinal, [out->n_forgotten]
    bool unlisted[2]; // this controller says that the infra does not say now what spot machines cost
    bool finished;
    enum rb_job_outcome outcome;
    struct rb_err err; // code NONE: it ended well
};

static void must(bool ok, const struct rb_err *err)
{
    if (!ok) {
        fprintf(stderr, "soak run: %s\n", err->message);
        abort();
    }
}

static void say(const struct run *r, const char *kind, const char *text)
{
    if (r->options->verbose)
        fprintf(stderr, "%10.3f %s: %s\n", (double)r->cloud.v.now_us / 1e6, kind, text);
}

static void id_of(const struct run *r, const struct rb_cloud_instance *i, char out[static 128])
{
    if (r->world.is_gcp)
        snprintf(out, 128, "%s.%s", i->name, i->zone);
    else
        snprintf(out, 128, "%s", i->id);
}

// --- accidents

struct accident {
    struct run *run;
    struct soak_accident what;
};

static void befall(void *arg)
{
    struct accident *a = arg;
    struct run *r = a->run;
    char text[64];
    const bool can_stop = r->controller && !virtual_loop_is_stopped(&r->cloud.v);
    const struct soak_accident *w = &a->what;
    snprintf(text, sizeof text, "%.0f s",
             (double)(w->jump_us + w->sleep_us + w->offline_us + w->stop_us + w->full_us) / 1e6);
    say(r,
        w->sleep_us     ? "the host sleeps"
        : w->offline_us ? "the host is offline"
        : w->full_us    ? "the host is full"
        : w->stop_us    ? can_stop ? "the controller is stopped" : "no controller to be stopped"
                        : "the host's clock jumps",
        text);
    if (w->stop_us && can_stop)
        soak_cloud_stop(&r->cloud, w->stop_us);
    else if (w->full_us)
        fake_machines_set_full(&r->machines, w->full_us);
    else if (a->what.sleep_us)
        soak_cloud_sleep(&r->cloud, a->what.sleep_us);
    else if (a->what.offline_us)
        soak_cloud_go_offline(&r->cloud, a->what.offline_us);
    else if (w->jump_us)
        soak_cloud_jump(&r->cloud, a->what.jump_us);
    r->out->n_stops += w->stop_us && can_stop;
    r->out->n_long_stops += w->stop_us >= SOAK_DEAD_MAN_US && can_stop;
    r->out->n_full_hosts += w->full_us != 0;
    r->out->n_outages += a->what.offline_us != 0;
    r->out->n_sleeps += a->what.sleep_us != 0;
    r->out->n_jumps += a->what.jump_us != 0;
    free(a);
}

static void network(void *machines, bool offline)
{
    fake_machines_set_offline(machines, offline);
}

static void schedule_accidents(struct run *r)
{
    for (int i = 0; i < r->world.n_accidents; i++) {
        struct accident *a = rb_xcalloc(1, sizeof *a);
        *a = (struct accident){.run = r, .what = r->world.accidents[i]};
        r->cloud.v.loop.timer_start(&r->cloud.v, a->what.at_us, befall, a);
    }
}

// --- one controller

static bool birth(void *ctx, const struct rb_run_place *place, struct rb_buf *out, char host_key[static 128],
                  struct rb_err *err)
{
    (void)ctx, (void)place, (void)err;
    rb_buf_puts(out, "#cloud-config\n");
    strcpy(host_key, "ssh-ed25519 AAAA");
    return true;
}

// EC2 remembers an ended instance for an hour, a little more or less, and Compute Engine never says which market a deleted
// one was on. Who asks sooner, or was given the right one, has no excuse.
static bool is_excused(const struct run *r, const struct rb_cloud_instance *i, const char *text)
{
    const int64_t since_us = soak_cloud_now_us(&r->cloud) - i->terminated_us;
    if (strstr(text, "billed by our clock"))
        return i->terminated_us >= 0 && since_us >= REMEMBERED_US;
    if (strstr(text, "is not in the journal"))
        return true; // and nothing can be, for the disk is full (as test_unreachable.c looks at)
    return strstr(text, "on which market it ran") && r->world.is_gcp && i->terminated_us >= 0;
}

static void note_forgotten(struct run *r, const char *text)
{
    char id[128];
    for (int k = 0; k < rb_cloud_n_instances(r->cloud.cloud) && r->out->n_forgotten < MAX_FORGOTTEN; k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(r->cloud.cloud, k);
        id_of(r, i, id);
        if (strstr(text, id) && is_excused(r, i, text))
            r->forgotten[r->out->n_forgotten++] = k;
    }
}

static void note_prices(struct run *r, const char *text)
{
    const bool stopped = strstr(text, "does not say what spot machines cost now") != NULL;
    if (!stopped && !strstr(text, "says again what spot machines cost"))
        return;
    for (int i = 0; i < r->world.n_infras; i++)
        if (strstr(text, r->world.infras[i]) == text)
            r->unlisted[i] = stopped;
}

// The run ended without the last prices of the launch's market, and said so.
static bool is_unpriced(const struct run *r, const struct rb_launch_row *row)
{
    for (int i = 0; i < r->world.n_infras; i++)
        if (r->unlisted[i] && strcmp(row->infra, r->world.infras[i]) == 0)
            return strcmp(row->market, rb_market_name(RB_MARKET_SPOT)) == 0;
    return false;
}

static void talk(void *ctx, const char *kind, const char *text)
{
    struct run *r = ctx;
    if (strcmp(kind, "warning") == 0)
        note_forgotten(r, text);
    note_prices(r, text);
    r->out->n_held_up += strstr(text, "waiting for room") != NULL;
    r->out->wrongly_hung += strstr(text, "hung, killed") && r->machines.training.hangs == 0;
    r->out->n_stand_ins += strstr(text, " stands in for ") != NULL;
    say(r, kind, text);
}

static void finished(void *ctx, enum rb_job_outcome outcome, enum rb_stop_reason reason, const struct rb_err *err)
{
    struct run *r = ctx;
    (void)reason;
    r->finished = true;
    r->outcome = outcome;
    r->err = err ? *err : (struct rb_err){0};
}

static void open_journal(struct run *r)
{
    struct rb_err err;
    if (access(r->journal_path, F_OK) == 0) {
        must(rb_journal_open(r->journal_path, &r->journal, &err), &err);
    } else {
        const struct rb_journal_meta meta = {.run_id = run_id,
                                             .plan_sha256 = "0",
                                             .owner = "us",
                                             .started_unix_us = virtual_loop_unix_us(&r->cloud.v),
                                             .deadline_us = -1,
                                             .budget_uusd = r->world.plan->budget_uusd};
        must(rb_journal_create(r->journal_path, &meta, &r->journal, &err), &err);
    }
    must(rb_journal_relax(r->journal, &err), &err);
}

static void open_providers(struct run *r)
{
    const struct rb_provider_ops *ops;
    char region[64];
    struct rb_err err;
    must(rb_http_create(&r->cloud.v.ours, &r->http, &err), &err);
    for (int i = 0; i < r->world.n_infras; i++) {
        must(rb_provider_find(r->world.infras[i], &ops, region, &err), &err);
        const struct rb_provider_config config = {
            .loop = &r->cloud.v.ours, .http = r->http, .region = region, .loopback_only = true};
        must(ops->create(&config, &r->providers[i], &err), &err);
        r->places[i] = (struct rb_run_place){.infra = r->world.infras[i],
                                         .provider = &r->providers[i],
                                         .gives_birth = true,
                                         .boot_timeout_us = 900 * SECOND_US};
    }
}

// --- leaving the plan

static void hear(void *ctx, const struct rb_event *event, const struct rb_actions *actions)
{
    struct run *r = ctx;
    (void)actions;
    if (r->standing.prediction)
        rb_prediction_event(r->standing.prediction, event);
}

static bool remember(void *ctx, const struct rb_event *event, struct rb_err *err)
{
    (void)err;
    hear(ctx, event, NULL);
    return true;
}

static void begin_replanning(struct run *r)
{
    struct rb_err err;
    if (!r->world.replans)
        return;
    r->standing = (struct rb_standing){.prediction = rb_prediction_create(r->world.plan)};
    rb_replanning_init(&r->replanning, r->world.plan);
    must(rb_journal_each_event(r->journal, remember, r, &err), &err);
}

static void end_replanning(struct run *r)
{
    if (!r->standing.prediction)
        return;
    rb_replanning_finish(&r->replanning);
    rb_prediction_destroy(r->standing.prediction);
    r->standing.prediction = NULL;
}

// As a session does it, but until the answer is there.
static void replan(struct run *r)
{
    RB_AUTO(rb_buf_finish) struct rb_buf words = RB_BUF_INIT;
    struct rb_progress now;
    struct rb_event advice;
    int64_t reserved;
    rb_progress_of_engine(rb_controller_engine(r->controller), r->world.plan, &now);
    if (now.over || now.stage < 0)
        return;
    rb_controller_spend(r->controller, &now.spent_uusd, &reserved);
    now.elapsed_us = rb_controller_now_us(r->controller);
    now.deadline_us = r->world.plan->deadline_us;
    now.budget_uusd = r->world.plan->budget_uusd;
    rb_standing_settle(&r->standing, &now);
    rb_standing_report(&r->standing, &now);
    rb_replanning_check(&r->replanning, r->standing.prediction, &now);
    while (rb_replanning_is_busy(&r->replanning)) {
        if (rb_replanning_work(&r->replanning, r->standing.prediction, &now, &advice, &words) != RB_REPLAN_TAKE)
            continue;
        say(r, "replanned", rb_buf_str(&words));
        r->out->n_replanned++;
        rb_controller_advise(r->controller, &advice, NULL);
    }
}

static void open_controller(struct run *r, bool go_on)
{
    struct rb_err err;
    const struct rb_controller_config config = {
        .loop = &r->cloud.v.ours,
        .plan = r->world.plan,
        .journal = r->journal,
        .run_id = run_id,
        .run_dir = r->dir,
        .places = r->places,
        .n_places = r->world.n_infras,
        .launcher = fake_machines_launcher,
        .launcher_ctx = &r->machines,
        .birth = birth,
        .ssh_user = "rb",
        .ssh_port = 22,
        .poll_us = 5 * SECOND_US, // as rbrun against a real cloud
        .capacity_retries = 10,
        .go_on = go_on,
        .observe = hear,
        .talk = talk,
        .finished = finished,
        .ctx = r,
    };
    must(rb_controller_create(&config, &r->controller, &err), &err);
    rb_controller_start(r->controller);
}

// As if the process had ended: what it sent still arrives, what comes back finds no one.
static void close_controller(struct run *r)
{
    for (int i = 0; i < r->world.n_infras; i++)
        r->providers[i].ops->destroy(&r->providers[i]);
    rb_http_destroy(r->http);
    end_replanning(r);
    rb_controller_destroy(r->controller);
    rb_journal_close(r->journal);
    r->controller = NULL;
    r->journal = NULL;
}

static void step_until(struct run *r, int64_t at_us, bool even_if_finished)
{
    while ((even_if_finished || !r->finished) && virtual_loop_step_until(&r->cloud.v, at_us))
        ;
}

static bool goes_on(const struct rb_cloud_instance *i)
{
    return i->state != RB_CLOUD_SHUTTING_DOWN && i->state != RB_CLOUD_TERMINATED;
}

static int count_alive(const struct run *r)
{
    int n = 0;
    for (int k = 0; k < rb_cloud_n_instances(r->cloud.cloud); k++)
        n += goes_on(rb_cloud_instance(r->cloud.cloud, k));
    return n;
}

// It said that nothing is left: that is true at that instant, or it is a lie.
static void check_claim(struct run *r)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_journal_meta meta;
    struct rb_err err;
    rb_arena_init(&arena);
    must(rb_journal_meta(r->journal, &arena, &meta, &err), &err);
    r->out->false_claims += meta.leak_checked_at_us >= 0 && meta.instances_left == 0 && count_alive(r) > 0;
}

// It ended all that it had, and said so, or said that it cannot be sure.
static void check_rescue(struct run *r)
{
    const bool sure = strstr(r->err.message, "a listing shows none left") != NULL;
    r->out->n_full++;
    r->out->n_rescued += sure;
    r->out->false_claims += sure && count_alive(r) > 0;
}

enum ending { ENDED_WELL, DIED, FULL, GAVE_UP, HANGS };

static enum ending live(struct run *r, const struct soak_death *death)
{
    const bool resumed = r->out->n_lives++ > 0;
    open_journal(r);
    open_providers(r);
    rb_journal_die(r->journal, death ? death->write : 0,
                   death && death->full ? RB_JOURNAL_FULL
                   : death && death->at ? RB_JOURNAL_DIES_AT
                                        : RB_JOURNAL_DIES_AFTER);
    r->finished = false;
    memset(r->unlisted, 0, sizeof r->unlisted);
    begin_replanning(r);
    open_controller(r, resumed);
    for (int64_t until_us = r->cloud.v.now_us + LIFE_US; !r->finished && r->cloud.v.now_us < until_us;) {
        step_until(r, r->world.replans ? r->cloud.v.now_us + MINUTE_US : until_us, false);
        if (r->world.replans && !r->finished && !rb_journal_plays_dead(r->journal) && !virtual_loop_is_stopped(&r->cloud.v))
            replan(r);
    }
    const bool died = death && rb_journal_plays_dead(r->journal);
    const bool full = r->err.code && strstr(r->err.message, "disk is full");
    say(r, "the controller", !r->finished ? "hangs" : died ? "died" : r->err.code ? r->err.message : "has finished");
    if (!r->finished)
        return HANGS;
    if (died)
        return DIED;
    if (full)
        check_rescue(r);
    if (full)
        return FULL;
    check_claim(r);
    return r->err.code || r->outcome != RB_JOB_COMPLETE ? GAVE_UP : ENDED_WELL;
}

// Dies as the seed says; what gave up is resumed, as its user would.
static void live_to_the_end(struct run *r)
{
    int n_given_up = 0;
    for (;;) {
        const struct soak_death *death =
            r->out->n_deaths < r->world.n_deaths ? &r->world.deaths[r->out->n_deaths] : NULL;
        const enum ending ending = live(r, death);
        snprintf(r->out->how, sizeof r->out->how, "%.255s", r->err.code ? r->err.message : "complete");
        r->out->complete = ending == ENDED_WELL;
        r->out->hangs = ending == HANGS;
        r->out->n_deaths += ending == DIED || ending == FULL;
        n_given_up += ending == GAVE_UP;
        if (ending == ENDED_WELL || ending == HANGS || n_given_up == MAX_GIVEN_UP)
            return;
        close_controller(r);
        step_until(r, r->cloud.v.now_us + (ending == DIED ? death->pause_us : MINUTE_US), true);
        if (ending == GAVE_UP && soak_cloud_is_offline(&r->cloud))
            step_until(r, r->cloud.online_us, true);
    }
}

// --- what must be true

// Disks of machines that shut themselves down are billed on, and no run counts that (docs/gcp.md): distinguished.
static int64_t idle_disk_uusd(const struct rb_cloud_instance *i, int64_t now_us)
{
    struct rb_cloud_instance at_once = *i;
    at_once.terminated_us = i->ended_us;
    return rb_cloud_bill(i, now_us).total_uusd - rb_cloud_bill(&at_once, now_us).total_uusd;
}

static int64_t bill_uusd(const struct run *r, const struct rb_cloud_instance *i)
{
    const int64_t now_us = soak_cloud_now_us(&r->cloud);
    return rb_cloud_bill(i, now_us).total_uusd - idle_disk_uusd(i, now_us);
}

static bool is_forgotten(const struct run *r, const struct rb_cloud_instance *i)
{
    for (int k = 0; k < r->out->n_forgotten; k++)
        if (r->forgotten[k] == i->ordinal)
            return true;
    return false; // the cloud could have said so
}

// EC2 gives what never ran a launchTime, too. That it was pending says only the answer to TerminateInstances, which may be lost;
// then it counts as having run, for the least that is billed.
static bool may_have_run(const struct rb_cloud_instance *i, const struct rb_launch_row *row)
{
    const bool ended_pending = i->running_us < 0 && i->cause == RB_CLOUD_CAUSE_USER;
    const struct rb_billing billing = {
        .rate = i->offer->rate, .prices = i->prices, .disk_rate = i->disk_rate, .disk_gb = i->disk_gb};
    const int64_t from_us = row->running_unix_us;
    return ended_pending && row->cost_uusd <= rb_bill_node(&billing, from_us, from_us + RB_BILLING_MINIMUM_US).total_uusd;
}

static void compare_bills(struct run *r, const struct rb_cloud_instance *i, const struct rb_launch_row *row)
{
    const int64_t cloud_uusd = bill_uusd(r, i);
    const bool unpriced = is_unpriced(r, row), forgotten = is_forgotten(r, i) || may_have_run(i, row);
    char text[384];
    if (row->cost_uusd == cloud_uusd)
        return;
    snprintf(text, sizeof text, "node %d.%d %s: cloud %lld, run %lld (ran %lld..%lld, we say %lld..%lld)", row->node,
             row->attempt, row->instance_id, (long long)cloud_uusd, (long long)row->cost_uusd, (long long)i->running_us,
             (long long)i->ended_us, (long long)row->running_unix_us, (long long)row->terminated_unix_us);
    say(r, forgotten ? "bill estimated" : unpriced ? "bill without prices" : "bills differ", text);
    r->out->n_unpriced += unpriced && !forgotten;
    r->out->estimated_uusd += forgotten || unpriced ? row->cost_uusd - cloud_uusd : 0;
}

static bool is_answered_for(struct run *r, const struct rb_cloud_instance *i, const struct rb_launch_row *rows, int n)
{
    char id[128];
    id_of(r, i, id);
    for (int k = 0; k < n; k++)
        if (strcmp(rows[k].instance_id, id) == 0) {
            compare_bills(r, i, &rows[k]);
            return true;
        }
    say(r, "no one answers for", id);
    return false;
}

static int count_gang_nodes(const struct rb_launch_row *rows, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        bool together = false;
        for (int k = 0; k < n; k++)
            together = together || (k != i && rows[i].attempt >= 0 && rows[k].attempt >= 0 &&
                                    strcmp(rows[i].launch_id, rows[k].launch_id) == 0);
        count += together;
    }
    return count;
}

static void check_money(struct run *r)
{
    struct rb_launch_row *rows;
    struct rb_err err;
    int n;
    must(rb_journal_launches(r->journal, &r->arena, &rows, &n, &err), &err);
    for (int k = 0; k < n; k++)
        r->out->run_uusd += rows[k].cost_uusd;
    r->out->n_gang_nodes = count_gang_nodes(rows, n);
    for (int k = 0; k < rb_cloud_n_instances(r->cloud.cloud); k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(r->cloud.cloud, k);
        const bool answered_for = is_answered_for(r, i, rows, n), warned = is_forgotten(r, i);
        if (i->cause == RB_CLOUD_CAUSE_CAPACITY && !answered_for)
            continue; // there was no machine: another zone, or the same name later, may have been tried
        r->out->cloud_uusd += bill_uusd(r, i);
        r->out->estimated_uusd -= !answered_for && warned ? bill_uusd(r, i) : 0;
        r->out->idle_disk_uusd += idle_disk_uusd(i, soak_cloud_now_us(&r->cloud));
        r->out->launched_twice += !answered_for && !warned;
    }
}

// What may be held against a controller that was only stopped, for less than nodes wait, or whose host was only full.
static int count_blamed(const struct run *r)
{
    int n = !r->out->complete + (r->out->n_lives > 1);
    if (!r->world.is_quiet || r->out->n_long_stops > 0)
        return 0;
    for (int i = 0; i < r->machines.n_processes; i++)
        n += r->machines.processes[i]->attempt > 0;
    for (int k = 0; k < rb_cloud_n_instances(r->cloud.cloud); k++)
        n += rb_cloud_instance(r->cloud.cloud, k)->cause != RB_CLOUD_CAUSE_USER;
    return n;
}

static void check_end(struct run *r)
{
    const struct rb_chaos *chaos = rb_cloud_chaos(r->cloud.cloud);
    r->out->leaked = count_alive(r);
    r->out->lost_reports = fake_reports_lost(&r->machines, r->journal);
    r->out->n_instances = rb_cloud_n_instances(r->cloud.cloud);
    r->out->n_requests = r->cloud.n_requests;
    r->out->virtual_us = r->cloud.v.now_us;
    r->out->blamed = count_blamed(r);
    r->out->is_quiet = r->world.is_quiet;
    check_money(r);
    const bool is_attended = r->out->n_lives == 1 && r->world.n_accidents == 0;
    r->out->above_budget = is_attended && r->world.replans && r->out->run_uusd > r->world.plan->budget_uusd;
    r->out->whole_seconds = r->world.whole_seconds;
    for (int k = 0; k < chaos->rules.n; k++)
        r->out->n_faults[chaos->rules.rules[k].fault] += chaos->counts[k].fired;
    memcpy(r->out->n_wire_faults, r->cloud.n_wire_faults, sizeof r->out->n_wire_faults);
}

bool soak_outcome_is_good(const struct soak_outcome *o)
{
    return o->leaked == 0 && o->launched_twice == 0 && o->lost_reports == 0 && o->false_claims == 0 && !o->hangs &&
           o->blamed == 0 && o->above_budget == 0 && o->wrongly_hung == 0 && o->cloud_uusd + o->estimated_uusd == o->run_uusd;
}

// --- from beginning to end

static void make_dir(struct run *r)
{
    const char *shm = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; // thousands of journals: not on a disk
    char keys[96];
    snprintf(r->dir, sizeof r->dir, "%s/rb-soak-XXXXXX", shm);
    if (!mkdtemp(r->dir))
        abort();
    snprintf(keys, sizeof keys, "%s/keys", r->dir);
    mkdir(keys, 0700);
    snprintf(r->journal_path, sizeof r->journal_path, "%s/journal.db", r->dir);
}

static void set_up(struct run *r)
{
    const uint64_t seed = r->options->seed;
    soak_random_seed(seed);
    make_dir(r);
    rb_arena_init(&r->arena);
    soak_world_init(&r->world, seed, r->options->is_gcp, &r->arena);
    if (r->options->verbose)
        fprintf(stderr, "%s%s", rb_buf_str(&r->world.yaml), rb_buf_str(&r->world.chaos));
    soak_cloud_init(&r->cloud, seed, rb_buf_str(&r->world.yaml), r->world.prices, rb_buf_str(&r->world.chaos),
                    r->world.whole_seconds, r->options->account);
    r->cloud.is_gcp = r->world.is_gcp;
    r->cloud.wire = r->world.wire;
    const struct fake_site site = soak_cloud_site(&r->cloud);
    fake_machines_init(&r->machines, &site, seed);
    r->machines.catch_up_us = r->world.catch_up_us;
    r->machines.training.fails = r->world.training.fails;
    r->machines.training.yields = r->world.training.yields;
    r->machines.training.hangs = r->world.training.hangs;
    r->machines.training.save_fails = r->world.training.save_fails;
    r->cloud.died = fake_machines_died;
    r->cloud.died_ctx = &r->machines;
    r->cloud.network = network;
    schedule_accidents(r);
}

static void take_down(struct run *r)
{
    close_controller(r);
    while (virtual_loop_step(&r->cloud.v)) // what is still under way frees itself
        ;
    fake_machines_finish(&r->machines);
    soak_cloud_finish(&r->cloud);
    soak_world_finish(&r->world);
    rb_arena_finish(&r->arena);
    remove_tree(r->dir);
}

void soak_run(const struct soak_options *options, struct soak_outcome *out)
{
    struct run r = {.options = options, .out = out};
    *out = (struct soak_outcome){0};
    set_up(&r);
    live_to_the_end(&r);
    step_until(&r, r.cloud.v.now_us + AFTER_US, true);
    check_end(&r);
    take_down(&r);
}
