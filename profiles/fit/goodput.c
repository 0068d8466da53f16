#include "profiles/fit/goodput.h"

#include <math.h>
#include <stddef.h>

// The bound below is proved for real numbers; this much covers the rounding of both sides.
#define BOUND_SLACK 1e-9

double rb_goodput_at(const struct rb_goodput *g, int nodes, int gpus, const struct rb_batch *batch)
{
    const double total = rb_batch_total(batch, gpus);
    const double iter_s = rb_throughput_iter_s(&g->throughput, nodes, gpus, batch->per_gpu, batch->accumulation);
    return total / iter_s * rb_grad_noise_efficiency(&g->noise, total / g->limits.initial);
}

// An upper bound of the goodput without a power: the gamma-norm of two times is at least the larger one, and at least
// their sum times 2^(1/gamma - 1) (power means ascend with their exponent).
static double bound_at(const struct rb_goodput *g, int gpus, double sync_s, double mean_factor,
                       const struct rb_batch *batch)
{
    const double total = rb_batch_total(batch, gpus), grad_s = rb_throughput_grad_s(&g->throughput, batch->per_gpu);
    const double last_s = fmax(fmax(grad_s, sync_s), (grad_s + sync_s) * mean_factor);
    const double iter_s = batch->accumulation * grad_s + last_s;
    return total / iter_s * rb_grad_noise_efficiency(&g->noise, total / g->limits.initial) * (1 + BOUND_SLACK);
}

// The largest of the candidates. Evaluates only those whose bound is not below the best so far: the one with the
// largest bound first, then the others in order.
static int best_of(const struct rb_goodput *g, int nodes, int gpus, const struct rb_batch *batches, int n,
                   double *out_value)
{
    const double sync_s = rb_throughput_sync_s(&g->throughput, nodes, gpus);
    const double mean_factor = exp2(1 / g->throughput.gamma - 1);
    double bounds[RB_N_TOTALS];
    int best = 0;
    for (int i = 0; i < n; i++) {
        bounds[i] = bound_at(g, gpus, sync_s, mean_factor, &batches[i]);
        best = bounds[i] > bounds[best] ? i : best;
    }
    const int first = best;
    double best_value = rb_goodput_at(g, nodes, gpus, &batches[best]);
    for (int i = 0; i < n; i++) {
        if (i == first || bounds[i] < best_value)
            continue;
        const double value = rb_goodput_at(g, nodes, gpus, &batches[i]);
        if (value > best_value || (value >= best_value && i < best)) {
            best_value = value;
            best = i;
        }
    }
    *out_value = best_value;
    return best;
}

double rb_goodput_best(const struct rb_goodput *g, int nodes, int gpus, struct rb_batch *out)
{
    struct rb_batch listed[RB_N_TOTALS];
    int n;
    const struct rb_batch *batches = g->batches ? rb_goodput_batches_of(g->batches, gpus, &n) : NULL;
    if (!batches) {
        n = rb_batch_candidates(&g->limits, gpus, listed);
        batches = listed;
    }
    if (n == 0)
        return 0;
    double value;
    *out = batches[best_of(g, nodes, gpus, batches, n, &value)];
    return value;
}
