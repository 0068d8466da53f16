// Where an asynchronous job cannot be carried out whole within its constraints: until when configurations are started, so
// that most of them are tried.
#ifndef RB_PLANNER_ASYNC_ADMISSION_H
#define RB_PLANNER_ASYNC_ADMISSION_H

#include "planner/async/async_search.h"

// The plan that starts the most configurations on average while it keeps the constraints and trains one of them to
// max_resource, each as surely as the confidence asks; its tail then made as cheap as it can be without giving any up. *out has
// been estimated. *out_found false: none does, and *io_nearest knows what would be needed for one, each constraint changed
// alone; or the tuner cannot be closed (hyperband).
bool rb_async_admission(struct rb_search *search, struct rb_candidate *out, bool *out_found, struct rb_needs *io_nearest,
                        struct rb_err *err);

// How many configurations report at all, in the runs that a plan is reported by.
struct rb_async_tried {
    double mean;
    int p5;
};
bool rb_async_tried(const struct rb_search *search, const struct rb_candidate *candidate, struct rb_async_tried *out,
                    struct rb_err *err);

#endif
