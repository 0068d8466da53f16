// The nearest constraints that some plan of an asynchronous job keeps, so that planning again with one of them finds a
// plan.
#ifndef RB_PLANNER_ASYNC_NEAREST_H
#define RB_PLANNER_ASYNC_NEAREST_H

#include "planner/async/async_runs.h"

// Arguments common to both functions.
struct rb_needs rb_needs_stricter(const struct rb_needs *a, const struct rb_needs *b);

// Like rb_needs_of, from n runs of a candidate that continue beyond the budget. With a budget, runs are stopped while
// it can still pay for all nodes to end.
struct rb_needs rb_async_needs_of(const struct rb_search *search, const struct rb_candidate *candidate,
                                  const int64_t *time_us, const int64_t *cost_uusd, int n, double confidence);

// Like rb_search_nearest_of: a few runs find the candidates that are near; more, unseen runs determine what these need.
bool rb_async_nearest_of(struct rb_search *search, const struct rb_candidate *candidates, int n,
                         struct rb_plan_result *out, struct rb_err *err);

// What one candidate needs, with a margin, by the comparison runs and by the reporting runs.
bool rb_async_needs(struct rb_search *search, const struct rb_candidate *candidate, struct rb_needs *out,
                    struct rb_err *err);

#endif
