// Many runs of the virtual world: what a plan would take and cost where only the engine itself can say, because its
// tuner hands trials out as results come in. For synchronous jobs evaluate.h gives the same numbers sooner.
#ifndef RB_SIMULATOR_WORLD_EVALUATE_H
#define RB_SIMULATOR_WORLD_EVALUATE_H

#include "simulator/summary.h"
#include "simulator/world.h"

struct rb_world_runs {
    int samples;                      // replicates, keys first..first+samples-1; >= 1
    uint32_t first;
    int threads;                      // no result depends on it
    int64_t deadline_us, budget_uusd; // what the probabilities are of, -1: none. A run is stopped at its deadline only
                                      // where its policy works towards one (rb_policy.anytime), and never for its budget
    bool stop_at_deadline;            // every run, whatever its policy: what had been reached by then is what is asked
    rb_curve_fn *curve;               // as in world.h; called by several threads
    void *curve_ctx;
    rb_adviser_fn *advise;
    void *advise_ctx;
    // After every event of every run, as in world.h, with the run's number; called by several threads, for one run by one.
    // NULL: nobody watches.
    void (*observe)(void *ctx, uint32_t replicate, const struct rb_engine *e, const struct rb_event *event,
                    const struct rb_actions *actions);
    void *observe_ctx;
};

// What one phase of one run took; the engine's phases are the plan's stages.
struct rb_world_phase {
    int64_t time_us, cost_uusd;       // costs sum to the run's
};

// The runs as they are. out [samples]; out_phases NULL or [samples x plan->n_stages]. Errors: the first failing replicate's.
bool rb_world_replicates(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_world_runs *runs,
                         struct rb_world_result *out, struct rb_world_phase *out_phases, struct rb_err *err);

// Estimate of a plan, method RB_ESTIMATE_REPLICATES; quantiles of the phases into out_stages if it is not NULL
// ([plan->n_stages]; only time_us and cost_uusd are written).
bool rb_world_evaluate(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_world_runs *runs,
                       struct rb_estimate *out, struct rb_plan_stage *out_stages, struct rb_err *err);

#endif
