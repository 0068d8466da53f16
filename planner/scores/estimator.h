// The reported estimate of a plan: quantiles, probabilities and their possible errors, from runs that no search has
// used. The best of many plans looks better than it is on the runs it was chosen by.
#ifndef RB_PLANNER_ESTIMATOR_H
#define RB_PLANNER_ESTIMATOR_H

#include "planner/search/search.h"

#define RB_UNSEEN_RUNS     (UINT32_C(1) << 23) // number of the first one: beyond those of any search, 1,000,000 at most
#define RB_FEWEST_VERIFIED 20000               // runs that the figures of a plan rest on

// Writes candidate->estimate (all fields, methods and errors) and, if out_stages is not NULL, stages[i].time_us and
// cost_uusd.
// out_stages [n_stages] are the candidate's own.
bool rb_estimate_candidate(struct rb_search *search, struct rb_candidate *candidate, struct rb_plan_stage *out_stages,
                           struct rb_err *err);
// The same for sampled stages.
bool rb_stages_estimate(struct rb_search *search, struct rb_candidate *candidate, struct rb_plan_stage *out_stages,
                        struct rb_err *err);
// For the plan of a feasible result with its early requests, whose value only replicates show.
bool rb_estimate_plan(struct rb_search *search, struct rb_plan_result *result, struct rb_plan_stage *out_stages,
                      struct rb_err *err);

// With a time limit and an offer whose market goes down: sets search->slowest_look_us by a few runs on it.
void rb_estimate_pace(struct rb_search *search);
// Does the limit leave time for as long a look as that?
bool rb_estimate_has_time(const struct rb_search *search);

#endif
