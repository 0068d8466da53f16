// Describes the noise of a training job's gradients, and computes its effect on large batches.
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

// How the learning rate scales with the batch.
enum rb_lr_scaling {
    RB_LR_ADASCALE, // times the gain
    RB_LR_SQRT,     // times sqrt(M / M0)
    RB_LR_LINEAR,   // times M / M0
    RB_LR_UNSCALED, // unchanged
};

// The factor for the learning rate tuned for M0. g: NULL while it is unknown; AdaScale then takes 1.
double rb_lr_factor(enum rb_lr_scaling rule, const struct rb_grad_noise *g, double scale);

// ---- measuring it

// Mean over the steps of a training run: exponential, with a memory of 1000 steps of the initial batch, and without the
// bias of its beginning.
struct rb_grad_noise_mean {
    double sqr, var; // weighted sums
    double weight;   // of all steps so far, 0: none yet
};

// step: its noise, unbiased, so either number may be negative by chance; scale: M / M0 of that step.
void rb_grad_noise_mean_add(struct rb_grad_noise_mean *m, const struct rb_grad_noise *step, double scale);
// false, *out untouched: nothing was added yet. Never negative.
bool rb_grad_noise_mean_get(const struct rb_grad_noise_mean *m, struct rb_grad_noise *out);

#endif
