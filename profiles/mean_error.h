// How far a mean of few measurements may be from the true one.
#ifndef RB_PROFILES_MEAN_ERROR_H
#define RB_PROFILES_MEAN_ERROR_H

// variance: of the mean, over its square, estimated with `degrees` degrees of freedom (1 or more). Returns the standard
// error over the mean, times Student's 95 % quantile over the normal one, because the variance is an estimate too;
// at most 1. degrees 0: nothing is known of the variance, and 0 is returned: callers warn of it.
double rb_mean_error(double variance, int degrees);

#endif
