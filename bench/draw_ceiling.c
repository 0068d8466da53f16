// How many draws from a quantile table one core makes if it does nothing else: the look-up of simulator/sampler/sampler_lanes.h
// and an addition. What the sampler's rates are compared with.
//   draw_ceiling WORDS_OF_8     prints `draws N cpu_s S`
#include "profiles/fit/dist.h"
#include "simulator/sampler/sampler_lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double quantile(const void *ctx, double u)
{
    return rb_dist_quantile(ctx, u);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    static struct rb_sampler_table table;
    struct rb_dist d = {.kind = RB_DIST_LOGNORMAL, .mean = 1, .cv = 0.4};
    const long long n = argc > 1 ? atoll(argv[1]) : 100000000;
    if (n < 1 || !rb_dist_prepare(&d, NULL))
        return 2;
    rb_sampler_table_fill(&table, quantile, &d);
    struct lane_stream g = lane_stream_of(1, 0, 0);
    struct lanes sum = lanes_all(0);
    const double before_s = cpu_seconds();
    for (long long i = 0; i < n; i++)
        sum = lanes_add(sum, draw_lanes(&g, &table));
    const double cpu_s = cpu_seconds() - before_s;
    float sums[LANES];
    lanes_store(sums, sum);
    printf("draws %lld cpu_s %.9g checksum %.9g\n", n * LANES, cpu_s, (double)sums[0]);
    return 0;
}
