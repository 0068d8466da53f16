// Runs of plans and of single stages from quantile tables, in micro-units: the fast way, where the model allows it. What the
// evaluator (simulator/model/evaluate.h) draws latency by latency comes here as one draw a trial, of the same distribution.
// Every stage has draws of its own: a stage by itself and the same stage within a plan draw the same in the same run, so that
// runs of stages add up to runs of plans, and plans that share a stage share its luck.
#ifndef RB_SIMULATOR_TABLE_RUNS_H
#define RB_SIMULATOR_TABLE_RUNS_H

#include "simulator/model/scenario.h"
#include "simulator/sampler/sampler_tables.h"

// Do tables apply to these stages, which are number first_stage and what follows? Not where nodes may be lost, where nodes of two
// kinds are requested early, and where some latency of a trial is a sample of measurements or has atoms.
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

// One stage on one entry of nodes of which n_kept are ready when it starts. Time and its part of the bill as
// simulator/stage/stage_run.h counts it, [n] each.
bool rb_table_runs_of_stage(const struct rb_scenario *s, int stage, const struct rb_plan_stage *plan, int n_kept,
                            const struct rb_table_runs *runs, struct rb_sampler_tables *tables, double *out_time_us,
                            double *out_cost_uusd, struct rb_err *err);

#endif
