// Many runs of the virtual world: a plan's time and cost if only the engine itself can determine them, because its
// tuner assigns trials as results come in, or because its policy decides during the run. The engine executes the plan's
// own policy, with the forecasts and the hard budget that rbrun gives it. For synchronous jobs under the policies
// elastic and static, evaluate.h gives the same times faster.
#ifndef RB_SIMULATOR_WORLD_EVALUATE_H
#define RB_SIMULATOR_WORLD_EVALUATE_H

#include "samplers/search.h"
#include "simulator/model/evaluate.h"
#include "simulator/model/summary.h"
#include "simulator/world/world.h"

struct rb_world_runs {
    int samples;                      // replicates, keys first..first+samples-1; >= 1
    uint32_t first;
    int threads;                      // no result depends on it
    int64_t deadline_us, budget_uusd; // -1: none. A run is stopped when its budget pays for nothing more, as rbrun
                                      // stops
                                      // it; at its deadline only if its policy works towards one (rb_policy.anytime)
    bool stop_at_deadline;            // end at the deadline whatever the policy, to measure what was reached by then
    bool past_budget;                 // runs continue beyond the budget: their cost is compared with several budgets
    bool unadvised;                   // a policy that asks for forecasts (rb_policy.on_advice) gets none
    const struct rb_market_replay *market; // as in world.h
    rb_curve_fn *curve;               // as in world.h; called by several threads
    void *curve_ctx;
    // The job's sampler proposes configurations. false: they have no values, which is enough where only times count.
    bool searched;
    const struct rb_earlier *earlier; // runs that the sampler starts from, NULL: none
    // Prepares a run: its suggester, curve and unit_s (world.h); NULL: as above. `finish` frees what it made. Several threads may call them.
    // The plan's job has the run's own seed of its search; it lives until `finish`.
    bool (*prepare)(void *ctx, const struct rb_plan *plan, uint32_t replicate, struct rb_world_options *opt, struct rb_err *err);
    void (*finish)(void *ctx, struct rb_world_options *opt);
    void *prepare_ctx;
    // Makes what gives a run advice (world.h), for the whole of it. Several threads may call it. NULL: nothing does.
    struct rb_reactor *(*reactor)(const struct rb_plan *plan);
    // Asked by rb_world_evaluate after RB_WORLD_LOOK runs, twice as many, and so on, with the estimate so far: true ends it,
    // and the estimate is that of the runs made (its `samples`). Called by the caller's thread. NULL: all runs are made.
    bool (*enough)(void *ctx, const struct rb_estimate *so_far);
    // Likewise asked after every RB_WORLD_LOOK runs. NULL: never.
    bool (*stop)(void *ctx);
    void *enough_ctx, *stop_ctx;
    // Called after every event of every run, as in world.h, with the run's number. Several threads may call it, but a
    // single run is on one thread. NULL: no observer.
    void (*observe)(void *ctx, uint32_t replicate, const struct rb_engine *e, const struct rb_event *event,
                    const struct rb_actions *actions);
    void *observe_ctx;
};

#define RB_WORLD_LOOK RB_EVALUATE_FEWEST // runs between two looks

// Figures of one phase of one run; the engine's phases are the plan's stages.
struct rb_world_phase {
    int64_t time_us, cost_uusd;       // costs sum to the run's
};

// Returns the individual runs. out [samples]; out_phases NULL or [samples x plan->n_stages]. Errors: the first failing
// replicate's.
bool rb_world_replicates(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_world_runs *runs,
                         struct rb_world_result *out, struct rb_world_phase *out_phases, struct rb_err *err);

// True if the plan's tuner is asynchronous, or its policy decides during the run (and not on lent GPUs, of which nothing
// is known beforehand).
bool rb_plan_decides_while_it_runs(const struct rb_plan *plan);
// True if its stages request nodes of a market that goes down (spells in the profile, or a reservation that opens or
// closes): stand-ins are requested then.
bool rb_plan_meets_down_markets(const struct rb_plan *plan);
// True if only such runs give the plan's time and cost: either of these.
bool rb_plan_is_by_engine(const struct rb_plan *plan);
// Affordable number of runs of the plan, up to the number asked for: as its policy says (rb_policy.estimate_runs),
// fewer if forecasts divide many GPUs.
int rb_world_affordable_runs(const struct rb_plan *plan, int asked);

// True if the run kept both limits (-1: none). A run stopped by its budget did not.
bool rb_world_kept_budget(const struct rb_world_result *r, int64_t budget_uusd);
bool rb_world_kept(const struct rb_world_result *r, int64_t deadline_us, int64_t budget_uusd);
// Estimate from finished runs, method RB_ESTIMATE_REPLICATES.
struct rb_estimate rb_world_estimate(const struct rb_world_result *runs, int n, int64_t deadline_us, int64_t budget_uusd);

// Estimate of a plan, method RB_ESTIMATE_REPLICATES; quantiles of the phases into out_stages if it is not NULL
// ([plan->n_stages]; only time_us and cost_uusd are written).
bool rb_world_evaluate(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_world_runs *runs,
                       struct rb_estimate *out, struct rb_plan_stage *out_stages, struct rb_err *err);

#endif
