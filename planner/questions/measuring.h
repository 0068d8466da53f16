// The value of measuring first, for a plan that rests on a guess: how long a first measurement takes, what it costs,
// and how narrow the plan's cost interval would be afterwards if the guessed medians are right.
#ifndef RB_PLANNER_MEASURING_H
#define RB_PLANNER_MEASURING_H

#include "engine/plan/plan.h"

struct rb_measuring {
    bool exists;               // the plan's GPUs were guessed, and its stages are known before it runs
    const char *instance_type; // of the plan's first stage on a GPU that was not measured
    int units;                 // of one trial on one GPU
    int64_t time_us, cost_uusd; // a new machine included
    int64_t cost_p5_uusd, cost_p95_uusd; // of the plan afterwards
};

// Runs the plan's stages again with the guess's medians and an error of 5 %.
bool rb_measuring_find(const struct rb_plan *plan, int threads, struct rb_measuring *out, struct rb_err *err);

#endif
