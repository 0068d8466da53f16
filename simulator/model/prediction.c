// Records past events and how fast training is; simulates the rest often enough to predict how the run will end.
#include "simulator/model/prediction.h"

#include "engine/core/policy.h"
#include "engine/core/tuner.h"
#include "simulator/model/draws.h"
#include "simulator/model/survivors.h"
#include "simulator/model/summary.h"
#include "simulator/posterior/posterior.h"
#include "simulator/world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EVENTS = 20000 }; // replayed in each of the runs: tens of milliseconds

#define CLEAR_START 0.1 // of its first units, that the spread of start-up times may be

#define SURE_SD 1.959963984540054 // 95 % of a normal are within

// The last report of a trial.
struct reported {
    int64_t at_us, units; // units: since the report or start before
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

    struct rb_posterior *posterior;
    struct rb_survivors survivors;
    struct reported *reported; // by trial, [n_reported]; at_us -1: none
    int n_reported;

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
    p->posterior = rb_posterior_create(plan->profile, plan->seed);
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
    rb_posterior_destroy(p->posterior);
    rb_survivors_finish(&p->survivors);
    free(p->history);
    free(p->reported);
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

// What an event points to is borrowed. Of a configuration only that there is one matters, as in the virtual world.
static void keep_event(struct rb_prediction *p, const struct rb_event *event, struct rb_event *out)
{
    static const struct rb_named_value none = {"", {.kind = RB_VALUE_ABSENT}};
    *out = *event;
    out->said = out->origin = out->because = NULL;
    out->values = event->n_values > 0 ? &none : NULL;
    out->n_values = event->n_values > 0;
    if (event->advice)
        out->advice = rb_advice_copy(event->advice, &p->arena);
    if (event->n_changes > 0)
        out->changes = keep_changes(p, event);
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
    keep_event(p, event, &p->history[p->n_history++]);
}

static struct reported *reported_at(struct rb_prediction *p, int trial)
{
    if (trial >= p->n_reported) {
        p->reported = rb_xrealloc(p->reported, (size_t)trial + 1, sizeof *p->reported);
        while (p->n_reported <= trial)
            p->reported[p->n_reported++] = (struct reported){.at_us = -1, .units = 1};
    }
    return &p->reported[trial];
}

// When a start that has not reported began its first unit, about. INT64_MAX: how long it takes to start varies too much
// to tell.
static int64_t first_unit_from(const struct rb_prediction *p, const struct rb_trial *t, double units_s)
{
    const struct rb_dist *startup = &p->plan->profile->startup_s;
    if (rb_scenario_starts_over(&p->scenario) || sqrt(rb_dist_variance(startup)) > CLEAR_START * units_s)
        return INT64_MAX;
    return t->started_us + rb_us_from_seconds(rb_dist_mean(startup));
}

// A guess has the same error on any number of GPUs.
static int layout_of(const struct rb_prediction *p, int gpus_per_trial)
{
    return p->plan->profile->n_basis > 0 ? 0 : gpus_per_trial;
}

// Units of a running trial since a report of this start, or since it had started: alone, without starting and saving
// times. False: the two cannot be separated.
static bool units_since(const struct rb_prediction *p, int trial, struct reported since, int64_t until_us,
                        struct rb_posterior_units *out)
{
    const struct rb_trial *t = rb_engine_trial(p->engine, trial);
    struct rb_err err;
    if (t->n_slots < 1 || t->started_us < 0 || since.units < 1 || !p->scenario.sim_offers)
        return false;
    const int offer = rb_engine_node(p->engine, t->slots[0].node)->offer;
    *out = (struct rb_posterior_units){
        .trial = trial,
        .stage = t->stage,
        .attempt = t->attempt,
        .layout = layout_of(p, t->gpus),
        .units = since.units,
    };
    if (!rb_scenario_width_unit_s(&p->scenario, offer, (struct rb_width){t->gpus, t->sharers}, &out->unit_s, &err))
        return false;
    if (since.at_us < t->started_us)
        since.at_us = first_unit_from(p, t, (double)since.units * out->unit_s);
    if (since.at_us >= until_us)
        return false;
    out->seconds = (double)(until_us - since.at_us) / (double)RB_US_PER_S;
    out->training = (int)(p->scenario.sim_offers[offer].training - p->plan->profile->training);
    return true;
}

static void see_units(struct rb_prediction *p, const struct rb_event *report, int64_t resource_before)
{
    const int64_t units = rb_engine_trial(p->engine, report->trial)->resource - resource_before;
    if (units <= 0)
        return;
    struct reported *last = reported_at(p, report->trial);
    struct rb_posterior_units seen;
    if (units_since(p, report->trial, (struct reported){last->at_us, units}, report->time_us, &seen))
        rb_posterior_saw(p->posterior, &seen);
    *last = (struct reported){report->time_us, units};
}

// Learns from everything so far, units under way included.
static void learn_speed(struct rb_prediction *p, int64_t now_us)
{
    const int n_trials = rb_engine_n_trials(p->engine);
    struct rb_posterior_units *under_way = rb_xcalloc((size_t)n_trials + 1, sizeof *under_way);
    int n = 0;
    for (int i = 0; i < n_trials; i++) {
        const struct rb_trial *t = rb_engine_trial(p->engine, i);
        if (t->state == RB_TRIAL_RUNNING && t->resource < t->resource_end)
            n += units_since(p, i, *reported_at(p, i), now_us, &under_way[n]);
    }
    rb_posterior_fit(p->posterior, under_way, n);
    free(under_way);
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

static bool is_on_demand(const struct rb_prediction *p)
{
    const struct rb_tuner *tuner = rb_tuner_find(p->plan->job->scheduler.type);
    return tuner && tuner->on_demand;
}

static double reckoned(const struct rb_profile *profile)
{
    double rho2 = 0;
    for (int i = 0; i < profile->n_training; i++)
        rho2 = fmax(rho2, rb_posterior_rho2(profile, i));
    return exp(SURE_SD * sqrt(rho2));
}

bool rb_prediction_pace(const struct rb_prediction *p, struct rb_prediction_pace *out)
{
    int n_trials, stage = is_on_demand(p) ? -1 : p->engine ? rb_engine_stage(p->engine) : 0;
    struct rb_posterior_log speed = rb_posterior_speed_in(p->posterior, stage, &n_trials);
    while (stage > 0 && isnan(speed.mean))
        speed = rb_posterior_speed_in(p->posterior, --stage, &n_trials);
    if (isnan(speed.mean))
        return false;
    *out = (struct rb_prediction_pace){
        .pace = exp(speed.mean),
        .low = exp(speed.mean - SURE_SD * speed.sd),
        .high = exp(speed.mean + SURE_SD * speed.sd),
        .reckoned = reckoned(p->plan->profile),
        .stage = stage,
        .n_trials = n_trials,
    };
    return true;
}

// ---- what is still to come

static double known_speed(void *ctx, uint32_t replicate, int offer, int gpus)
{
    const struct rb_prediction *p = ctx;
    (void)replicate;
    return rb_posterior_drawn_speed(p->posterior,
                                    (int)(p->scenario.sim_offers[offer].training - p->plan->profile->training),
                                    layout_of(p, gpus));
}

static double known_configuration(void *ctx, uint32_t replicate, int trial)
{
    const struct rb_prediction *p = ctx;
    double factor;
    return rb_posterior_drawn_configuration(p->posterior, trial, &factor)
               ? factor
               : rb_draw_configuration(&p->scenario, trial, replicate);
}

static double known_between(void *ctx, uint32_t replicate, int trial, int stage, int attempt, int drawn)
{
    const struct rb_prediction *p = ctx;
    double factor;
    (void)replicate;
    return rb_posterior_drawn_between(p->posterior, trial, stage, attempt, drawn, &factor) ? factor : NAN;
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
    if (p->engine)
        learn_speed(p, now->now_us);
    if (p->why_unknown || p->n_history == 0)
        return;
    p->now = *now;
    p->beyond_plan_uusd = now->spent_uusd >= 0 ? now->spent_uusd - spent_by_plan(p, now->now_us) : 0;
    rb_survivors_make(&p->survivors, p->engine, p->plan->job->goal, p->plan->seed);
    p->n_known = p->n_history;
    p->n_made = 0;
    p->why_failed =
        rb_policy_find(p->plan->policy)->on_lent_gpus && rb_engine_n_gpus(p->engine) == 0 ? "no GPU is lent now" : NULL;
    p->estimated = p->estimated && !p->why_failed;
}

// A trial continues as in its last start, a new one as some other trial did: their reports do not matter for when a
// synchronous job of trials of one speed ends, and little for an asynchronous one.
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

static double drawn_metric(void *ctx, uint32_t replicate, int trial, int64_t resource)
{
    const struct rb_prediction *p = ctx;
    (void)resource;
    return rb_survivors_draw(&p->survivors, replicate, trial);
}

static bool play(struct rb_prediction *p, uint32_t replicate, const struct rb_event *history, int n_history,
                 int64_t *out_time_us, int64_t *out_cost_uusd)
{
    const struct rb_policy *policy = rb_policy_find(p->plan->policy);
    const bool has_data = rb_posterior_has_data(p->posterior);
    if (has_data)
        rb_posterior_draw(p->posterior, replicate);
    const struct rb_world_options options = {
        .replicate = replicate,
        .curve = p->plan->profile->configuration && !is_on_demand(p) ? drawn_metric : last_metric,
        .curve_ctx = p,
        .speed = has_data ? known_speed : NULL,
        .configuration = has_data ? known_configuration : NULL,
        .between = has_data ? known_between : NULL,
        .known_ctx = p,
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
