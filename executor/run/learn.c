#include "executor/run/learn.h"

#include "base/clock.h"
#include "engine/core/engine.h"
#include "engine/core/policy.h"
#include "executor/launcher/trial_env.h"
#include "executor/report/report.h"
#include "executor/search/found.h"
#include "profiles/catalog/infra.h"
#include "profiles/fit/noise_fit.h"
#include "profiles/store/ended.h"
#include "providers/wire/digest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UNITS = 32, LEAST_UNITS = 2 }; // of one start

// A start of a trial: the units between its reports.
struct start {
    int trial, stage, attempt, gpus, nodes, offer;
    bool is_alone, is_broken; // has its GPUs for itself; cannot be timed unit by unit
    int64_t resource, at_us;  // of its last report
    double unit_s[MOST_UNITS];
    int n_units;
};

// How long a node has fetched the job's data and pulled its image.
struct fetch {
    int node, attempt;
    int64_t data_us, pull_us;
};

struct lessons {
    struct rb_arena arena;
    const struct rb_plan *plan;
    struct rb_engine *engine;
    struct rb_actions actions;
    struct start *starts; // [n]
    int n, *last, n_last; // last: by trial, its last start; -1: none
    struct rb_provision_sample *refusals; // [n_refusals]
    int n_refusals;
    struct fetch *fetches; // [n_fetches]
    int n_fetches;
    bool was_resumed;
};

static void finish(struct lessons *l)
{
    rb_engine_destroy(l->engine);
    rb_actions_finish(&l->actions);
    rb_arena_finish(&l->arena);
    free(l->starts);
    free(l->last);
    free(l->refusals);
    free(l->fetches);
}

// ---- the journal, again

static struct start *last_of(struct lessons *l, int trial)
{
    for (; l->n_last <= trial; l->n_last++) {
        l->last = rb_grow(l->last, l->n_last, sizeof *l->last);
        l->last[l->n_last] = -1;
    }
    return l->last[trial] < 0 ? NULL : &l->starts[l->last[trial]];
}

static void begin_start(struct lessons *l, const struct rb_event *report, const struct rb_trial *t)
{
    l->starts = rb_grow(l->starts, l->n, sizeof *l->starts);
    l->starts[l->n] = (struct start){
        .trial = report->trial,
        .stage = t->stage,
        .attempt = t->attempt,
        .gpus = t->gpus,
        .nodes = t->n_slots,
        .offer = rb_engine_node(l->engine, t->slots[0].node)->offer,
        .is_alone = t->sharers == 1,
        .resource = report->resource,
        .at_us = report->time_us,
    };
    l->last[report->trial] = l->n++;
}

// The first report of a start comes after the time that starting took.
static void take_report(struct lessons *l, const struct rb_event *report)
{
    const struct rb_trial *t = rb_engine_trial(l->engine, report->trial);
    struct start *s = last_of(l, report->trial);
    if (t->resource != report->resource || t->n_slots < 1)
        return; // a late one, or the last: its GPUs are free by now
    if (!s || s->stage != t->stage || s->attempt != t->attempt || s->gpus != t->gpus) {
        begin_start(l, report, t);
        return;
    }
    if (report->resource == s->resource)
        return;
    s->is_broken |= report->resource != s->resource + 1 || report->time_us <= s->at_us;
    if (!s->is_broken && s->n_units < MOST_UNITS)
        s->unit_s[s->n_units++] = (double)(report->time_us - s->at_us) / RB_US_PER_S;
    s->resource = report->resource;
    s->at_us = report->time_us;
}

