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

static struct rb_band map_band(const struct rb_quality_law *law, const struct rb_band *z,
                               double (*to)(const struct rb_quality_law *law, double z))
{
    return (struct rb_band){.low = to(law, z->low), .median = to(law, z->median), .high = to(law, z->high)};
}

static double better_than(const struct rb_quality_law *law, double z)
{
    (void)law;
    return rb_normal_cdf(z);
}

static void summarise(const struct rb_quality_law *law, double *z, int n, struct rb_best *out)
{
    double sum[3] = {0};
    qsort(z, (size_t)n, sizeof *z, rb_order_doubles);
    for (int i = 0; i < n; i++) {
        sum[0] += z[i];
        sum[1] += better_than(law, z[i]);
        sum[2] += rb_quality_metric(law, z[i]);
    }
    out->z = quantiles_of(z, n);
    out->better_than = map_band(law, &out->z, better_than);
    out->metric = map_band(law, &out->z, rb_quality_metric);
    out->z.mean = sum[0] / n;
    out->better_than.mean = sum[1] / n;
    out->metric.mean = sum[2] / n;
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
