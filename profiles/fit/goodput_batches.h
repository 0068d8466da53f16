// Lists the batch sizes that are tried on a number of GPUs: RB_N_TOTALS totals in geometric steps between the smallest and the
// largest that the job allows, each split into samples per GPU and accumulated gradients.
// Source: Pollux's released GoodputFunction.optimize.
#ifndef RB_PROFILES_GOODPUT_BATCHES_H
#define RB_PROFILES_GOODPUT_BATCHES_H

enum { RB_N_TOTALS = 50 };

struct rb_batch_limits {
    int initial;                  // M0: total batch the hyperparameters are meant for; the smallest one allowed
    int max;                      // M_max: largest total, >= initial
    int min_per_gpu, max_per_gpu; // m_min >= 1, m_max: samples of one gradient on one GPU
};

struct rb_batch {
    int per_gpu;      // m
    int accumulation; // s: gradients before the one that steps
};

// Samples per step. A double, because K m (s + 1) of odd limits may exceed 2^31.
double rb_batch_total(const struct rb_batch *b, int gpus);

// Reduces the samples per GPU until the total is within the largest one: rounding up to whole samples may have exceeded
// it. A training run starts with this batch; the model is queried without the reduction.
struct rb_batch rb_batch_within(const struct rb_batch_limits *limits, int gpus, struct rb_batch b);

// The batches to try on `gpus` GPUs, totals ascending, all different. Returns their number: 0 if none fits.
int rb_batch_candidates(const struct rb_batch_limits *limits, int gpus, struct rb_batch out[RB_N_TOTALS]);

// The same lists, made once for every number of GPUs up to max_gpus. Immutable.
struct rb_goodput_batches *rb_goodput_batches_create(const struct rb_batch_limits *limits, int max_gpus);
void rb_goodput_batches_destroy(struct rb_goodput_batches *b);
// NULL: beyond max_gpus. *out_n: their number.
const struct rb_batch *rb_goodput_batches_of(const struct rb_goodput_batches *b, int gpus, int *out_n);

#endif