// Only of a node's first request: a place that is sold out refuses every one that follows, too.
static void take_refusal(struct lessons *l, const struct rb_event *event)
{
    if (event->node >= rb_engine_n_nodes(l->engine) || event->attempt > 0)
        return;
    const struct rb_offer *o = &l->plan->offers[rb_engine_node(l->engine, event->node)->offer];
    if (o->reservation) // it was closed or in use, which says nothing of machines on sale
        return;
    l->refusals = rb_grow(l->refusals, l->n_refusals, sizeof *l->refusals);
    l->refusals[l->n_refusals++] = (struct rb_provision_sample){.infra = o->infra,
                                                                .instance_type = o->instance_type,
                                                                .market = rb_market_name(o->market),
                                                                .queue_s = -1,
                                                                .init_s = -1,
                                                                .outcome = "capacity"};
}

static void take_fetch(struct lessons *l, const struct rb_event *event)
{
    l->fetches = rb_grow(l->fetches, l->n_fetches, sizeof *l->fetches);
    l->fetches[l->n_fetches++] = (struct fetch){event->node, event->attempt, event->data_us, event->pull_us};
}

static const struct fetch *fetch_of(const struct lessons *l, const struct rb_launch_row *row)
{
    static const struct fetch nothing;
    for (int i = 0; i < l->n_fetches; i++)
        if (l->fetches[i].node == row->node && l->fetches[i].attempt == row->attempt)
            return &l->fetches[i];
    return &nothing;
}

static bool take(void *ctx, const struct rb_event *event, struct rb_err *err)
{
    struct lessons *l = ctx;
    (void)err;
    if (event->kind == RB_EVENT_NODE_REFUSED)
        take_refusal(l, event);
    if (event->kind == RB_EVENT_NODE_READY && (event->data_us > 0 || event->pull_us > 0))
        take_fetch(l, event);
    rb_engine_step(l->engine, event, &l->actions);
    l->was_resumed |= event->kind == RB_EVENT_RESUME;
    if (event->kind == RB_EVENT_REPORT && event->trial < rb_engine_n_trials(l->engine))
        take_report(l, event);
    return true;
}

// ---- units

static bool is_timed(const struct start *s)
{
    double sum = 0, least = INFINITY;
    for (int i = 0; i < s->n_units; i++) {
        sum += s->unit_s[i];
        least = fmin(least, s->unit_s[i]);
    }
    return s->is_alone && !s->is_broken && s->n_units >= LEAST_UNITS && least >= RB_UNIT_BURST * sum / s->n_units;
}

// Only what was trained by what the profile was measured of may be added to it.
static bool is_of_profile(const struct rb_run_files *f, struct rb_arena *arena, struct rb_measured_of *out)
{
    const char *changes[RB_MEASURED_FILES + 2];
    const struct rb_profile *p = f->plan.profile;
    rb_measured_of_job(f->plan.job, f->workdir, rb_digest_sha256, arena, out);
    return p->has_measured && p->n_basis == 0 && p->measured.of.command && f->plan.job->trial.batch_size <= 0 &&
           rb_measured_changes(&p->measured.of, out, changes) == 0;
}

static bool put_units(struct lessons *l, const struct rb_run_files *f, struct rb_store *store, struct rb_err *err)
{
    const struct rb_job *job = l->plan->job;
    struct rb_measured_of of;
    int n = 0;
    if (!is_of_profile(f, &l->arena, &of))
        return true;
    for (int i = 0; i < l->n && n < RB_ENDED_UNITS; i++) {
        const struct start *s = &l->starts[i];
        const struct rb_offer *offer = &l->plan->offers[s->offer];
        RB_AUTO(rb_buf_finish) struct rb_buf config = RB_BUF_INIT;
        struct rb_json j = {.out = &config};
        if (!is_timed(s))
            continue;
        rb_trial_params_write(job, s->trial, rb_engine_trial(l->engine, s->trial)->values, &j);
        const struct rb_run_sample sample = {
            .accelerator = offer->accelerator,
            .infra = offer->infra,
            .instance_type = offer->instance_type,
            .gpus = s->gpus,
            .nodes = s->nodes,
            .unit = job->scheduler.unit,
            .config_json = rb_buf_str(&config),
            .command = job->run,
            .commit = "",
            .machine = rb_arena_printf(&l->arena, "%s in %s", offer->instance_type, offer->infra),
            .measured_at_us = rb_clock_unix_us(),
            .checkpoint_s = -1,
            .unit_s = s->unit_s,
            .n_units = s->n_units,
            .restarts = l->plan->profile->restarts,
            .of = of,
            .of_run = f->run_id,
        };
        if (!rb_store_add_run(store, job->profile, &sample, err))
            return false;
        n++;
    }
    return true;
}

