// The plan of a policy that works until the deadline (rb_policy.anytime): one pool of one machine type, as large as the
// budget can pay for until the deadline. The policy decides how good the best trial gets; more nodes can only help it.
#ifndef RB_PLANNER_ASYNC_POOL_H
#define RB_PLANNER_ASYNC_POOL_H

#include "planner/async/async_runs.h"

// Chooses the pool that trains fastest with one bundle of GPUs per trial. For every offer it takes the largest node
// count (up to resources.max_nodes) that keeps the budget with the job's confidence, including the cost of forecasts if
// the policy asks for them. The result has been estimated.
// Infeasible: no offer can afford even one node.
bool rb_async_pool_plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err);

#endif
