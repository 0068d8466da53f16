#include "samplers/model/normal.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#define LN_ROOT_2PI 0.91893853320467274178

double rb_normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

double rb_normal_quantile(double p)
{
    return gsl_cdf_ugaussian_Pinv(p);
}

double rb_normal_log_density(double x)
{
    return -0.5 * x * x - LN_ROOT_2PI;
}

// Beyond 8.3 standard deviations nothing is left in double precision.
double rb_truncated_mass(double mu, double sd)
{
    const double below = mu / sd, above = (1 - mu) / sd;
    return (above > 8.3 ? 1 : rb_normal_cdf(above)) - (below > 8.3 ? 0 : rb_normal_cdf(-below));
}

double rb_truncated_quantile(double mu, double sd, double p)
{
    const double low = rb_normal_cdf(-mu / sd), at = low + p * (rb_normal_cdf((1 - mu) / sd) - low);
    const double u = at > 0 && at < 1 ? mu + sd * rb_normal_quantile(at) : mu;
    return fmax(0, fmin(1, u));
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

struct ranked {
    double value;
    int index;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value ? 1 : (x->index > y->index) - (x->index < y->index);
}

void rb_normal_scores(const double *values, int n, struct rb_arena *arena, double *out)
{
    struct ranked *order = rb_arena_array(arena, (size_t)n, sizeof *order);
    for (int i = 0; i < n; i++)
        order[i] = (struct ranked){values[i], i};
    qsort(order, (size_t)n, sizeof *order, compare_ranked);
    for (int first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && order[end].value == order[first].value; end++)
            ;
        const double score = rb_normal_quantile((first + end) / 2.0 / n);
        for (int i = first; i < end; i++)
            out[order[i].index] = score;
    }
}
