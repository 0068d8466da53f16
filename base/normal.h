// The standard normal distribution.
#ifndef RB_BASE_NORMAL_H
#define RB_BASE_NORMAL_H

double rb_normal_cdf(double x);
double rb_normal_log_density(double x);

// ln of the expected improvement sd (z Phi(z) + phi(z)), z = (mean - best) / sd; by its asymptote where z < -5. sd > 0.
double rb_log_expected_improvement(double mean, double sd, double best);

#endif
