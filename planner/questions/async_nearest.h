// The nearest constraints that a plan of an asynchronous job keeps, so that planning again with one of them finds a plan.
#ifndef RB_PLANNER_ASYNC_NEAREST_H
#define RB_PLANNER_ASYNC_NEAREST_H

#include "planner/async/async_runs.h"

// What both ask for.
struct rb_needs rb_needs_stricter(const struct rb_needs *a, const struct rb_needs *b);

// As rb_needs_of, of n runs of a candidate that go on beyond the budget. Under a budget they are stopped while it can still pay
// for all nodes to end.
struct rb_needs rb_async_needs_of(const struct rb_search *search, const struct rb_candidate *candidate,
                                  const int64_t *time_us, const int64_t *cost_uusd, int n, double confidence);

// As rb_search_nearest_of: few runs say which candidates are near, more and unseen ones what these need.
bool rb_async_nearest_of(struct rb_search *search, const struct rb_candidate *candidates, int n,
                         struct rb_plan_result *out, struct rb_err *err);

// What one candidate needs by the runs that plans are compared by, with something to spare, and by those it is reported by.
bool rb_async_needs(struct rb_search *search, const struct rb_candidate *candidate, struct rb_needs *out,
                    struct rb_err *err);

#endif
