// The estimate of a plan as it is told: quantiles, probabilities, what they rest on and how far off they can be. Time from
// the laws of the stages, without sampling, where they exist; cost and what depends on both from the fast sampler; and
// everything from replicates where stages are not independent.
#ifndef RB_PLANNER_ESTIMATOR_H
#define RB_PLANNER_ESTIMATOR_H

#include "planner/scores/score.h"

// Into candidate->estimate (all fields, methods and errors) and, if out_stages is not NULL, stages[i].time_us, cost_uusd;
// then --explain is told stage by stage where the time is from. out_stages [n_stages] are the candidate's own.
bool rb_estimate_candidate(struct rb_search *search, struct rb_candidate *candidate, struct rb_plan_stage *out_stages,
                           struct rb_err *err);
// Of the plan of a feasible result with its early requests, which only replicates can tell the worth of.
bool rb_estimate_plan(struct rb_search *search, struct rb_plan_result *result, struct rb_plan_stage *out_stages,
                      struct rb_err *err);

#endif
