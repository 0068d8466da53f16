// Estimates plans from runs of the engine in the virtual world. Each run executes the plan as rbrun does, with the
// job's policy, its forecasts and the hard budget.
#ifndef RB_PLANNER_ENGINE_RUNS_H
#define RB_PLANNER_ENGINE_RUNS_H

#include "planner/search/search.h"
#include "simulator/world/world_evaluate.h"

// A candidate as a plan of the request. Borrows `stages` (rb_candidate_stages; NULL: none are needed), everything the
// search borrows, and the search's `fallbacks` until the next call.
struct rb_plan rb_engine_plan(const struct rb_search *search, const struct rb_candidate *candidate,
                              const struct rb_plan_stage *stages);

// First number of the runs used to estimate a plan. No earlier decision has used them.
#define RB_ENGINE_FIRST_UNSEEN (UINT32_C(1) << 22)

// An estimate from n of these runs, fewer if each is expensive (rb_world_affordable_runs). unadvised: a policy that
// asks for forecasts gets none, which is cheap; the estimate is then that of the plan before the policy changes
// anything.
// out_stages NULL or [candidate->n_stages] as filled in by rb_candidate_stages; quantiles are written to it.
bool rb_engine_estimate(struct rb_search *search, const struct rb_candidate *candidate, int n, bool unadvised,
                        struct rb_estimate *out, struct rb_plan_stage *out_stages, struct rb_err *err);

#endif
