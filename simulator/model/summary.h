// Statistics of simulated runs, used by every sampled estimate.
#ifndef RB_SIMULATOR_SUMMARY_H
#define RB_SIMULATOR_SUMMARY_H

#include "engine/plan/plan.h"

// Quantile q is the smallest value with at least q of the sample at or below it.
struct rb_quantiles rb_quantiles_of(const int64_t *values, int n);

// Estimate from n runs, samples = n: quantiles, probabilities, standard errors, and errors at 99.9 %. -1: no such
// limit. The caller sets the methods.
struct rb_estimate rb_estimate_of_runs(const int64_t *time_us, const int64_t *cost_uusd, int n, int64_t deadline_us,
                                       int64_t budget_uusd);

// Updates only what depends on the limits, in an estimate from the same runs: probabilities, their standard errors and
// errors.
void rb_estimate_count(const int64_t *time_us, const int64_t *cost_uusd, int n, int64_t deadline_us,
                       int64_t budget_uusd, struct rb_estimate *e);

// Number of the n runs that keep both limits. -1: no such limit.
int rb_count_kept(const int64_t *time_us, const int64_t *cost_uusd, int n, int64_t deadline_us, int64_t budget_uusd);

// Mean and standard error of a[i] - b[i] over n >= 1 runs with common draws.
struct rb_difference {
    double mean, stderr_;
};
struct rb_difference rb_difference_of(const int64_t *a, const int64_t *b, int n);

// Bound at 99.9 % on the distance between the share of n independent runs and its probability (Wilson's interval, valid
// also if all runs or none hit).
double rb_share_error(double share, int64_t n);
// Bound at 99.9 % on the error of a mean, in its standard errors.
#define RB_SURE_SIGMA 3.2905267314919255

#endif
