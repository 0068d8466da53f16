#include "samplers/samplers.h"

#include <stddef.h>
#include <string.h>

const struct rb_sampler *const rb_samplers[] = {
    &rb_sampler_bohb,
    &rb_sampler_de,
    &rb_sampler_gp,
    &rb_sampler_grid,
    &rb_sampler_pbt,
    &rb_sampler_random,
    &rb_sampler_sobol,
    &rb_sampler_tpe,
    NULL,
};

const struct rb_sampler *rb_sampler_find(const char *name)
{
    for (int i = 0; name && rb_samplers[i]; i++)
        if (strcmp(rb_samplers[i]->name, name) == 0)
            return rb_samplers[i];
    return NULL;
}
