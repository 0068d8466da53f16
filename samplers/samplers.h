// Declares every sampler; only samplers.c refers to them by name.
#ifndef RB_SAMPLERS_SAMPLERS_H
#define RB_SAMPLERS_SAMPLERS_H

#include "samplers/sampler.h"

extern const struct rb_sampler rb_sampler_bohb, rb_sampler_de, rb_sampler_gp, rb_sampler_grid, rb_sampler_pbt, rb_sampler_random,
    rb_sampler_sobol, rb_sampler_tpe;

#endif
