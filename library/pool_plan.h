// Plans of a pool: of the run that owns the nodes, and of every job that shares them.
#ifndef RB_LIBRARY_POOL_PLAN_H
#define RB_LIBRARY_POOL_PLAN_H

#include "engine/plan/plan.h"
#include "profiles/inputs/plan_inputs.h"
#include "profiles/job/pool_file.h"

// The nodes: `resources.max_nodes` of the machine that is cheapest a GPU, of those the pool may have. `in`: any of the jobs,
// whose prices and provisioning count. What the pool takes is not predicted: that depends on its jobs.
bool rb_pool_plan_nodes(const struct rb_pool_file *pool, struct rb_plan_inputs *in, struct rb_plan *out,
                        struct rb_err *err);

// A job on the nodes of `nodes`, all of which it may be lent. Its estimate is that of the job alone on them.
bool rb_pool_plan_job(const struct rb_plan *nodes, struct rb_plan_inputs *in, struct rb_plan *out, struct rb_err *err);

#endif
