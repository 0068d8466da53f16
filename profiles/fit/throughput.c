// The throughput model; throughput_fit.c fits it.
#include "profiles/fit/throughput.h"

#include <assert.h>
#include <math.h>

// Beyond two GPUs every further one adds to the synchronisation; the published model keeps this floor at two.
#define MIN_EXTRA_GPUS 1e-8

double rb_throughput_grad_s(const struct rb_throughput *t, double local_batch)
{
    return t->alpha_c + t->beta_c * local_batch;
}

double rb_throughput_sync_s(const struct rb_throughput *t, int nodes, int gpus)
{
    const double extra_gpus = fmax(gpus - 2, MIN_EXTRA_GPUS);
    if (gpus == 1)
        return 0.0;
    return nodes == 1 ? t->alpha_r + t->beta_r * extra_gpus : t->alpha_n + t->beta_n * extra_gpus;
}

// (a^p + b^p)^(1/p) for a, b >= 0; the larger is taken out so that neither power over- or underflows.
static double power_sum(double a, double b, double p)
{
    const double large = fmax(a, b), small = fmin(a, b);
    return large > 0 ? large * pow(1.0 + pow(small / large, p), 1.0 / p) : 0.0;
}

double rb_throughput_iter_s(const struct rb_throughput *t, int nodes, int gpus, double local_batch, int accumulation)
{
    assert(nodes >= 1 && gpus >= nodes && accumulation >= 0);
    const double grad_s = rb_throughput_grad_s(t, local_batch);
    return accumulation * grad_s + power_sum(grad_s, rb_throughput_sync_s(t, nodes, gpus), t->gamma);
}
