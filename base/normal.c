#include "base/normal.h"

#include <math.h>

#define LN_ROOT_2PI 0.91893853320467274178

double rb_normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

double rb_normal_log_density(double x)
{
    return -0.5 * x * x - LN_ROOT_2PI;
}

// z Phi(z) + phi(z) -> phi(z) / z^2 (1 - 3/z^2 + 15/z^4 - ...) as z -> -inf, where the sum itself cancels.
double rb_log_expected_improvement(double mean, double sd, double best)
{
    const double z = (mean - best) / sd;
    if (z >= -5)
        return log(sd) + log(z * rb_normal_cdf(z) + exp(rb_normal_log_density(z)));
    const double r = 1 / (z * z);
    return log(sd) + rb_normal_log_density(z) + log(r * (1 - r * (3 - r * (15 - r * (105 - 945 * r)))));
}
