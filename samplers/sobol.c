// Quasi-random search: points that fill the space more evenly than independent draws, and learn nothing.
// Source: Bratley and Fox, "Algorithm 659", ACM TOMS 14 (1988), as in GSL.
#include "samplers/samplers.h"

#include "samplers/draws.h"

#include <stdlib.h>

struct sobol {
    struct rb_sampler_setup setup;
    struct rb_quasi *points;
};

static bool sobol_create(const struct rb_sampler_setup *setup, const double *options, void **out_state,
                         struct rb_err *err)
{
    (void)options;
    (void)err;
    struct sobol *s = rb_xcalloc(1, sizeof *s);
    s->setup = *setup;
    s->points = rb_quasi_new(setup->coordinates->n, setup->seed);
    *out_state = s;
    return true;
}

static void sobol_destroy(void *state)
{
    struct sobol *s = state;
    if (!s)
        return;
    rb_quasi_free(s->points);
    free(s);
}

static void sobol_propose(void *state, const struct rb_history *history, const struct rb_ask *ask,
                          struct rb_arena *arena, struct rb_proposal *out)
{
    (void)history;
    (void)arena;
    struct sobol *s = state;
    rb_quasi_point(s->points, (uint32_t)ask->trial, out->u);
    rb_coordinates_settle(s->setup.coordinates, out->u);
    out->reason = "the next point of a sequence that fills the space evenly";
}

const struct rb_sampler rb_sampler_sobol = {
    .name = "sobol",
    .summary = "points that fill the space evenly (Sobol, above 40 parameters Halton)",
    .create = sobol_create,
    .destroy = sobol_destroy,
    .propose = sobol_propose,
};
