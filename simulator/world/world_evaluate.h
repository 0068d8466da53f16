// Many runs of the virtual world: what a plan takes and costs where only the engine itself can say, because its tuner hands
// trials out as results come in, or because its policy decides while it runs. The engine carries out the plan's own policy,
// with the forecasts and the hard budget that rbrun gives it. For synchronous jobs under the policies elastic and static,
// evaluate.h gives the same times sooner.
#ifndef RB_SIMULATOR_WORLD_EVALUATE_H
#define RB_SIMULATOR_WORLD_EVALUATE_H

#include "simulator/model/summary.h"
#include "simulator/world/world.h"

struct rb_world_runs {
    int samples;                      // replicates, keys first..first+samples-1; >= 1
    uint32_t first;
    int threads;                      // no result depends on it
    int64_t deadline_us, budget_uusd; // -1: none. A run is stopped when its budget pays for nothing more, as rbrun stops
                                      // it; at its deadline only where its policy works towards one (rb_policy.anytime)
    bool stop_at_deadline;            // every run, whatever its policy: what had been reached by then is what is asked
    bool past_budget;                 // runs go on beyond the budget: what they cost is compared with several budgets
    bool unadvised;                   // a policy that asks for forecasts (rb_policy.on_advice) gets none
    rb_curve_fn *curve;               // as in world.h; called by several threads
    void *curve_ctx;
    // After every event of every run, as in world.h, with the run's number; called by several threads, for one run by one.
    // NULL: no one watches.
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

// Do only such runs say what the plan takes and costs? Its tuner is asynchronous, or its policy decides while it runs
// (and not on GPUs that others lend: nothing is known of those beforehand).
bool rb_plan_is_by_engine(const struct rb_plan *plan);
// Runs that can be afforded of the plan, of those that are asked for: as its policy says (rb_policy.estimate_runs), fewer where
// forecasts share out many GPUs.
int rb_world_affordable_runs(const struct rb_plan *plan, int asked);

// Has the run kept both limits (-1: none)? One that its budget stopped has not.
bool rb_world_kept_budget(const struct rb_world_result *r, int64_t budget_uusd);
bool rb_world_kept(const struct rb_world_result *r, int64_t deadline_us, int64_t budget_uusd);
// Estimate of runs that were played, method RB_ESTIMATE_REPLICATES.
struct rb_estimate rb_world_estimate(const struct rb_world_result *runs, int n, int64_t deadline_us, int64_t budget_uusd);

// Estimate of a plan, method RB_ESTIMATE_REPLICATES; quantiles of the phases into out_stages if it is not NULL
// ([plan->n_stages]; only time_us and cost_uusd are written).
bool rb_world_evaluate(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_world_runs *runs,
                       struct rb_estimate *out, struct rb_plan_stage *out_stages, struct rb_err *err);

#endif
