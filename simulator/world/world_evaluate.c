#include "simulator/world/world_evaluate.h"

#include "engine/core/policy.h"
#include "engine/core/rungs.h"
#include "profiles/catalog/reservation.h"
#include "samplers/draws.h"
#include "samplers/follow.h"
#include "simulator/forecast/forecast.h"
#include "simulator/model/spending.h"
#include "simulator/stage/pieces.h"

#include <stdlib.h>
#include <string.h>

// ---- one run, observed: for the caller, and for the figures of each phase

struct watch {
    const struct rb_scenario *scenario;
    const struct rb_world_runs *runs;
    uint32_t replicate;
    struct rb_world_phase *phases; // NULL: not wanted
    int phase;                     // -1 before the first
    int64_t since_us, since_uusd;
};

static void close_phase(struct watch *w, int64_t now_us, int64_t spent_uusd)
{
    if (w->phase >= 0)
        w->phases[w->phase] =
            (struct rb_world_phase){.time_us = now_us - w->since_us, .cost_uusd = spent_uusd - w->since_uusd};
    w->since_us = now_us;
    w->since_uusd = spent_uusd;
}

static void observe(void *ctx, const struct rb_engine *e, const struct rb_event *event,
                    const struct rb_actions *actions)
{
    struct watch *w = ctx;
    if (w->runs->observe)
        w->runs->observe(w->runs->observe_ctx, w->replicate, e, event, actions);
    if (!w->phases || rb_engine_stage(e) == w->phase)
        return;
    // Nodes that the first phase requests at once already belong to it.
    close_phase(w, event->time_us, w->phase < 0 ? 0 : rb_spending_at(w->scenario, e, event->time_us));
    w->phase = rb_engine_stage(e);
}

// ---- who proposes configurations

#define SEED_BITS 32 // what other programs take as a seed

// The search of one run has a seed of its own: replicates differ in what is proposed, compared variants share it.
struct searched {
    struct rb_job job;
    struct rb_plan plan;
    struct rb_follower *follower;
};

static uint64_t seed_of(uint64_t seed, uint32_t replicate)
{
    struct rb_stream stream;
    rb_draws_init(&stream, seed, RB_FOR_REPLICATE, replicate);
    return rb_stream_u64(&stream) >> (64 - SEED_BITS);
}

static bool prepare(struct searched *s, const struct rb_plan *plan, const struct rb_world_runs *runs,
                    struct rb_world_options *opt, struct rb_err *err)
{
    *s = (struct searched){.job = *plan->job, .plan = *plan};
    s->job.seed = seed_of(plan->job->seed, opt->replicate);
    s->plan.job = &s->job;
    if (runs->prepare)
        return runs->prepare(runs->prepare_ctx, &s->plan, opt->replicate, opt, err);
    if (!runs->searched || !rb_sampler_find(plan->job->scheduler.sampler.type))
        return true;
    if (!rb_follower_create(&s->plan, &s->follower, err))
        return false;
    rb_follower_recall(s->follower, runs->earlier);
    opt->suggester = rb_follower_suggester(s->follower);
    return true;
}

static void finish(struct searched *s, const struct rb_world_runs *runs, struct rb_world_options *opt)
{
    rb_follower_destroy(s->follower);
    if (runs->prepare && runs->finish)
        runs->finish(runs->prepare_ctx, opt);
}

static bool run_one(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_world_runs *runs,
                    uint32_t replicate, struct rb_world_result *out, struct rb_world_phase *phases, struct rb_err *err)
{
    const struct rb_policy *policy = rb_policy_find(plan->policy);
    struct rb_forecaster forecaster = {.scenario = s, .plan = plan};
    struct watch w = {.scenario = s, .runs = runs, .replicate = replicate, .phases = phases, .phase = -1};
    struct searched searched;
    struct rb_world_options opt = {
        .replicate = replicate,
        .curve = runs->curve,
        .curve_ctx = runs->curve_ctx,
        .observe = phases || runs->observe ? observe : NULL,
        .observe_ctx = &w,
        .advise = policy && policy->on_advice && !runs->unadvised ? rb_forecast : NULL,
        .advise_ctx = &forecaster,
        .market = runs->market,
        .deadline_us = runs->stop_at_deadline || (policy && policy->anytime) ? runs->deadline_us : -1,
        .budget_uusd = runs->past_budget ? -1 : runs->budget_uusd,
    };
    if (phases)
        memset(phases, 0, (size_t)plan->n_stages * sizeof *phases);
    if (!prepare(&searched, plan, runs, &opt, err))
        return false;
    opt.reactor = runs->reactor ? runs->reactor(plan) : NULL;
    const bool ok = rb_world_run(s, plan, &opt, out, err);
    if (opt.reactor)
        opt.reactor->destroy(opt.reactor);
    finish(&searched, runs, &opt);
    if (!ok)
        return rb_err_prefix(err, "replicate %u", replicate);
    if (phases)
        close_phase(&w, out->time_us, out->cost_uusd);
    return true;
}

