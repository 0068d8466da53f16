// Source: Student (1908), "The probable error of a mean".
#include "profiles/mean_error.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#define LEVEL 0.95 // what is shown and judged of a prediction: p5 and p95

double rb_mean_error(double variance, int degrees)
{
    if (degrees < 1 || !(variance > 0))
        return 0;
    const double wider = gsl_cdf_tdist_Pinv(LEVEL, degrees) / gsl_cdf_ugaussian_Pinv(LEVEL);
    return fmin(1, sqrt(variance) * wider);
}
