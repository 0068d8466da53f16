// Parts of rbsim: the variants to simulate (a tuner under a policy, with its plan).
#ifndef RB_COMMANDS_RBSIM_H
#define RB_COMMANDS_RBSIM_H

#include "commands/rbplan/rbplan_inputs.h"
#include "simulator/world/simulation.h"

#define RB_SIM_VARIANTS 32 // compared at once

// Keys of the job that a variant sets: "scheduler.type=asha"; [n].
struct rb_sim_overrides {
    const char *const *items;
    int n;
};

struct rb_sim_command {
    const struct rb_args *args;
    struct rb_plan_inputs in;
    struct rb_doc plan_doc;             // of --plan
    struct rb_simulation sim;
    struct rb_sim_overrides *overrides; // [sim.n_variants]
    bool json;
    struct rb_err search_failure;       // of a program that proposes configurations; code NONE: none
};

// Reads the variants: --tuner and --policy, or --compare TUNER:POLICY[:KEY=VALUE]...,...
bool rb_sim_name_variants(struct rb_sim_command *c, struct rb_err *err);
// Makes their jobs and plans: from --plan, --nodes, or the planner.
bool rb_sim_make_plans(struct rb_sim_command *c, struct rb_err *err);

// Jobs may name a program that proposes configurations; afterwards: why one of them failed for good.
void rb_sim_use_programs(struct rb_sim_command *c);
bool rb_sim_programs_kept(const struct rb_sim_command *c, struct rb_err *err);

// --trace FILE: simulates the jobs of a trace on one shared cluster instead of a tuning job.
bool rb_sim_trace(const struct rb_args *args, struct rb_err *err);

#endif
