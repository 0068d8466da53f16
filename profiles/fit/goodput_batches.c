#include "profiles/fit/goodput_batches.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

// As published: a local batch this little above a whole number is that number.
#define ROUNDING 1e-8

struct rb_goodput_batches {
    int max_gpus;
    int *first;               // of the candidates on K GPUs: first[K] .. first[K + 1] - 1, [max_gpus + 2]
    struct rb_batch *batches; // [first[max_gpus + 1]]
};

double rb_batch_total(const struct rb_batch *b, int gpus)
{
    return (double)gpus * b->per_gpu * (b->accumulation + 1);
}

struct rb_batch rb_batch_within(const struct rb_batch_limits *limits, int gpus, struct rb_batch b)
{
    while (b.accumulation > 0 && (long long)gpus * (b.accumulation + 1) > limits->max)
        b.accumulation--; // not even one sample for each gradient
    const int largest = (int)(limits->max / ((long long)gpus * (b.accumulation + 1)));
    b.per_gpu = b.per_gpu < largest ? b.per_gpu : largest;
    return b;
}

// The arithmetic of numpy's geomspace, operation by operation: near a whole number the last bit decides a ceiling.
static void space_geometrically(double from, double to, double out[RB_N_TOTALS])
{
    const double start = log10(from), step = (log10(to) - start) / (RB_N_TOTALS - 1);
    for (int i = 1; i < RB_N_TOTALS - 1; i++)
        out[i] = pow(10.0, i * step + start);
    out[0] = from;
    out[RB_N_TOTALS - 1] = to;
}

static struct rb_batch split(const struct rb_batch_limits *limits, int gpus, double total)
{
    const double local = total / gpus;
    double accumulation = ceil(local / limits->max_per_gpu - ROUNDING) - 1;
    if (gpus == 1 && local > limits->initial + ROUNDING)
        accumulation = fmax(accumulation, 1); // a single gradient would not show its noise
    accumulation = fmax(accumulation, 0);
    return (struct rb_batch){.per_gpu = (int)ceil(local / (accumulation + 1) - ROUNDING),
                             .accumulation = (int)accumulation};
}

int rb_batch_candidates(const struct rb_batch_limits *limits, int gpus, struct rb_batch out[RB_N_TOTALS])
{
    assert(limits->initial >= 1 && limits->max >= limits->initial && gpus >= 1);
    assert(limits->min_per_gpu >= 1 && limits->max_per_gpu >= limits->min_per_gpu);
    const double smallest = fmax(limits->initial, (double)limits->min_per_gpu * gpus);
    if (smallest > limits->max)
        return 0;
    double totals[RB_N_TOTALS];
    space_geometrically(smallest, limits->max, totals);
    int n = 0;
    for (int i = 0; i < RB_N_TOTALS; i++) {
        const struct rb_batch b = split(limits, gpus, totals[i]);
        const bool allowed = b.per_gpu >= limits->min_per_gpu && b.per_gpu <= limits->max_per_gpu;
        const bool seen = n > 0 && out[n - 1].per_gpu == b.per_gpu && out[n - 1].accumulation == b.accumulation;
        if (allowed && !seen)
            out[n++] = b;
    }
    return n;
}

struct rb_goodput_batches *rb_goodput_batches_create(const struct rb_batch_limits *limits, int max_gpus)
{
    assert(max_gpus >= 1);
    struct rb_goodput_batches *b = rb_xcalloc(1, sizeof(*b));
    b->max_gpus = max_gpus;
    b->first = rb_xcalloc((size_t)max_gpus + 2, sizeof(*b->first));
    b->batches = rb_xcalloc((size_t)max_gpus * RB_N_TOTALS, sizeof(*b->batches));
    for (int gpus = 1; gpus <= max_gpus; gpus++) {
        struct rb_batch *at = &b->batches[b->first[gpus]];
        b->first[gpus + 1] = b->first[gpus] + rb_batch_candidates(limits, gpus, at);
    }
    return b;
}

void rb_goodput_batches_destroy(struct rb_goodput_batches *b)
{
    if (b) {
        free(b->batches);
        free(b->first);
        free(b);
    }
}

const struct rb_batch *rb_goodput_batches_of(const struct rb_goodput_batches *b, int gpus, int *out_n)
{
    assert(gpus >= 1);
    if (gpus > b->max_gpus)
        return NULL;
    *out_n = b->first[gpus + 1] - b->first[gpus];
    return &b->batches[b->first[gpus]];
}
