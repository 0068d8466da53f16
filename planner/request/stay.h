// `data.stay`: all nodes of a plan are in one place. The job is planned once for each place that it may choose; each of these
// jobs names only its place, so that fallbacks, new plans of a run and spot stand-ins stay there as well. Internal to planner/.
#ifndef RB_PLANNER_STAY_H
#define RB_PLANNER_STAY_H

#include "planner/search/planner.h"

// The job once for each place among resources.infra, [n] in the arena, in their order; n is 1, and the job the same, where it
// does not have to stay. A place is a cloud (`aws`, `gcp`, `mock`), a cluster (`k8s/NAME`, `slurm`) or `local`.
int rb_stay_jobs(const struct rb_job *job, struct rb_arena *arena, const struct rb_job **out);
// How many that is.
int rb_stay_n_places(const struct rb_job *job);
// What such a job's place is called.
const char *rb_stay_place(const struct rb_job *job, struct rb_arena *arena);

typedef bool rb_plan_fn(const struct rb_plan_request *req, const struct rb_planner *planner, struct rb_arena *arena,
                        struct rb_plan *out_plan, struct rb_plan_result *out_result, struct rb_err *err);
// Each place is searched as if it were the only one, and the best of their plans is taken, with a note of the others.
// jobs: [n], of rb_stay_jobs. Errors: of the place that comes nearest to a plan.
bool rb_stay_plan(rb_plan_fn *make, const struct rb_plan_request *req, const struct rb_planner *planner,
                  const struct rb_job *jobs, int n, struct rb_arena *arena, struct rb_plan *out_plan,
                  struct rb_plan_result *out_result, struct rb_err *err);

#endif
