#include "profiles/fit/grad_noise.h"

#include <assert.h>
#include <math.h>

#define SMOOTHING 0.999 // per step of the initial batch, as published
#define MIN_VAR   1e-6  // as published: gradients without any noise would allow any batch

double rb_grad_noise_gain(const struct rb_grad_noise *g, double scale)
{
    const double noise = g->var / scale + g->sqr;
    return noise > 0 ? (g->var + g->sqr) / noise : 1.0;
}

double rb_grad_noise_efficiency(const struct rb_grad_noise *g, double scale)
{
    return rb_grad_noise_gain(g, scale) / scale;
}

double rb_grad_noise_scale(const struct rb_grad_noise *g, double initial_batch)
{
    return g->sqr > 0 ? initial_batch * g->var / g->sqr : INFINITY;
}

double rb_lr_factor(enum rb_lr_scaling rule, const struct rb_grad_noise *g, double scale)
{
    switch (rule) {
    case RB_LR_ADASCALE:
        return g ? rb_grad_noise_gain(g, scale) : 1.0;
    case RB_LR_SQRT:
        return sqrt(scale);
    case RB_LR_LINEAR:
        return scale;
    case RB_LR_UNSCALED:
        return 1.0;
    }
    assert(!"unknown rule");
    return 1.0;
}

// ---- measuring it

void rb_grad_noise_mean_add(struct rb_grad_noise_mean *m, const struct rb_grad_noise *step, double scale)
{
    const double kept = pow(SMOOTHING, scale);
    m->sqr = kept * m->sqr + (1 - kept) * step->sqr;
    m->var = kept * m->var + (1 - kept) * step->var;
    m->weight = kept * m->weight + (1 - kept);
}

bool rb_grad_noise_mean_get(const struct rb_grad_noise_mean *m, struct rb_grad_noise *out)
{
    if (!(m->weight > 0))
        return false;
    *out = (struct rb_grad_noise){.sqr = fmax(m->sqr / m->weight, 0), .var = fmax(m->var / m->weight, MIN_VAR)};
    return true;
}
