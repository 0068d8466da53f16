// Records past events and the pace of training; simulates the rest often enough to predict how the run will end.
#include "simulator/model/prediction.h"

#include "engine/core/policy.h"
#include "simulator/model/summary.h"
#include "simulator/world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEWEST_UNITS = 5,    // with fewer, a pace is not meaningful
    PRIOR_UNITS = 10,    // the profile's mean counts as this many units seen
    MOST_EVENTS = 20000, // replayed in each of the runs: tens of milliseconds
};

struct rb_prediction {
    const struct rb_plan *plan;
    struct rb_plan aimless_plan; // the plan of a job without a target
    struct rb_job aimless_job;
    struct rb_scenario scenario;
    struct rb_engine *engine;
    struct rb_actions actions;
    const char *why_unknown; // permanent; NULL: the run can be predicted
    struct rb_arena arena;   // forecasts of the history
    struct rb_event *history;
    int n_history, history_cap;

    int64_t *reported_us; // by trial: its last report, [n_reported]
    int n_reported;
    double seen_s, expected_s;
    int64_t n_units;

    struct rb_prediction_now now;
    int64_t beyond_plan_uusd; // spent so far, less what the plan's prices say
    int n_known;              // events of the history when it was begun
    int64_t time_us[RB_PREDICTION_SAMPLES], cost_uusd[RB_PREDICTION_SAMPLES];
    int n_made;
    const char *why_failed;
    struct rb_estimate estimate;
    bool estimated;
};

// ---- life

static const char *cannot_foresee(const struct rb_plan *plan)
{
    const struct rb_policy *policy = rb_policy_find(plan->policy);
    if (plan->unpredicted)
        return "it owns the nodes of a pool, and ends when their jobs have ended";
    return policy ? NULL : "the plan's policy is unknown to this version";
}

struct rb_prediction *rb_prediction_create(const struct rb_plan *plan)
{
    struct rb_prediction *p = rb_xcalloc(1, sizeof *p);
    struct rb_err err;
    rb_arena_init(&p->arena);
    p->plan = plan;
    p->aimless_job = *plan->job;
    p->aimless_job.has_target = false;
    p->aimless_plan = *plan;
    p->aimless_plan.job = &p->aimless_job;
    p->why_unknown = cannot_foresee(plan);
    p->n_made = RB_PREDICTION_SAMPLES; // nothing was begun
    if (!rb_engine_create(plan, &p->engine, &err)) {
        p->engine = NULL;
        p->why_unknown = p->why_unknown ? p->why_unknown : "the plan's scheduler is unknown to this version";
    }
    if (!rb_scenario_init(&p->scenario, &p->aimless_job, plan->profile, plan->offers, plan->n_offers, plan->catalog,
                          plan->seed, &err)) {
        p->scenario.sim_offers = NULL;
        p->why_unknown = p->why_unknown ? p->why_unknown : "the plan's profile does not say how long things take";
    }
    return p;
}

void rb_prediction_destroy(struct rb_prediction *p)
{
    if (!p)
        return;
    rb_engine_destroy(p->engine);
    rb_actions_finish(&p->actions);
    if (p->scenario.sim_offers)
        rb_scenario_finish(&p->scenario);
    rb_arena_finish(&p->arena);
    free(p->history);
    free(p->reported_us);
    free(p);
}

const struct rb_engine *rb_prediction_engine(const struct rb_prediction *p)
{
    return p->engine;
}

// ---- what has happened

static const struct rb_stage_change *keep_changes(struct rb_prediction *p, const struct rb_event *event)
{
    const size_t n = (size_t)event->n_changes;
    struct rb_stage_change *kept = rb_arena_array(&p->arena, n, sizeof *kept);
    return memcpy(kept, event->changes, n * sizeof *kept);
}

static void remember(struct rb_prediction *p, const struct rb_event *event)
{
    if (p->n_history == MOST_EVENTS) {
        p->why_unknown = "so much has happened that playing it again and again would take too long";
        return;
    }
    if (p->n_history == p->history_cap) {
        p->history_cap = p->history_cap ? 2 * p->history_cap : 256;
        p->history = rb_xrealloc(p->history, (size_t)p->history_cap, sizeof *p->history);
    }
    struct rb_event *kept = &p->history[p->n_history++];
    *kept = *event;
    kept->said = NULL; // borrowed
    if (event->advice)
        kept->advice = rb_advice_copy(event->advice, &p->arena);
    if (event->n_changes > 0)
        kept->changes = keep_changes(p, event);
}

