// Parts of rbsim: the variants to simulate (a tuner, its sampler and a policy, with its plan).
#ifndef RB_COMMANDS_RBSIM_H
#define RB_COMMANDS_RBSIM_H

#include "commands/rbplan/rbplan_inputs.h"
#include "simulator/world/simulation.h"

#define RB_SIM_VARIANTS 32 // compared at once

struct rb_sim_command {
    const struct rb_args *args;
    struct rb_plan_inputs in;
    struct rb_doc plan_doc;             // of --plan
    struct rb_simulation sim;
    struct rb_job_overrides *overrides; // [sim.n_variants]: "scheduler.type=asha"
    struct rb_blackbox table;           // of --blackbox
    struct rb_arena table_arena;
    const char *const *defaults;        // keys that the job leaves to the table, [n_defaults]
    int n_defaults;
    bool json;
    struct rb_err search_failure;       // of a program that proposes configurations; code NONE: none
};

// Reads the variants: --tuner and --policy, or --compare TUNER[/SAMPLER]:POLICY[:KEY=VALUE]...,...
bool rb_sim_name_variants(struct rb_sim_command *c, struct rb_err *err);
// Makes their jobs and plans: from --plan, --nodes, or the planner.
bool rb_sim_make_plans(struct rb_sim_command *c, struct rb_err *err);

// --blackbox FILE: reads the table, and which keys the job leaves to it.
bool rb_sim_open_table(struct rb_sim_command *c, struct rb_err *err);
// Checks that the job is one of the table's; its parameters become the table's.
bool rb_sim_fit_table(const struct rb_sim_command *c, struct rb_job *job, struct rb_err *err);

// --market FILE: spot markets from a table, for the plans that were made.
bool rb_sim_open_market(struct rb_sim_command *c, struct rb_err *err);

// Without --cold: what the samplers start from, from the profile store.
bool rb_sim_recall(struct rb_sim_command *c, struct rb_err *err);

// Jobs may name a program that proposes configurations; afterwards: why one of them failed for good.
void rb_sim_use_programs(struct rb_sim_command *c);
bool rb_sim_programs_kept(const struct rb_sim_command *c, struct rb_err *err);

// --events FILE: the events of the first run, as rbrun writes its own.
bool rb_sim_save_events(const struct rb_simulation *sim, const char *path, struct rb_err *err);

// --record FILE RUN...: makes a table of runs of rbrun.
bool rb_sim_record(const struct rb_args *args, struct rb_err *err);

// --trace FILE: simulates the jobs of a trace on one shared cluster instead of a tuning job.
bool rb_sim_trace(const struct rb_args *args, struct rb_err *err);

#endif
