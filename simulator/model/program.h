// A plan checked and prepared for many replicates: everything that does not depend on draws.
#ifndef RB_SIMULATOR_PROGRAM_H
#define RB_SIMULATOR_PROGRAM_H

#include "simulator/model/scenario.h"

#define RB_SAVES_DIFFER (-1.0)

struct rb_stage_program {
    const struct rb_plan_stage *plan;
    int n_trials;
    int64_t units;        // of resource each trial trains
    double unit_s;
    double save_every_s;  // of trials on its nodes; RB_SAVES_DIFFER: offers differ
    int gpus_per_node;
    int trials_per_node;  // 0: a trial needs several nodes
    int nodes_per_trial;  // 1 or more
};

struct rb_program {
    const struct rb_scenario *scenario;
    struct rb_stage_program stages[RB_LIMIT_STAGES];
    int n_stages;
    bool loses_nodes;     // an offer in use may be preempted
    int max_trials;       // of any stage
    int max_nodes_per_trial;
};

// `stages` is borrowed. Errors name the stage: an offer that cannot be used, a layout that the profile does not cover,
// no room for one trial.
bool rb_program_compile(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                        struct rb_program *out, struct rb_err *err);

// One stage by itself, at its position in the job; earlier stages are left out.
bool rb_program_compile_stage(const struct rb_scenario *s, int stage, const struct rb_plan_stage *plan,
                              struct rb_program *out, struct rb_err *err);

#endif