// ---- many

struct piece {
    const struct rb_scenario *scenario;
    const struct rb_plan *plan;
    const struct rb_world_runs *runs;
    struct rb_world_result *out;
    struct rb_world_phase *phases;
    int first, end;
    bool failed;
    struct rb_err err;
};

static void *run_piece(void *arg)
{
    struct piece *p = arg;
    for (int i = p->first; i < p->end && !p->failed; i++) {
        struct rb_world_phase *phases = p->phases ? p->phases + (size_t)i * (size_t)p->plan->n_stages : NULL;
        p->failed = !run_one(p->scenario, p->plan, p->runs, p->runs->first + (uint32_t)i, &p->out[i], phases, &p->err);
    }
    return NULL;
}

bool rb_world_replicates(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_world_runs *runs,
                         struct rb_world_result *out, struct rb_world_phase *out_phases, struct rb_err *err)
{
    struct piece pieces[RB_THREADS_MAX];
    if (runs->samples < 1)
        return rb_err_set(err, RB_E_OPTION_VALUE, "expected at least one replicate, got %d", runs->samples);
    const int most = runs->samples < RB_THREADS_MAX ? runs->samples : RB_THREADS_MAX;
    const int n = runs->threads < 1 ? 1 : runs->threads > most ? most : runs->threads;
    for (int i = 0; i < n; i++)
        pieces[i] = (struct piece){.scenario = s,
                                   .plan = plan,
                                   .runs = runs,
                                   .out = out,
                                   .phases = out_phases,
                                   .first = (int)((int64_t)runs->samples * i / n),
                                   .end = (int)((int64_t)runs->samples * (i + 1) / n)};
    rb_pieces_run(run_piece, pieces, sizeof pieces[0], n, n);
    for (int i = 0; i < n; i++) {
        if (!pieces[i].failed)
            continue;
        if (err)
            *err = pieces[i].err;
        return false;
    }
    return true;
}

// ---- estimates

#define ADVISED_GPUS        1024 // of all runs of an estimate: a forecast takes longer the more it divides
#define FEWEST_ADVISED_RUNS 16

// Nodes that the plan's first stage owns, or that its budget may allow.
static int64_t most_gpus(const struct rb_plan *plan)
{
    int64_t gpus = 0, nodes = 0, largest = 0;
    for (int i = 0; i < plan->stages[0].n_nodes; i++) {
        const struct rb_plan_nodes *n = &plan->stages[0].nodes[i];
        const int of_one = plan->offers[n->offer].gpus;
        gpus += (int64_t)n->count * of_one;
        nodes += n->count;
        largest = of_one > largest ? of_one : largest;
    }
    const int64_t more = plan->job->resources.max_nodes - nodes;
    return plan->budget_uusd >= 0 && more > 0 ? gpus + more * largest : gpus;
}

static bool goes_down(const struct rb_plan *plan, int offer)
{
    const struct rb_offer *o = &plan->offers[offer];
    const struct rb_provisioning *p = rb_profile_provisioning(plan->profile, o->infra, o->instance_type, o->market);
    return rb_offer_closes(o) || (p && rb_provisioning_goes_down(p));
}

bool rb_plan_meets_down_markets(const struct rb_plan *plan)
{
    for (int i = 0; plan->stages && i < plan->n_stages; i++) {
        const struct rb_plan_stage *stage = &plan->stages[i];
        for (int k = 0; k < stage->n_nodes; k++) {
            if (goes_down(plan, stage->nodes[k].offer))
                return true;
        }
        for (int k = 0; k < stage->n_early; k++) {
            if (goes_down(plan, stage->early[k].offer))
                return true;
        }
    }
    return false;
}

bool rb_plan_is_by_engine(const struct rb_plan *plan)
{
    return rb_plan_decides_while_it_runs(plan) || rb_plan_meets_down_markets(plan);
}

bool rb_plan_decides_while_it_runs(const struct rb_plan *plan)
{
    const struct rb_policy *policy = rb_policy_find(plan->policy);
    return rb_job_is_asynchronous(plan->job) || (policy && policy->create && !policy->on_lent_gpus);
}

int rb_world_affordable_runs(const struct rb_plan *plan, int asked)
{
    const struct rb_policy *policy = rb_policy_find(plan->policy);
    int most = policy && policy->estimate_runs > 0 ? policy->estimate_runs : asked;
    if (policy && policy->on_advice) {
        const int64_t gpus = most_gpus(plan), enough = gpus > 0 ? ADVISED_GPUS / gpus : most;
        most = enough > most ? most : enough < FEWEST_ADVISED_RUNS ? FEWEST_ADVISED_RUNS : (int)enough;
    }
    return most < asked ? most : asked;
}

