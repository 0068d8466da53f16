// Searches for the cheapest (or fastest) plan of an asynchronous job: which nodes to own in each phase and how many
// GPUs a trial gets at each level. It is a local search by exchanges that starts from the best plan of the published
// planners. Optimality is not proved.
#ifndef RB_PLANNER_ASYNC_SEARCH_H
#define RB_PLANNER_ASYNC_SEARCH_H

#include "planner/async/async_runs.h"

// `optimal` for asynchronous jobs. Its plans are estimated on unseen runs (rb_async_estimate) and keep the constraints
// by that estimate.
bool rb_async_plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err);

// Applies exchanges to a candidate until none helps or the time is up, towards feasibility first and then towards the
// objective. `least_tried`: for candidates that stop starting configurations, how many must be started on average; else
// 0. The plans passed through go to out_path [RB_ASYNC_PATH], first to last, or only the last ones if there were more.
#define RB_ASYNC_PATH 16
bool rb_async_exchange(struct rb_search *search, const struct rb_candidate *from, double least_tried,
                       struct rb_candidate *out_path, int *out_n, struct rb_err *err);

#endif
