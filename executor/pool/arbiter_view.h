// A borrower as a sharing policy sees it: how fast its trials would train on so many GPUs, and how long that takes.
#ifndef RB_EXECUTOR_ARBITER_VIEW_H
#define RB_EXECUTOR_ARBITER_VIEW_H

#include "engine/core/engine.h"

struct rb_arbiter_view {
    const struct rb_plan *plan;
    const struct rb_training *training;
    int gpus_per_node;
    int n_trials;      // that train or wait now
    double left_units; // of resource on one trial: of those, and of the stages to come as the plan has them
};

struct rb_arbiter_view rb_arbiter_view_of(const struct rb_plan *plan, const struct rb_engine *engine);
int rb_arbiter_view_max_gpus(const struct rb_arbiter_view *v); // more it cannot use
// For struct rb_shared_job; arg: the view. Units of resource a second; seconds.
double rb_arbiter_view_rate(const void *arg, int nodes, int gpus);
double rb_arbiter_view_seconds(const void *arg, int gpus);

#endif
