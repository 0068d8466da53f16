// How a sharing policy sees a borrower: how fast its trials would train on n GPUs, and how long they would take.
#ifndef RB_EXECUTOR_ARBITER_VIEW_H
#define RB_EXECUTOR_ARBITER_VIEW_H

#include "engine/core/engine.h"

struct rb_arbiter_view {
    const struct rb_plan *plan;
    const struct rb_training *training;
    int gpus_per_node;
    int n_trials;      // trials that train or wait now
    double left_units; // units of resource for one trial: of those trials, and of later stages according to the plan
};

struct rb_arbiter_view rb_arbiter_view_of(const struct rb_plan *plan, const struct rb_engine *engine);
int rb_arbiter_view_max_gpus(const struct rb_arbiter_view *v); // it cannot use more
// For struct rb_shared_job; arg: the view. Returns units of resource per second; seconds.
double rb_arbiter_view_rate(const void *arg, int nodes, int gpus);
double rb_arbiter_view_seconds(const void *arg, int gpus);

#endif
