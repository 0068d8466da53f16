#include "samplers/model/normal.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

double rb_normal_quantile(double p)
{
    return gsl_cdf_ugaussian_Pinv(p);
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

double rb_normal_score_correlation(const double *a, const double *b, int n)
{
    double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < n; i++) {
        ab += a[i] * b[i];
        aa += a[i] * a[i];
        bb += b[i] * b[i];
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}
