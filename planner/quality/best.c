#include "planner/quality/best.h"

#include "planner/quality/drawn.h"

#include "base/arena.h"
#include "base/order.h"
#include "samplers/model/normal.h"

#include <math.h>
#include <stdlib.h>

static struct rb_band quantiles_of(const double *sorted, int n)
{
    return (struct rb_band){.low = sorted[(int)(0.05 * n)], .median = sorted[n / 2], .high = sorted[(int)(0.95 * n)]};
}

static double mean_of(const double *values, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return sum / n;
}

static struct rb_band band_of(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, rb_order_doubles);
    struct rb_band band = quantiles_of(values, n);
    band.mean = mean_of(values, n);
    return band;
}

// z in the order of draws. values: room for n.
static struct rb_band metrics_of(const struct rb_quality_law *law, const double *z, int n, double *values)
{
    const double sign = law->goal == RB_GOAL_MINIMIZE ? -1 : 1;
    int beyond = 0;
    if (!rb_quality_knows_metrics(law))
        return (struct rb_band){NAN, NAN, NAN, NAN};
    for (int k = 0; k < n; k++) {
        values[k] = sign * rb_quality_metric(law, z[k], k);
        beyond += rb_quality_is_beyond(law, z[k], k);
    }
    const struct rb_band s = band_of(values, n);
    const bool open = beyond > 0.05 * n;
    return (struct rb_band){open ? NAN : sign * s.mean, sign * s.low, sign * s.median, open ? NAN : sign * s.high};
}

static void summarise(const struct rb_quality_law *law, double *z, int n, struct rb_best *out)
{
    double *values = rb_xcalloc((size_t)n, sizeof *values);
    out->metric = metrics_of(law, z, n, values);
    for (int k = 0; k < n; k++)
        values[k] = rb_normal_cdf(z[k]);
    out->better_than = band_of(values, n);
    out->z = band_of(z, n);
    free(values);
}

void rb_best_expect(const struct rb_quality_law *law, const struct rb_search_shape *shape, uint64_t seed, int draws,
                    struct rb_best *out)
{
    struct rb_drawn d;
    const int trials = rb_search_shape_trials(shape);
    const int n = draws > RB_BEST_MOST / trials ? RB_BEST_MOST / trials : draws;
    double *best = rb_xcalloc((size_t)n, sizeof *best);
    rb_drawn_init(&d, law, shape, seed);
    for (int k = 0; k < n; k++)
        best[k] = rb_drawn_play(&d, (uint32_t)k, NULL, NULL);
    summarise(law, best, n, out);
    rb_drawn_finish(&d);
    free(best);
}
