// The cheapest (or fastest) plan of an asynchronous job: what to own in each phase and how many GPUs a trial gets at each
// level, by exchange from the best of the published planners' plans. Nothing is proved of it.
#ifndef RB_PLANNER_ASYNC_SEARCH_H
#define RB_PLANNER_ASYNC_SEARCH_H

#include "planner/async/async_runs.h"

// `optimal` for asynchronous jobs. Its plans were estimated by unseen runs (rb_async_estimate), and keep the constraints by them.
bool rb_async_plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err);

// Exchanges from a candidate until none helps or the time is up: towards feasibility first, then towards the objective.
// `least_tried`: configurations that must be started on average, for candidates that stop starting them; else 0. What it went
// through into out_path [RB_ASYNC_PATH], first to last; the last ones where there were more.
#define RB_ASYNC_PATH 16
bool rb_async_exchange(struct rb_search *search, const struct rb_candidate *from, double least_tried,
                       struct rb_candidate *out_path, int *out_n, struct rb_err *err);

#endif
