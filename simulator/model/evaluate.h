// The Monte Carlo evaluator: a plan's time and cost, replicate by replicate, without the engine. Agrees with the
// virtual world to the microsecond and the micro-dollar (tests/simulator).
#ifndef RB_SIMULATOR_EVALUATE_H
#define RB_SIMULATOR_EVALUATE_H

#include "simulator/model/scenario.h"
#include "simulator/model/summary.h"

struct rb_sampler_tables;

struct rb_replicate {
    int64_t time_us, cost_uusd;
    int64_t stage_time_us[RB_LIMIT_STAGES];  // [n_stages]
    int64_t stage_cost_uusd[RB_LIMIT_STAGES]; // whole bill split over stages by the node time in each; sums to
                                              // cost_uusd
};

// One replicate of a plan, as rb_evaluate runs them; only tests use single ones. Scratch memory is kept in `ws` between
// calls: the inner loop allocates nothing. Errors: INVALID (the plan does not fit the scenario), INFEASIBLE (the plan
// does not finish: its market reclaims nodes too soon, or it takes more than 100 years).
struct rb_workspace;
struct rb_workspace *rb_workspace_create(void);
void rb_workspace_destroy(struct rb_workspace *ws);
bool rb_replicate_run(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                      uint32_t replicate, struct rb_workspace *ws, struct rb_replicate *out, struct rb_err *err);

struct rb_evaluate_options {
    int samples;               // replicates, keys first..first+samples-1
    int64_t deadline_us, budget_uusd; // -1: none
    int threads;               // the result does not depend on it
    uint32_t first;            // replicates that another estimate has not used: beyond its samples
    bool (*stop)(void *ctx);   // asked between replicates, by every thread; NULL: never. After RB_EVALUATE_FEWEST a
                               // true
                               // answer ends it, and the estimate is that of the replicates made (its `samples`)
    void *stop_ctx;
    struct rb_sampler_tables *tables; // takes runs from these if they apply, unless stages are asked for
                                      // (simulator/sampler/table_runs.h); NULL: every latency is drawn individually
};
#define RB_EVALUATE_FEWEST 32 // always made: fewer do not estimate a probability
struct rb_evaluate_options rb_evaluate_defaults(void); // 4096 samples, no constraints, 1 thread

// The replicates' times and costs, [opt->samples] each, >= 1. All are made: opt->stop is not asked.
bool rb_evaluate_runs(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                      const struct rb_evaluate_options *opt, int64_t *out_time_us, int64_t *out_cost_uusd,
                      struct rb_err *err);

// Estimate of a plan; per-stage quantiles into stages[i].time_us, cost_uusd if out_stages is not NULL ([n_stages]).
bool rb_evaluate(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                 const struct rb_evaluate_options *opt, struct rb_estimate *out, struct rb_plan_stage *out_stages,
                 struct rb_err *err);

#endif