// ---- delays

static bool put_reading(const struct rb_job *job, const struct rb_launch_row *r, int64_t us, int64_t now_us,
                        struct rb_store *store, struct rb_err *err)
{
    const struct rb_reading_sample sample = {.fetch = job->data_fetch,
                                             .infra = r->infra,
                                             .instance_type = r->instance_type,
                                             .bytes = job->data_bytes,
                                             .read_s = (double)us / RB_US_PER_S,
                                             .measured_at_us = now_us};
    return !job->data_fetch || rb_store_add_reading(store, job->profile, &sample, err);
}

// A reservation's nodes come as those on demand do, and plans take them so (simulator/model/scenario.h).
static const char *market_of(const struct rb_launch_row *r)
{
    return strcmp(r->market, rb_market_name(RB_MARKET_RESERVED)) == 0 ? rb_market_name(RB_MARKET_ON_DEMAND) : r->market;
}

// When the node began to run. A pod is seen to run only once it has its image, and is billed while it waits for it.
static int64_t began_us(const struct rb_launch_row *r, const struct rb_journal_meta *meta, int64_t pull_us)
{
    const int64_t billed_us = r->running_unix_us - meta->started_unix_us;
    if (pull_us == 0 || r->running_unix_us < 0 || billed_us >= r->running_us)
        return r->running_us;
    return billed_us > r->intent_us ? billed_us : r->intent_us;
}

static bool put_delays(struct lessons *l, const struct rb_run_files *f, struct rb_journal *j, struct rb_store *store,
                       struct rb_err *err)
{
    struct rb_launch_row *rows;
    struct rb_journal_meta meta;
    const int64_t now_us = rb_clock_unix_us();
    int n_rows, n = 0;
    if (!rb_journal_meta(j, &l->arena, &meta, err) || !rb_journal_launches(j, &l->arena, &rows, &n_rows, err))
        return false;
    rb_store_stamp(store, now_us, rb_ended_source(f->run_id, &l->arena));
    for (int i = 0; i < l->n_refusals && n < RB_ENDED_DELAYS / 2; i++, n++) {
        l->refusals[i].measured_at_us = now_us;
        if (!rb_store_add_provision(store, &l->refusals[i], err))
            return false;
    }
    for (int i = 0; i < n_rows && n < RB_ENDED_DELAYS; i++) {
        const struct rb_launch_row *r = &rows[i];
        const int64_t data_us = fetch_of(l, r)->data_us, pull_us = fetch_of(l, r)->pull_us,
                      running_us = began_us(r, &meta, pull_us);
        if (data_us > 0 && !put_reading(l->plan->job, r, data_us, now_us, store, err))
            return false;
        if (rb_infra_within(r->infra, "local") || r->ready_us < 0 || r->running_us < r->intent_us || r->ready_us < r->running_us)
            continue;
        const struct rb_provision_sample p = {.infra = r->infra,
                                              .instance_type = r->instance_type,
                                              .market = market_of(r),
                                              .queue_s = (double)(running_us - r->intent_us) / RB_US_PER_S,
                                              .init_s =
                                                  fmax(0, (double)(r->ready_us - running_us - data_us) / RB_US_PER_S),
                                              .pull_s = (double)pull_us / RB_US_PER_S,
                                              .outcome = "ok",
                                              .measured_at_us = now_us};
        if (!rb_store_add_provision(store, &p, err))
            return false;
        n++;
    }
    return true;
}

