// Plans for a pool: for the run that owns the nodes, and for every job that shares them.
#ifndef RB_LIBRARY_POOL_PLAN_H
#define RB_LIBRARY_POOL_PLAN_H

#include "engine/plan/plan.h"
#include "profiles/inputs/plan_inputs.h"
#include "profiles/job/pool_file.h"

// Plans the nodes: `resources.max_nodes` of the machine with the lowest price per GPU, among those that the pool may
// have. `in`: any of the jobs; its prices and provisioning are used. Time and cost of the pool are not predicted: they
// depend on its jobs.
bool rb_pool_plan_nodes(const struct rb_pool_file *pool, struct rb_plan_inputs *in, struct rb_plan *out,
                        struct rb_err *err);

// Plans a job on the nodes of `nodes`, all of which it may borrow. Its estimate is for the job alone on them.
bool rb_pool_plan_job(const struct rb_plan *nodes, struct rb_plan_inputs *in, struct rb_plan *out, struct rb_err *err);

#endif