static int64_t *reported_at(struct rb_prediction *p, int trial)
{
    if (trial >= p->n_reported) {
        p->reported_us = rb_xrealloc(p->reported_us, (size_t)trial + 1, sizeof *p->reported_us);
        while (p->n_reported <= trial)
            p->reported_us[p->n_reported++] = -1;
    }
    return &p->reported_us[trial];
}

// From one report to the next of the same start: units alone, without starting and saving times.
static void see_units(struct rb_prediction *p, const struct rb_event *report, int64_t resource_before)
{
    const struct rb_trial *t = rb_engine_trial(p->engine, report->trial);
    int64_t *last_us = reported_at(p, report->trial);
    const int64_t units = t->resource - resource_before, since_us = *last_us;
    struct rb_err err;
    double unit_s;
    if (units <= 0 || t->n_slots < 1 || !p->scenario.sim_offers)
        return;
    *last_us = report->time_us;
    const int offer = rb_engine_node(p->engine, t->slots[0].node)->offer;
    if (since_us < t->started_us || t->started_us < 0 ||
        !rb_scenario_width_unit_s(&p->scenario, offer, (struct rb_width){t->gpus, t->sharers}, &unit_s, &err))
        return;
    p->seen_s += (double)(report->time_us - since_us) / (double)RB_US_PER_S;
    p->expected_s += (double)units * unit_s;
    p->n_units += units;
}

void rb_prediction_event(struct rb_prediction *p, const struct rb_event *event)
{
    if (!p->engine)
        return;
    const bool known =
        event->kind == RB_EVENT_REPORT && event->trial >= 0 && event->trial < rb_engine_n_trials(p->engine);
    const int64_t before = known ? rb_engine_trial(p->engine, event->trial)->resource : 0;
    rb_engine_step(p->engine, event, &p->actions);
    if (!p->why_unknown)
        remember(p, event);
    if (known)
        see_units(p, event, before);
}

double rb_prediction_pace(const struct rb_prediction *p)
{
    if (p->n_units < FEWEST_UNITS || !(p->expected_s > 0))
        return NAN;
    const double prior_s = PRIOR_UNITS * p->expected_s / (double)p->n_units;
    return (p->seen_s + prior_s) / (p->expected_s + prior_s);
}

// ---- what is still to come

// The profile's own error is replaced by the observed pace.
static void keep_pace(struct rb_prediction *p)
{
    const double pace = rb_prediction_pace(p);
    for (int i = 0; i < p->scenario.n_offers && !isnan(pace); i++)
        p->scenario.sim_offers[i].measurement = rb_dist_constant(pace);
}

// Cost at the plan's prices of the nodes so far.
static int64_t spent_by_plan(const struct rb_prediction *p, int64_t now_us)
{
    int64_t sum_uusd = 0;
    for (int i = 0; i < rb_engine_n_nodes(p->engine); i++) {
        const struct rb_owned_node *n = rb_engine_node(p->engine, i);
        const int64_t end_us = n->state == RB_OWNED_ENDED ? n->ended_us : now_us;
        if (n->running_us >= 0 && end_us >= n->running_us)
            sum_uusd += rb_bill_node(&p->scenario.sim_offers[n->offer].billing, n->running_us, end_us).total_uusd;
    }
    return sum_uusd;
}

void rb_prediction_begin(struct rb_prediction *p, const struct rb_prediction_now *now)
{
    if (p->why_unknown || p->n_history == 0)
        return;
    p->now = *now;
    p->beyond_plan_uusd = now->spent_uusd >= 0 ? now->spent_uusd - spent_by_plan(p, now->now_us) : 0;
    p->n_known = p->n_history;
    p->n_made = 0;
    p->why_failed =
        rb_policy_find(p->plan->policy)->on_lent_gpus && rb_engine_n_gpus(p->engine) == 0 ? "no GPU is lent now" : NULL;
    p->estimated = p->estimated && !p->why_failed;
    keep_pace(p);
}