bool rb_world_kept_budget(const struct rb_world_result *r, int64_t budget_uusd)
{
    const bool cut = r->outcome == RB_JOB_STOPPED && r->stop_reason == RB_STOP_BUDGET;
    return budget_uusd < 0 || (!cut && r->cost_uusd <= budget_uusd);
}

bool rb_world_kept(const struct rb_world_result *r, int64_t deadline_us, int64_t budget_uusd)
{
    return (deadline_us < 0 || r->time_us <= deadline_us) && rb_world_kept_budget(r, budget_uusd);
}

struct rb_estimate rb_world_estimate(const struct rb_world_result *runs, int n, int64_t deadline_us,
                                     int64_t budget_uusd)
{
    RB_AUTO(rb_auto_free) int64_t *time_us = rb_xcalloc(2 * (size_t)n, sizeof *time_us);
    int64_t *cost_uusd = time_us + n;
    for (int i = 0; i < n; i++) {
        time_us[i] = runs[i].time_us;
        cost_uusd[i] = runs[i].cost_uusd;
    }
    struct rb_estimate e = rb_estimate_of_runs(time_us, cost_uusd, n, deadline_us, budget_uusd);
    for (int i = 0; i < n; i++) // a run that was cut would have cost more than any budget
        cost_uusd[i] = rb_world_kept_budget(&runs[i], budget_uusd) ? cost_uusd[i] : INT64_MAX;
    rb_estimate_count(time_us, cost_uusd, n, deadline_us, budget_uusd, &e);
    e.time_method = e.cost_method = RB_ESTIMATE_REPLICATES;
    return e;
}

// values [n]: scratch.
static void sum_up_phases(const struct rb_world_phase *phases, int n, int n_stages, int64_t *values,
                          struct rb_plan_stage *out)
{
    for (int stage = 0; stage < n_stages; stage++) {
        for (int i = 0; i < n; i++)
            values[i] = phases[(size_t)i * (size_t)n_stages + (size_t)stage].time_us;
        out[stage].time_us = rb_quantiles_of(values, n);
        for (int i = 0; i < n; i++)
            values[i] = phases[(size_t)i * (size_t)n_stages + (size_t)stage].cost_uusd;
        out[stage].cost_uusd = rb_quantiles_of(values, n);
    }
}

// The first n runs are made. Is the estimate of these all that is wanted?
static bool ends_after(const struct rb_world_runs *runs, const struct rb_world_result *results, int n)
{
    if (runs->stop && runs->stop(runs->stop_ctx))
        return true;
    const int looks = n / RB_WORLD_LOOK;
    if (!runs->enough || (looks & (looks - 1)) != 0)
        return false;
    const struct rb_estimate so_far = rb_world_estimate(results, n, runs->deadline_us, runs->budget_uusd);
    return runs->enough(runs->enough_ctx, &so_far);
}

// *out_made: fewer than runs->samples if they ended earlier.
static bool run_until_enough(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_world_runs *runs,
                             struct rb_world_result *out, struct rb_world_phase *out_phases, int *out_made, struct rb_err *err)
{
    const bool in_one_go = !runs->stop && !runs->enough;
    struct rb_world_runs part = *runs;
    int made = 0;
    do {
        const int rest = runs->samples - made;
        part.first = runs->first + (uint32_t)made;
        part.samples = in_one_go || rest < RB_WORLD_LOOK ? rest : RB_WORLD_LOOK;
        if (!rb_world_replicates(s, plan, &part, out + made,
                                 out_phases ? out_phases + (size_t)made * (size_t)plan->n_stages : NULL, err))
            return false;
        made += part.samples;
    } while (made < runs->samples && !ends_after(runs, out, made));
    *out_made = made;
    return true;
}

bool rb_world_evaluate(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_world_runs *runs,
                       struct rb_estimate *out, struct rb_plan_stage *out_stages, struct rb_err *err)
{
    const size_t n = runs->samples > 0 ? (size_t)runs->samples : 1;
    RB_AUTO(rb_auto_free) struct rb_world_result *results = rb_xcalloc(n, sizeof *results);
    RB_AUTO(rb_auto_free) int64_t *values = rb_xcalloc(n, sizeof *values);
    RB_AUTO(rb_auto_free)
    struct rb_world_phase *phases = out_stages ? rb_xcalloc(n * (size_t)plan->n_stages, sizeof *phases) : NULL;
    int made;
    if (!run_until_enough(s, plan, runs, results, phases, &made, err))
        return false;
    if (out_stages)
        sum_up_phases(phases, made, plan->n_stages, values, out_stages);
    *out = rb_world_estimate(results, made, runs->deadline_us, runs->budget_uusd);
    out->spread_unknown = rb_profile_spread_is_unknown(s->profile);
    return true;
}
