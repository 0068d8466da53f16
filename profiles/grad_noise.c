#include "profiles/grad_noise.h"

#include <assert.h>
#include <math.h>

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
    }
    assert(!"unknown rule");
    return 1.0;
}
