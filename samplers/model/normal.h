// The standard normal distribution, and scores by it.
#ifndef RB_SAMPLERS_NORMAL_H
#define RB_SAMPLERS_NORMAL_H

#include "base/arena.h"

double rb_normal_cdf(double x);
double rb_normal_quantile(double p); // p in (0, 1)
double rb_normal_log_density(double x);

// A normal truncated to [0,1]: the mass that the whole one has there, and its quantile.
double rb_truncated_mass(double mu, double sd);
double rb_truncated_quantile(double mu, double sd, double p);

// ln of the expected improvement sd (z Phi(z) + phi(z)), z = (mean - best) / sd; by its asymptote where z < -5.
double rb_log_expected_improvement(double mean, double sd, double best);

// Normal scores Phi^-1((rank - 1/2) / n) of values, where higher is better; equal values share their mean rank, and
// -INFINITY is worst. out [n].
void rb_normal_scores(const double *values, int n, struct rb_arena *arena, double *out);

#endif
