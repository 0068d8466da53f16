// Runs of plans and of single stages from quantile tables, in micro-units: the fast way, if the model allows it. What
// the evaluator (simulator/model/evaluate.h) draws latency by latency is one draw per trial here, with the same
// distribution. Every stage has its own draws: a single stage and the same stage within a plan draw the same in the
// same run. So runs of stages add up to runs of plans, and plans that share a stage share its draws.
#ifndef RB_SIMULATOR_TABLE_RUNS_H
#define RB_SIMULATOR_TABLE_RUNS_H

#include "simulator/model/scenario.h"
#include "simulator/sampler/sampler_tables.h"

// True if tables apply to these stages, numbered from first_stage on. They do not if nodes may be lost, if nodes of two
// kinds are requested early, or if some latency of a trial is an empirical sample or has atoms.
bool rb_table_runs_apply(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages, int first_stage,
                         struct rb_sampler_tables *tables);

struct rb_table_runs {
    uint32_t first; // number of the first run
    int n, threads;
};

// Times and bills of a whole plan, [n] each, in whole micro-units.
bool rb_table_runs_of_plan(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                           const struct rb_table_runs *runs, struct rb_sampler_tables *tables, int64_t *out_time_us,
                           int64_t *out_cost_uusd, struct rb_err *err);

// One stage on one entry of nodes, of which n_kept are ready when it starts. Its time, and its part of the bill as
// simulator/stage/stage_run.h counts it, [n] each.
bool rb_table_runs_of_stage(const struct rb_scenario *s, int stage, const struct rb_plan_stage *plan, int n_kept,
                            const struct rb_table_runs *runs, struct rb_sampler_tables *tables, double *out_time_us,
                            double *out_cost_uusd, struct rb_err *err);

#endif
