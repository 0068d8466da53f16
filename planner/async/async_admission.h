// For asynchronous jobs that cannot run all their configurations within the constraints. Chooses the instant after
// which no configuration is started, so that as many as possible are tried.
#ifndef RB_PLANNER_ASYNC_ADMISSION_H
#define RB_PLANNER_ASYNC_ADMISSION_H

#include "planner/async/async_search.h"

// Finds the plan that starts the most configurations on average, subject to two conditions, each with the job's
// confidence: the plan keeps the constraints, and it trains one configuration to max_resource. Then makes the plan's
// tail as cheap as possible without starting fewer configurations. *out has been estimated.
// *out_found false: no plan qualifies, and *io_nearest holds what one would need, each constraint changed alone; or the
// tuner cannot be closed (hyperband).
bool rb_async_admission(struct rb_search *search, struct rb_candidate *out, bool *out_found, struct rb_needs *io_nearest,
                        struct rb_err *err);

// Mean number of configurations that report at all, over the runs from which the plan's figures are computed.
struct rb_async_tried {
    double mean;
    int p5;
};
bool rb_async_tried(const struct rb_search *search, const struct rb_candidate *candidate, struct rb_async_tried *out,
                    struct rb_err *err);

#endif
