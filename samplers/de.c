// Differential evolution with a population for every level: a new trial recombines configurations that did well one
// level below where it will first be compared, and replaces a member of its level's population if it is better. With
// hyperband's brackets this is DEHB. Parents are combined as rand/1/bin.
// Source: Awad, Mallik, Hutter, "DEHB", IJCAI'21; Storn and Price, J. Global Optimization 11 (1997).
#include "samplers/samplers.h"

#include "samplers/draws.h"

#include <math.h>
#include <stdlib.h>

#define SCALE     0.5 // F
#define CROSSOVER 0.5 // CR
#define N_PARENTS 3

enum { POPULATION, N_RULES };
static const struct rb_setting_rule rules[N_RULES] = {
    [POPULATION] = {.key = "population",
                    .kind = RB_SETTING_INT,
                    .min = 4,
                    .max = 1000,
                    .fallback = 10,
                    .summary = "members at each level"},
};

struct de {
    struct rb_sampler_setup setup;
    struct rb_quasi *points;
    int size;
};

static bool de_create(const struct rb_sampler_setup *setup, const double *options, void **out_state, struct rb_err *err)
{
    (void)err;
    struct de *d = rb_xcalloc(1, sizeof *d);
    d->setup = *setup;
    d->points = rb_quasi_new(setup->coordinates->n, setup->seed);
    d->size = (int)options[POPULATION];
    *out_state = d;
    return true;
}

static void de_destroy(void *state)
{
    struct de *d = state;
    if (!d)
        return;
    rb_quasi_free(d->points);
    free(d);
}

// Where the new trial will first be compared, or beyond it the highest level with a whole population: under a
// scheduler that begins all trials at the first level, that level alone would mislead.
static int level_of(const struct de *d, const struct rb_history *h, const struct rb_ask *ask)
{
    const int asked = rb_history_level_of(h, ask->resource), compared = rb_history_compared_level(h, d->size);
    return compared > asked ? compared : asked;
}

// Trials with results at a level, as slots: the first fill it, each later one takes the slot of its number if it is
// better.
static int population(const struct de *d, const struct rb_history *h, int level, int *slots)
{
    int n = 0;
    for (int i = 0; i < h->n_results; i++) {
        const struct rb_seen_result *r = &h->results[i];
        if (r->level != level)
            continue;
        if (n < d->size) {
            slots[n++] = i;
            continue;
        }
        int *slot = &slots[h->trials[r->place].trial % d->size];
        if (r->score > h->results[*slot].score)
            *slot = i;
    }
    return n;
}

// The best of the level below; at the first level, or while there are too few, the population itself.
static int find_parents(const struct de *d, const struct rb_history *h, int level, const int *slots, int n, int *out)
{
    int n_parents = level > 0 ? rb_history_best(h, level - 1, out) : 0;
    if (n_parents > d->size)
        n_parents = d->size;
    if (n_parents >= N_PARENTS)
        return n_parents;
    for (int i = 0; i < n; i++)
        out[i] = h->results[slots[i]].place;
    return n;
}

static void choose_distinct(const int *from, int n, struct rb_stream *random, int *out)
{
    for (int i = 0; i < N_PARENTS; i++) {
        bool again = true;
        while (again) {
            out[i] = from[rb_stream_below(random, (uint64_t)n)];
            again = false;
            for (int j = 0; j < i; j++)
                again |= out[j] == out[i];
        }
    }
}

// A coordinate beyond an end, or one that a parent does not have, is a draw from the prior.
static double mutate(const struct rb_history *h, const int *parents, int j, struct rb_stream *random)
{
    const double *a = h->trials[parents[0]].u, *b = h->trials[parents[1]].u, *c = h->trials[parents[2]].u;
    const double u = a[j] + SCALE * (b[j] - c[j]), draw = rb_stream_uniform(random);
    return u >= 0 && u <= 1 ? u : draw;
}

static void cross(const struct rb_coordinates *c, const double *target, const struct rb_history *h, const int *parents,
                  struct rb_stream *random, double *out)
{
    const int always = c->n > 0 ? (int)rb_stream_below(random, (uint64_t)c->n) : 0;
    for (int j = 0; j < c->n; j++) {
        const double mutant = mutate(h, parents, j, random);
        const bool crosses = rb_stream_uniform(random) < CROSSOVER;
        out[j] = j == always || crosses || isnan(target[j]) ? mutant : target[j];
    }
    rb_coordinates_settle(c, out);
}

static void de_propose(void *state, const struct rb_history *history, const struct rb_ask *ask, struct rb_arena *arena,
                       struct rb_proposal *out)
{
    struct de *d = state;
    struct rb_stream random;
    int *slots = rb_arena_array(arena, (size_t)d->size, sizeof *slots);
    int *candidates = rb_arena_array(arena, (size_t)history->n_trials + (size_t)d->size, sizeof *candidates);
    int parents[N_PARENTS];
    if (rb_draws_propose_start(d->points, &d->setup, history, ask, d->size, arena, out))
        return;
    const int level = level_of(d, history, ask);
    const int n = population(d, history, level, slots);
    const int n_candidates = find_parents(d, history, level, slots, n, candidates);
    if (n == 0 || n_candidates < N_PARENTS || rb_draws_is_random_turn(d->setup.seed, ask->trial, RB_RANDOM_PERIOD)) {
        rb_draws_propose_random(
            arena, out, n_candidates < N_PARENTS ? "too few parents with results" : "one trial in eight stays random");
        return;
    }
    rb_draws_init(&random, d->setup.seed, RB_FOR_PROPOSAL, (uint32_t)ask->trial);
    choose_distinct(candidates, n_candidates, &random, parents);
    const int target = history->results[slots[ask->trial % n]].place;
    cross(d->setup.coordinates, history->trials[target].u, history, parents, &random, out->u);
    out->reason = rb_arena_printf(arena, "trial %d crossed with trials %d, %d and %d", history->trials[target].trial,
                                  history->trials[parents[0]].trial, history->trials[parents[1]].trial,
                                  history->trials[parents[2]].trial);
}

const struct rb_sampler rb_sampler_de = {
    .name = "de",
    .summary = "differential evolution, a population for each level (DEHB with hyperband)",
    .rules = rules,
    .n_rules = N_RULES,
    .create = de_create,
    .destroy = de_destroy,
    .propose = de_propose,
};
