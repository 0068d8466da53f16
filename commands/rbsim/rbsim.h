// Parts of rbsim: the variants to simulate (a tuner under a policy, with its plan), their runs, and what is shown of them.
#ifndef RB_COMMANDS_RBSIM_H
#define RB_COMMANDS_RBSIM_H

#include "commands/rbplan/rbplan_inputs.h"
#include "engine/plan/plan.h"
#include "simulator/forecast/curves.h"
#include "simulator/stage/compare.h"
#include "simulator/world/world_evaluate.h"

#define RB_SIM_VARIANTS 32 // compared at once

// One tuner under one policy.
struct rb_sim_variant {
    const char *label;               // "asha:hypersched", and the keys it sets
    const char *const *overrides;    // of the job, "scheduler.type=asha"; [n_overrides]
    int n_overrides;
    struct rb_job job;
    struct rb_plan plan;
    struct rb_world_result *results; // [n of the simulation]
};

struct rb_simulation {
    const struct rb_args *args;
    struct rb_plan_inputs in;
    struct rb_doc plan_doc;          // of --plan
    struct rb_sim_variant *variants; // [n_variants]; the first is what others are compared with
    int n_variants;
    struct rb_curves curves;
    uint64_t seed;
    int n;                           // replicates, keys 0..n-1
    bool stop_at_deadline;           // every run, whatever its policy
    bool json;
    bool *out_told;                  // an infeasible request with --json has printed its own document
};

// Which variants: --tuner and --policy, or --compare TUNER:POLICY[:KEY=VALUE]...,...
bool rb_sim_name_variants(struct rb_simulation *sim, struct rb_err *err);
// Their jobs and plans: --plan, --nodes, or the planner.
bool rb_sim_make_plans(struct rb_simulation *sim, struct rb_err *err);

// One variant: rb-sim/1 or a table. Several: rb-sim-compare/1 or two tables.
void rb_sim_show(const struct rb_simulation *sim, struct rb_buf *out);
void rb_sim_show_comparison(const struct rb_simulation *sim, struct rb_buf *out);

// --gantt FILE: the first replicate of each variant, drawn.
bool rb_sim_draw(struct rb_simulation *sim, const char *path, struct rb_err *err);

// --trace FILE: no tuning job, but the jobs of a trace on one shared cluster.
bool rb_sim_trace(const struct rb_args *args, struct rb_err *err);

// What is told of each run, and its mean over the runs that have it.
enum rb_sim_measure { RB_SIM_TIME, RB_SIM_COST, RB_SIM_METRIC, RB_SIM_TRAINED, RB_SIM_FULL, RB_SIM_FIRST_FULL, RB_SIM_UNITS, RB_SIM_MEASURES };
// NaN: it has none (no finite metric; no trial at R).
double rb_sim_measure(const struct rb_world_result *r, enum rb_sim_measure measure);
// Over the runs that have it; n = 0: none.
struct rb_mean rb_sim_mean(const struct rb_simulation *sim, const struct rb_sim_variant *v, enum rb_sim_measure measure);

#endif