// A trial continues as in its last start, a new one as some other trial did: their reports do not matter for when a
// synchronous job ends, and little for an asynchronous one.
static double last_metric(void *ctx, uint32_t replicate, int trial, int64_t resource)
{
    const struct rb_prediction *p = ctx;
    const int n = rb_engine_n_trials(p->engine);
    (void)resource;
    for (int i = 0; i < n; i++) {
        const struct rb_trial *t =
            rb_engine_trial(p->engine, (int)(((uint32_t)trial + (i ? replicate + (uint32_t)i : 0)) % (uint32_t)n));
        if (!isnan(t->metric))
            return t->metric;
    }
    return 0;
}

static bool play(struct rb_prediction *p, uint32_t replicate, const struct rb_event *history, int n_history,
                 int64_t *out_time_us, int64_t *out_cost_uusd)
{
    const struct rb_policy *policy = rb_policy_find(p->plan->policy);
    const struct rb_world_options options = {
        .replicate = replicate,
        .curve = last_metric,
        .curve_ctx = p,
        .deadline_us = policy->anytime ? p->now.deadline_us : -1,
        .budget_uusd = -1,
        .history = history,
        .n_history = n_history,
        .now_us = p->now.now_us,
    };
    struct rb_world_result result;
    struct rb_err err;
    if (!rb_world_run(&p->scenario, &p->aimless_plan, &options, &result, &err))
        return false;
    *out_time_us = result.time_us;
    *out_cost_uusd = result.cost_uusd + p->beyond_plan_uusd;
    return true;
}

static bool make_one(struct rb_prediction *p)
{
    const int i = p->n_made;
    if (!play(p, (uint32_t)i, p->history, p->n_known, &p->time_us[i], &p->cost_uusd[i]))
        return false;
    p->n_made++;
    return true;
}

bool rb_prediction_try(struct rb_prediction *p, const struct rb_event *advice, uint32_t first, int n,
                       int64_t *out_time_us, int64_t *out_cost_uusd)
{
    bool ok = !p->why_unknown && !p->why_failed && p->n_known > 0;
    RB_AUTO(rb_auto_free) struct rb_event *history = rb_xcalloc((size_t)p->n_known + 1, sizeof *history);
    memcpy(history, p->history, (size_t)p->n_known * sizeof *history);
    if (advice) {
        history[p->n_known] = *advice;
        history[p->n_known].time_us = p->now.now_us;
    }
    for (int i = 0; i < n && ok; i++)
        ok = play(p, first + (uint32_t)i, history, p->n_known + (advice != NULL), &out_time_us[i], &out_cost_uusd[i]);
    return ok;
}

bool rb_prediction_make(struct rb_prediction *p, int n)
{
    if (p->n_made == RB_PREDICTION_SAMPLES || p->why_unknown || p->why_failed)
        return true;
    for (int i = 0; i < n && p->n_made < RB_PREDICTION_SAMPLES; i++) {
        if (make_one(p))
            continue;
        p->why_failed = "the plan's model does not come to an end from here";
        p->estimated = false;
        return true;
    }
    if (p->n_made < RB_PREDICTION_SAMPLES)
        return false;
    p->estimate = rb_estimate_of_runs(p->time_us, p->cost_uusd, p->n_made, p->now.deadline_us, p->now.budget_uusd);
    p->estimate.spread_unknown = rb_profile_spread_is_unknown(p->plan->profile);
    p->estimated = true;
    return true;
}

const struct rb_plan *rb_prediction_plan(const struct rb_prediction *p)
{
    return p->plan;
}

const struct rb_scenario *rb_prediction_scenario(const struct rb_prediction *p)
{
    return &p->scenario;
}

const struct rb_estimate *rb_prediction_planned(const struct rb_prediction *p)
{
    return p->why_unknown || p->why_failed || p->estimated || p->plan->unpredicted ? NULL : &p->plan->estimate;
}

const struct rb_estimate *rb_prediction_estimate(const struct rb_prediction *p, const char **out_why)
{
    *out_why = p->why_unknown  ? p->why_unknown
               : p->why_failed ? p->why_failed
               : p->estimated  ? NULL
                               : "it is being worked out";
    return *out_why ? NULL : &p->estimate;
}
