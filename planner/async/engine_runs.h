// Plans by runs of the engine in the virtual world: each run carries the plan out as rbrun does, with the job's policy, its
// forecasts and the hard budget.
#ifndef RB_PLANNER_ENGINE_RUNS_H
#define RB_PLANNER_ENGINE_RUNS_H

#include "planner/search/search.h"
#include "simulator/world/world_evaluate.h"

// A candidate as a plan of the request. Borrows `stages` (rb_candidate_stages) and what the search borrows.
struct rb_plan rb_engine_plan(const struct rb_search *search, const struct rb_candidate *candidate,
                              const struct rb_plan_stage *stages);

// The runs that a plan is estimated by begin here: none of them has decided anything before.
#define RB_ENGINE_FIRST_UNSEEN (UINT32_C(1) << 22)

// An estimate from n of these runs, fewer where each is expensive (rb_world_affordable_runs). unadvised: a policy that
// asks for forecasts gets none, which is cheap: the plan as it is before the policy changes anything.
// out_stages NULL or [candidate->n_stages], with what rb_candidate_stages fills in: quantiles are written.
bool rb_engine_estimate(struct rb_search *search, const struct rb_candidate *candidate, int n, bool unadvised,
                        struct rb_estimate *out, struct rb_plan_stage *out_stages, struct rb_err *err);

#endif
