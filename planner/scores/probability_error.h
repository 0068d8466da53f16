// How far the probability that a plan is in time may be off by what is not known of its stage times: numerics of laws, and
// samples where there is no law. At 99.9 % for each set of samples.
#ifndef RB_PLANNER_PROBABILITY_ERROR_H
#define RB_PLANNER_PROBABILITY_ERROR_H

#include "simulator/stage/stage_time.h"

// How far the probability `p` of a whole plan may be off by what one of its stage times may err by. Samples err less than
// their worst distance from the law: the plan's probability is the mean of one function between 0 and 1 of them.
// Source: Bernstein's inequality.
double rb_stage_probability_error(const struct rb_stage_time *time, double p);

// Of the errors, what finer stage times may still settle.
struct rb_errors {
    double all, settled;
};
struct rb_errors rb_stage_errors(const struct rb_stage_time *time, double p);

// By what all of a plan's stage times err by.
double rb_plan_probability_error(const struct rb_stage_time *const *times, int n, double p);

// The same of P(sum of times <= deadline), nowhere above it. A sampled stage among others changes that probability by as much
// as theirs makes of it: where most of what varies is in the others, samples of this one hardly matter. Takes a sum of laws for
// every sampled stage.
// Source: Bernstein's inequality with the variance that the samples show, itself bounded by them (Maurer and Pontil, "Empirical
// Bernstein bounds and sample-variance penalization", COLT 2009, do so for any function between 0 and 1).
double rb_plan_probability_error_at(const struct rb_stage_time *const *times, int n, double deadline_s, double p);

#endif
