// Chooses a family of distributions for a sample by likelihood (AIC), and reports how well it fits.
#ifndef RB_PROFILES_DIST_FIT_H
#define RB_PROFILES_DIST_FIT_H

#include "base/arena.h"
#include "profiles/fit/dist.h"

struct rb_dist_fit {
    struct rb_dist dist;
    int n;                  // sample size
    double log_likelihood;  // of the chosen family
    double aic;
    double ks;              // Kolmogorov-Smirnov distance
    double ks_p;            // its p-value (optimistic: parameters were estimated)
    bool poor;              // ks_p < 0.05 with n >= 20: the empirical distribution is used instead
};

// Candidates: lognormal, gamma, Weibull, exponential; all-equal samples become constant; fewer than 3 values become an
// empirical distribution, not the constant of their mean. dist.relative_error is the standard error of the mean; 0 for
// a single value, whose error is unknown. Values must be finite and > 0.
bool rb_dist_fit(const double *values, int n, struct rb_arena *arena, struct rb_dist_fit *out, struct rb_err *err);
// The same for latencies in seconds, some of which may be 0: shorter than the clock's microsecond, and counted as one.
// All 0: the constant 0.
bool rb_dist_fit_latency(const double *seconds, int n, struct rb_arena *arena, struct rb_dist_fit *out,
                         struct rb_err *err);

// How far a mean of few measurements may be from the true one. variance: of the mean, over its square, estimated with `degrees`
// degrees of freedom (1 or more). Returns the standard error over the mean, times Student's 95 % quantile over the normal one,
// because the variance is an estimate too; at most 1. degrees 0: nothing is known of the variance, and 0 is returned: callers
// warn of it.
double rb_mean_error(double variance, int degrees);

#endif
