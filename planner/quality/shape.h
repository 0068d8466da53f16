// The shape of a search: how many trials are compared after which share of their training. It is what the quality of
// the best one depends on; machines do not.
#ifndef RB_PLANNER_QUALITY_SHAPE_H
#define RB_PLANNER_QUALITY_SHAPE_H

#include "base/limits.h"
#include "profiles/job/job.h"

// Of the trials of a rung, the best by their results there train on to the next.
struct rb_shape_rung {
    int trials;   // never more than in the rung before
    double share; // of R, trained to
};

struct rb_shape_bracket {
    struct rb_shape_rung rungs[RB_LIMIT_STAGES]; // the last ends at share 1, [n]
    int n;
};

struct rb_search_shape {
    struct rb_shape_bracket brackets[RB_LIMIT_STAGES]; // their trials are never compared with each other, [n]
    int n;
    bool overlaps; // rungs of all brackets train side by side
};

// asha as if all results of a rung were there when it promotes: what it promotes too early is not modelled.
// Errors: a tuner whose trials are not compared at rungs, such as grid, or not by their results there.
bool rb_search_shape_of(const struct rb_job *job, struct rb_search_shape *out, struct rb_err *err);
int rb_search_shape_trials(const struct rb_search_shape *shape);
// Every rung with `times` times as many trials, rounded, and at least one.
void rb_search_shape_scale(struct rb_search_shape *shape, double times);

#endif