// ---- how the prediction fared

static struct rb_ended_figure figure(const struct rb_quantiles *q, int64_t was)
{
    return (struct rb_ended_figure){q->p5, q->p50, q->p95, was};
}

// limit: of the run; planned: what the promise was for. broke: the run was ended because of it.
static struct rb_ended_promise promise(const struct rb_estimate *e, double p, int64_t limit, int64_t planned, int64_t was,
                                       bool is_complete, bool broke)
{
    struct rb_ended_promise out = {.p = NAN, .kept = -1};
    if (limit < 0 || limit != planned || e->spread_unknown)
        return out;
    out.p = p;
    if (is_complete || broke || was > limit)
        out.kept = !broke && was <= limit;
    return out;
}

static bool is_stopped(const struct rb_report *r, enum rb_stop_reason reason)
{
    return r->outcome == RB_JOB_STOPPED && r->reason == reason;
}

static bool put_ended(const struct lessons *l, const struct rb_run_files *f, struct rb_journal *j,
                      struct rb_store *store, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_report r;
    if (!rb_report_make(j, &f->plan, &arena, &r, err))
        return false;
    const struct rb_plan *plan = &f->plan;
    const bool is_complete = r.outcome == RB_JOB_COMPLETE && !r.ended_at_deadline;
    const bool at_deadline = is_stopped(&r, RB_STOP_DEADLINE) || (is_stopped(&r, RB_STOP_DRIFT) && r.meta.budget_uusd < 0);
    const bool at_budget = is_stopped(&r, RB_STOP_BUDGET) || (is_stopped(&r, RB_STOP_DRIFT) && r.meta.deadline_us < 0);
    const bool at_limit = at_deadline || at_budget || is_stopped(&r, RB_STOP_DRIFT);
    if (l->was_resumed || plan->unpredicted || (!is_complete && !at_limit))
        return true;
    const struct rb_estimate *e = &plan->estimate;
    const struct rb_ended ended = {
        .run = f->run_id,
        .profile = plan->job->profile,
        .job = plan->job->name,
        .ended_at_us = rb_clock_unix_us(),
        .is_complete = is_complete,
        .time_us = figure(&e->time_us, r.time_us),
        .cost_uusd = figure(&e->cost_uusd, r.cost_uusd),
        .on_time = promise(e, e->p_deadline, r.meta.deadline_us, plan->deadline_us, r.time_us, is_complete,
                           at_deadline),
        .in_budget = promise(e, e->p_budget, r.meta.budget_uusd, plan->budget_uusd, r.cost_uusd, is_complete,
                             at_budget),
    };
    return rb_store_put_ended(store, &ended, err);
}

static bool put(const struct rb_run_files *f, struct rb_journal *j, struct rb_store *store, struct rb_err *err)
{
    RB_AUTO(finish) struct lessons l = {.plan = &f->plan};
    const struct rb_policy *policy = rb_policy_find(f->plan.policy);
    rb_arena_init(&l.arena);
    if (policy && policy->on_lent_gpus)
        return true; // its nodes are a pool's, and its GPUs change while it trains
    return rb_engine_create(&f->plan, &l.engine, err) && rb_journal_each_event(j, take, &l, err) &&
           rb_store_forget_ended(store, f->run_id, f->plan.job->profile, err) && put_units(&l, f, store, err) &&
           put_delays(&l, f, j, store, err) && put_ended(&l, f, j, store, err);
}

bool rb_run_learn(const struct rb_run_files *f, struct rb_journal *j, struct rb_store *store, struct rb_err *err)
{
    if (!rb_store_begin(store, err))
        return false;
    if (rb_search_leave(f, j, store, err) && put(f, j, store, err) && rb_store_commit(store, err))
        return true;
    rb_store_rollback(store);
    return false;
}
