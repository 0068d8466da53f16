// The plan of a policy that works until the deadline (rb_policy.anytime): a pool of one machine, as much of it as the budget
// pays for until then. How good the best trial gets is the policy's; more nodes can only help it.
#ifndef RB_PLANNER_ASYNC_POOL_H
#define RB_PLANNER_ASYNC_POOL_H

#include "planner/async/async_runs.h"

// The pool that trains fastest with one bundle of GPUs for each trial: of every offer the most nodes (resources.max_nodes)
// that keep the budget with the confidence asked, and if the policy asks for forecasts, with these, too. It has been estimated.
// Infeasible: not even one node of any.
bool rb_async_pool_plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err);

#endif
