// How noisy a training job's gradients are, and what that says about large batches.
// With |E g|^2 = sqr and the trace of the gradient's covariance at the initial batch M0 = var, a step with batch M does
// the work of gain(M) steps with M0, and each of its samples is worth gain(M) / (M / M0) of one.
// Sources: Pollux (OSDI'21), section 3.1; AdaScale (ICML'20); McCandlish et al., arXiv:1812.06162, appendix A.
#ifndef RB_PROFILES_GRAD_NOISE_H
#define RB_PROFILES_GRAD_NOISE_H

#include <stdbool.h>

struct rb_grad_noise {
    double sqr; // squared length of the true gradient
    double var; // trace of the covariance of a gradient over M0 samples
};

// Steps with the initial batch that one step with `scale` times that batch is worth: 1 .. scale. scale = M / M0 >= 1.
double rb_grad_noise_gain(const struct rb_grad_noise *g, double scale);
// Progress per sample, against the initial batch: (0, 1].
double rb_grad_noise_efficiency(const struct rb_grad_noise *g, double scale);
// Pre-conditioned gradient noise scale, in samples: the batch at which a sample is worth about half. INFINITY where
// sqr is 0.
double rb_grad_noise_scale(const struct rb_grad_noise *g, double initial_batch);

// How the learning rate follows the batch.
enum rb_lr_scaling {
    RB_LR_ADASCALE, // times the gain
    RB_LR_SQRT,     // times sqrt(M / M0)
    RB_LR_LINEAR,   // times M / M0
    RB_LR_UNSCALED, // not at all
};

// What to multiply the learning rate tuned for M0 with. g: NULL where nothing is known yet; AdaScale then takes 1.
double rb_lr_factor(enum rb_lr_scaling rule, const struct rb_grad_noise *g, double scale);

// ---- measuring it

// The gradients of one step: of each replica and each accumulated gradient, and their mean.
struct rb_grad_norms {
    int count;          // gradients, >= 2: K (s + 1)
    double mean_of_sqr; // mean of |g_k|^2
    double sqr_of_mean; // |mean of g_k|^2
    double scale;       // M / M0 of the whole step
};

// Unbiased, so either may come out negative by chance: averages are what to use.
struct rb_grad_noise rb_grad_noise_of_step(const struct rb_grad_norms *n);

// Where a step has one gradient only (one GPU, nothing accumulated): two steps in a row, taken as replicas of each other.
// The squared lengths of both gradients and of their sum; scale: M / M0 of one of them.
struct rb_grad_norms rb_grad_norms_of_pair(double sqr_1, double sqr_2, double sqr_of_sum, double scale);

// Mean over the steps of a training run: exponential, with a memory of 1000 steps of the initial batch, and without the
// bias of its beginning.
struct rb_grad_noise_mean {
    double sqr, var; // weighted sums
    double weight;   // of all steps so far, 0: none yet
    bool of_pairs;   // made of pairs, which differ by the step between them too
};

// scale: of the norms `step` was made of. of_pair: they were of rb_grad_norms_of_pair; the first step with gradients of
// its own drops what pairs have told.
void rb_grad_noise_mean_add(struct rb_grad_noise_mean *m, const struct rb_grad_noise *step, double scale, bool of_pair);
// false, *out untouched: nothing was added yet. Never negative.
bool rb_grad_noise_mean_get(const struct rb_grad_noise_mean *m, struct rb_grad_noise *out);

#endif
