#include "simulator/world/simulation.h"

#include "engine/core/policy.h"
#include "simulator/world/markets.h"

#include <math.h>
#include <stdlib.h>

// ---- running

typedef void observe_fn(void *ctx, uint32_t replicate, const struct rb_engine *e, const struct rb_event *event,
                        const struct rb_actions *actions);

// The first n runs. results [n]; outcomes NULL, or [n]; observe NULL: no observer.
static bool run(const struct rb_simulation *sim, const struct rb_sim_variant *v, int n, int threads, observe_fn *observe,
                void *observe_ctx, struct rb_world_result *results, struct rb_blackbox_outcome *outcomes,
                struct rb_err *err)
{
    const struct rb_plan *plan = &v->plan;
    const bool by_program = plan->job->scheduler.sampler.command != NULL;
    struct rb_scenario scenario;
    struct rb_blackbox_runs box = {
        .table = sim->table,
        .scenario = &scenario,
        .earlier = v->earlier.n_runs > 0 ? &v->earlier : NULL,
        .outcomes = outcomes,
        .prepare = by_program ? sim->prepare_program : NULL,
        .finish = sim->finish_program,
        .prepare_ctx = sim->program_ctx,
    };
    struct rb_world_runs runs = {
        .samples = n,
        .threads = threads,
        .market = sim->market,
        .deadline_us = plan->deadline_us,
        .stop_at_deadline = sim->stop_at_deadline,
        .budget_uusd = plan->budget_uusd,
        .searched = true,
        .reactor = sim->reactor,
        .earlier = box.earlier,
        .prepare = box.prepare,
        .finish = box.finish,
        .prepare_ctx = sim->program_ctx,
        .curve = rb_curves_metric,
        .curve_ctx = (void *)&sim->curves, // only read
        .observe = observe,
        .observe_ctx = observe_ctx,
    };
    if (!rb_scenario_init(&scenario, plan->job, plan->profile, plan->offers, plan->n_offers, plan->catalog, sim->seed,
                          err))
        return false;
    rb_markets_price(&scenario, sim->market);
    if (sim->table)
        rb_blackbox_play(&box, &runs);
    const bool ok = rb_world_replicates(&scenario, plan, &runs, results, NULL, err);
    rb_scenario_finish(&scenario);
    return ok;
}

static bool run_variant(const struct rb_simulation *sim, struct rb_sim_variant *v, int threads, struct rb_err *err)
{
    v->results = rb_xcalloc((size_t)sim->n, sizeof *v->results);
    v->outcomes = sim->table ? rb_xcalloc((size_t)sim->n, sizeof *v->outcomes) : NULL;
    return run(sim, v, sim->n, threads, NULL, NULL, v->results, v->outcomes, err);
}

bool rb_sim_watch(const struct rb_simulation *sim, const struct rb_sim_variant *v, observe_fn *observe, void *ctx,
                  struct rb_world_result *out, struct rb_err *err)
{
    return run(sim, v, 1, 1, observe, ctx, out, NULL, err);
}

bool rb_simulate(struct rb_simulation *sim, int threads, struct rb_err *err)
{
    for (int i = 0; i < sim->n_variants; i++) {
        const struct rb_policy *policy = rb_policy_find(sim->variants[i].plan.policy);
        sim->stop_at_deadline |= policy && policy->anytime && sim->n_variants > 1;
    }
    for (int i = 0; i < sim->n_variants; i++) {
        if (!run_variant(sim, &sim->variants[i], threads, err))
            return sim->n_variants > 1 ? rb_err_prefix(err, "%s", sim->variants[i].label) : false;
    }
    return true;
}

void rb_sim_variant_finish(struct rb_sim_variant *v, int n)
{
    for (int i = 0; v->outcomes && i < n; i++)
        rb_blackbox_outcome_finish(&v->outcomes[i]);
    free(v->outcomes);
    free(v->results);
}

// ---- measures

int rb_sim_n_measures(const struct rb_simulation *sim)
{
    return sim->table ? RB_SIM_TARGET_COST + 1 : RB_SIM_UNITS + 1;
}

static double or_nan(int64_t value)
{
    return value >= 0 ? (double)value : NAN;
}

double rb_sim_measure(const struct rb_simulation *sim, const struct rb_sim_variant *v, int run, enum rb_sim_measure measure)
{
    const struct rb_world_result *r = &v->results[run];
    switch (measure) {
    case RB_SIM_TIME:
        return (double)r->time_us;
    case RB_SIM_COST:
        return (double)r->cost_uusd;
    case RB_SIM_METRIC:
        return r->best_trial >= 0 && isfinite(r->best_metric) ? r->best_metric : NAN;
    case RB_SIM_TRAINED:
        return r->n_trained;
    case RB_SIM_FULL:
        return r->n_full;
    case RB_SIM_FIRST_FULL:
        return or_nan(r->first_full_us);
    case RB_SIM_UNITS:
        return (double)r->n_units;
    case RB_SIM_REGRET:
        return rb_blackbox_outcome_regret(sim->table, &v->outcomes[run]);
    case RB_SIM_TARGET_COST:
        return or_nan(v->outcomes[run].target_uusd);
    }
    return NAN;
}

struct rb_mean rb_sim_mean(const struct rb_simulation *sim, const struct rb_sim_variant *v, enum rb_sim_measure measure)
{
    RB_AUTO(rb_auto_free) double *values = rb_xcalloc((size_t)sim->n, sizeof *values);
    int n = 0;
    for (int i = 0; i < sim->n; i++) {
        const double value = rb_sim_measure(sim, v, i, measure);
        if (isfinite(value))
            values[n++] = value;
    }
    return n > 0 ? rb_mean_of(values, n) : (struct rb_mean){0};
}

struct rb_mean rb_sim_regret_at(const struct rb_simulation *sim, const struct rb_sim_variant *v, int64_t cost_uusd)
{
    RB_AUTO(rb_auto_free) double *values = rb_xcalloc((size_t)sim->n, sizeof *values);
    for (int i = 0; i < sim->n; i++)
        values[i] = rb_blackbox_outcome_regret_at(sim->table, &v->outcomes[i], cost_uusd);
    return rb_mean_of(values, sim->n);
}

bool rb_sim_paired(const struct rb_simulation *sim, int a, int b, enum rb_sim_measure measure, struct rb_paired *out)
{
    RB_AUTO(rb_auto_free) double *of_a = rb_xcalloc((size_t)sim->n, sizeof *of_a);
    RB_AUTO(rb_auto_free) double *of_b = rb_xcalloc((size_t)sim->n, sizeof *of_b);
    int n = 0;
    for (int i = 0; i < sim->n; i++) {
        of_a[n] = rb_sim_measure(sim, &sim->variants[a], i, measure);
        of_b[n] = rb_sim_measure(sim, &sim->variants[b], i, measure);
        n += isfinite(of_a[n]) && isfinite(of_b[n]);
    }
    if (n > 0)
        *out = rb_paired_of(of_a, of_b, n);
    return n > 0;
}
