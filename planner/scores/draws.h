// Simulated runs of whole plans, as many as are asked for, and kept: they settle what laws do not. One draw a trial out of the
// table of its law, where laws and bills allow it; else replicates. Tables also say, draw by draw, what the stages of the plan
// would have taken and cost alone. Laws know the means of that, so draws only have to tell by how much nodes that come late and
// short lives change them: a control variate.
// Source: Glasserman, "Monte Carlo Methods in Financial Engineering", section 4.1.
#ifndef RB_PLANNER_DRAWS_H
#define RB_PLANNER_DRAWS_H

#include "planner/scores/score.h"

// Bills round up to seconds: where times fall on few values, only the whole microseconds of replicates say to which.
bool rb_draws_see_atoms(const struct rb_stage_time *const *times, int n_stages);

// Runs 0..n-1. Borrowed until the next call.
bool rb_draws_get(struct rb_search *search, const struct rb_candidate *candidate, int n, const struct rb_runs **out,
                  struct rb_err *err);
// By tables whatever the laws look like; for searches by laws, without early requests.
bool rb_draws_from_tables(struct rb_search *search, const struct rb_candidate *candidate,
                          const struct rb_plan_stage *stages, int n, const struct rb_runs **out, struct rb_err *err);

// P(time <= deadline) of *io, with its errors, from what the score says of the stages alone, where that errs less than what stands
// there.
void rb_draws_tell_probability(const struct rb_runs *runs, const struct rb_score *score, int64_t deadline_us,
                               struct rb_estimate *io);
// By how much the runs make it smaller. The runs know their stages alone.
double rb_draws_delayed(const struct rb_runs *runs, int64_t deadline_us);
// By how much a plan takes longer than its stages alone, onto the mean and the quantiles that *io has of these, and what that
// errs by. False: no run did.
bool rb_draws_tell_delay(const struct rb_runs *runs, struct rb_estimate *io);

// What n runs say of a plan under the request's constraints; without a budget also what its score knows. NULL: nothing.
bool rb_draws_estimate(struct rb_search *search, const struct rb_candidate *candidate, const struct rb_score *score, int n,
                       struct rb_estimate *out, struct rb_err *err);

#endif
