// Every combination of the declared values once, in an order that the seed shuffles: whatever part of them is tried, it is
// spread over all. scheduler.type: grid trains them in the file's order, and each to the end.
#include "samplers/samplers.h"

#include "base/limits.h"
#include "samplers/draws.h"

#include <stdlib.h>

struct grid {
    const struct rb_coordinates *coordinates;
    int *order; // of the points, [n]
    int n;
};

static void shuffle(struct grid *g, uint64_t seed)
{
    struct rb_stream random;
    rb_draws_init(&random, seed, RB_FOR_PROPOSAL, 0);
    for (int i = 0; i < g->n; i++) {
        const int other = (int)rb_stream_below(&random, (uint64_t)i + 1);
        g->order[i] = g->order[other];
        g->order[other] = i;
    }
}

static bool grid_create(const struct rb_sampler_setup *setup, const double *options, void **out_state, struct rb_err *err)
{
    (void)options;
    int64_t n;
    if (!rb_space_grid_size(setup->coordinates->space, &n, err))
        return false;
    if (n > RB_LIMIT_TRIALS)
        return rb_err_set(err, RB_E_SCHEDULER_SIZE,
                          "scheduler.sampler: grid: the parameters have %lld combinations, at most %d can be trained; give "
                          "fewer values, or choose sobol",
                          (long long)n, RB_LIMIT_TRIALS);
    struct grid *g = rb_xcalloc(1, sizeof *g);
    *g = (struct grid){.coordinates = setup->coordinates, .order = rb_xcalloc((size_t)n, sizeof *g->order), .n = (int)n};
    shuffle(g, setup->seed);
    *out_state = g;
    return true;
}

static void grid_destroy(void *state)
{
    struct grid *g = state;
    if (!g)
        return;
    free(g->order);
    free(g);
}

// A search with more trials than combinations repeats them.
static void grid_propose(void *state, const struct rb_history *history, const struct rb_ask *ask, struct rb_arena *arena,
                         struct rb_proposal *out)
{
    (void)history;
    const struct grid *g = state;
    const struct rb_space *space = g->coordinates->space;
    struct rb_value *values = rb_arena_array(arena, (size_t)space->n_params + 1, sizeof *values);
    rb_space_grid_point(space, g->order[ask->trial % g->n], values);
    rb_coordinates_of(g->coordinates, values, out->u);
    out->reason = rb_arena_printf(arena, "combination %d of %d%s", ask->trial % g->n + 1, g->n,
                                  ask->trial >= g->n ? ", again" : "");
}

const struct rb_sampler rb_sampler_grid = {
    .name = "grid",
    .summary = "every combination of the declared values, in an order that the seed shuffles",
    .create = grid_create,
    .destroy = grid_destroy,
    .propose = grid_propose,
};
