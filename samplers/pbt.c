// Explores around a trial that is copied (scheduler.type: pbt). Each of its hyperparameters is drawn again with
// probability 1/4, else multiplied by 1.2 or 0.8 in its own unit: whole numbers and steps move by one at least, and
// nothing leaves its range. Choices have no neighbours and are drawn again. The first population fills the space evenly.
// Source: Jaderberg et al., "Population based training of neural networks", arXiv:1711.09846, section 4.1, "perturb" and
// "resample".
#include "samplers/samplers.h"

#include "samplers/draws.h"

#include <math.h>
#include <stdlib.h>

#define RESAMPLE 0.25
#define UP       1.2
#define DOWN     0.8

struct pbt {
    struct rb_sampler_setup setup;
    struct rb_quasi *points;
    double *moved; // [coordinates->n]
};

static bool pbt_create(const struct rb_sampler_setup *setup, const double *options, void **out_state,
                       struct rb_err *err)
{
    (void)options;
    (void)err;
    struct pbt *p = rb_xcalloc(1, sizeof *p);
    p->setup = *setup;
    p->points = rb_quasi_new(setup->coordinates->n, setup->seed);
    p->moved = rb_xcalloc((size_t)setup->coordinates->n + 1, sizeof *p->moved);
    *out_state = p;
    return true;
}

static void pbt_destroy(void *state)
{
    struct pbt *p = state;
    if (!p)
        return;
    rb_quasi_free(p->points);
    free(p->moved);
    free(p);
}

// The distance between neighbours; 0: there is no smallest.
static double step_of(const struct rb_param *p)
{
    return p->kind == RB_PARAM_INT_UNIFORM ? 1 : p->kind == RB_PARAM_Q_UNIFORM ? p->q : 0;
}

static double move(const struct rb_param *p, double x, bool up)
{
    const double to = x * (up ? UP : DOWN), step = step_of(p);
    if (fabs(to - x) >= step)
        return to;
    return up ? x + step : x - step;
}

// Of every numeric parameter that applies, its neighbour.
static void move_all(struct pbt *p, const double *u, struct rb_stream *random, struct rb_value *values)
{
    const struct rb_coordinates *c = p->setup.coordinates;
    rb_coordinates_values(c, u, values);
    for (int i = 0; i < c->n; i++) {
        struct rb_value *v = &values[c->items[i].param];
        const bool up = rb_stream_uniform(random) < 0.5;
        if (v->kind == RB_VALUE_INT || v->kind == RB_VALUE_FLOAT)
            v->number = c->items[i].is_choice ? v->number : move(&c->space->params[c->items[i].param], v->number, up);
    }
    rb_coordinates_of(c, values, p->moved);
}

static void explore(struct pbt *p, const double *u, int clone, struct rb_arena *arena, double *out)
{
    const struct rb_coordinates *c = p->setup.coordinates;
    struct rb_value *values = rb_arena_array(arena, (size_t)c->space->n_params + 1, sizeof *values);
    struct rb_stream random;
    rb_draws_init(&random, p->setup.seed, RB_FOR_PROPOSAL, (uint32_t)clone);
    move_all(p, u, &random, values);
    for (int i = 0; i < c->n; i++) {
        const bool again = rb_stream_uniform(&random) < RESAMPLE;
        const double draw = rb_stream_uniform(&random);
        out[i] = again || c->items[i].is_choice || isnan(u[i]) ? draw : p->moved[i];
    }
    rb_coordinates_settle(c, out);
}

static void pbt_propose(void *state, const struct rb_history *history, const struct rb_ask *ask, struct rb_arena *arena,
                        struct rb_proposal *out)
{
    struct pbt *p = state;
    const int place = ask->parent >= 0 ? rb_history_place_of(history, ask->parent) : -1;
    if (place < 0) {
        rb_quasi_point(p->points, (uint32_t)ask->trial, out->u);
        rb_coordinates_settle(p->setup.coordinates, out->u);
        out->origin = "start";
        out->reason = "a member of the first population; points that fill the space evenly";
        return;
    }
    explore(p, history->trials[place].u, ask->trial, arena, out->u);
    out->reason = rb_arena_printf(arena, "explores around trial %d, whose checkpoint it goes on from", ask->parent);
}

const struct rb_sampler rb_sampler_pbt = {
    .name = "pbt",
    .summary = "multiplies the hyperparameters of a copied trial by 1.2 or 0.8 (scheduler.type: pbt)",
    .create = pbt_create,
    .destroy = pbt_destroy,
    .propose = pbt_propose,
};
