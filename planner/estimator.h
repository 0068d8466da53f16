// The estimate of a plan as it is told: quantiles, probabilities, what they rest on and how far off they can be. Time from
// the laws of the stages, without sampling, where they exist; cost and what depends on both from the fast sampler; and
// everything from replicates where stages are not independent.
#ifndef RB_PLANNER_ESTIMATOR_H
#define RB_PLANNER_ESTIMATOR_H

#include "planner/score.h"

// Into candidate->estimate (all fields, methods and errors) and, if out_stages is not NULL, stages[i].time_us, cost_uusd;
// then --explain is told stage by stage where the time is from. out_stages [n_stages] are the candidate's own.
bool rb_estimate_candidate(struct rb_search *search, struct rb_candidate *candidate, struct rb_plan_stage *out_stages,
                           struct rb_err *err);
// From one draw a trial, out of the tables of its law: as replicates say, in a tenth of the time. For searches by laws; not for
// early requests.
bool rb_estimate_by_tables(struct rb_search *search, const struct rb_candidate *candidate,
                           const struct rb_plan_stage *stages, int samples, struct rb_estimate *out,
                           struct rb_err *err);
// Simulated runs of the whole plan, as many as the request asks for: by tables where laws and bills allow it, else replicates.
// They settle what laws do not. Borrowed until the next call.
bool rb_estimate_draws(struct rb_search *search, const struct rb_candidate *candidate, const struct rb_runs **out,
                       struct rb_err *err);
// Of the plan of a feasible result with its early requests, which only replicates can tell the worth of.
bool rb_estimate_plan(struct rb_search *search, struct rb_plan_result *result, struct rb_plan_stage *out_stages,
                      struct rb_err *err);

#endif
