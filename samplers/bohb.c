// BOHB's model: kernel densities of the good and the bad configurations at the highest level with enough results;
// candidates are good configurations moved by a normal. One proposal in three is random.
// Source: Falkner, Klein, Hutter, "BOHB", ICML'18, and its HpBandSter; bandwidths by the normal reference rule,
// choices by Aitchison and Aitken.
#include "samplers/samplers.h"

#include "samplers/draws.h"
#include "samplers/model/normal.h"

#include <math.h>
#include <stdlib.h>

#define N_CANDIDATES    64
#define WIDER           3.0 // bandwidths of the moves
#define LEAST_BANDWIDTH 1e-3
#define LEAST_DENSITY   1e-32
#define PERIOD          3

enum { START, N_RULES };
static const struct rb_setting_rule rules[N_RULES] = {[START] = RB_RULE_START};

struct bohb {
    struct rb_sampler_setup setup;
    struct rb_quasi *points;
    int start;
};

struct density {
    double **points; // [n][d], nothing missing
    int n;
    double *bandwidth; // [d]; of a choice: the probability of another category
};

static bool bohb_create(const struct rb_sampler_setup *setup, const double *options, void **out_state,
                        struct rb_err *err)
{
    (void)err;
    struct bohb *b = rb_xcalloc(1, sizeof *b);
    b->setup = *setup;
    b->points = rb_quasi_new(setup->coordinates->n, setup->seed);
    b->start = (int)options[START];
    *out_state = b;
    return true;
}

static void bohb_destroy(void *state)
{
    struct bohb *b = state;
    if (!b)
        return;
    rb_quasi_free(b->points);
    free(b);
}

// ---- densities

// What does not apply is imputed: the value of another point where it does, or a draw from the prior.
static double impute(double **points, int n, int dim, struct rb_stream *random)
{
    const int first = n > 0 ? (int)rb_stream_below(random, (uint64_t)n) : 0;
    const double draw = rb_stream_uniform(random);
    for (int i = 0; i < n; i++) {
        const double u = points[(first + i) % n][dim];
        if (!isnan(u))
            return u;
    }
    return draw;
}

static double bandwidth_of(const struct rb_coordinates *c, const struct density *k, int dim)
{
    double mean = 0, sum = 0;
    for (int i = 0; i < k->n; i++)
        mean += k->points[i][dim] / k->n;
    for (int i = 0; i < k->n; i++)
        sum += (k->points[i][dim] - mean) * (k->points[i][dim] - mean);
    const double sigma = k->n > 1 ? sqrt(sum / (k->n - 1)) : 0;
    const double width = fmax(LEAST_BANDWIDTH, 1.06 * sigma * pow(k->n, -1.0 / (c->n + 4)));
    const int n_cells = c->items[dim].n_cells;
    return c->items[dim].is_choice ? fmin(width, (n_cells - 1.0) / n_cells) : width;
}

static void fit(const struct rb_coordinates *c, const struct rb_history *h, const int *places, int n,
                struct rb_stream *random, struct rb_arena *arena, struct density *out)
{
    double **raw = rb_arena_array(arena, (size_t)n, sizeof *raw);
    *out = (struct density){.n = n};
    out->points = rb_arena_array(arena, (size_t)n, sizeof *out->points);
    out->bandwidth = rb_arena_array(arena, (size_t)c->n, sizeof *out->bandwidth);
    for (int i = 0; i < n; i++)
        raw[i] = h->trials[places[i]].u;
    for (int i = 0; i < n; i++) {
        out->points[i] = rb_arena_array(arena, (size_t)c->n, sizeof **out->points);
        for (int j = 0; j < c->n; j++)
            out->points[i][j] = isnan(raw[i][j]) ? impute(raw, n, j, random) : raw[i][j];
    }
    for (int j = 0; j < c->n; j++)
        out->bandwidth[j] = bandwidth_of(c, out, j);
}

static double kernel(const struct rb_coordinates *c, int dim, double u, double at, double bandwidth)
{
    const struct rb_coordinate *k = &c->items[dim];
    if (k->is_choice)
        return rb_coordinates_cell(c, dim, u) == rb_coordinates_cell(c, dim, at) ? 1 - bandwidth
                                                                                 : bandwidth / (k->n_cells - 1);
    return exp(rb_normal_log_density((u - at) / bandwidth)) / bandwidth;
}

static double density_at(const struct rb_coordinates *c, const struct density *d, const double *u)
{
    double sum = 0;
    for (int i = 0; i < d->n; i++) {
        double product = 1;
        for (int j = 0; j < c->n && product > 0; j++)
            product *= kernel(c, j, u[j], d->points[i][j], d->bandwidth[j]);
        sum += product / d->n;
    }
    return fmax(LEAST_DENSITY, sum);
}

static void draw(const struct rb_coordinates *c, const struct density *good, struct rb_stream *random, double *u)
{
    const double *at = good->points[rb_stream_below(random, (uint64_t)good->n)];
    for (int j = 0; j < c->n; j++) {
        const double r = rb_stream_uniform(random);
        const double bandwidth = fmax(LEAST_BANDWIDTH, good->bandwidth[j]);
        if (!c->items[j].is_choice)
            u[j] = rb_truncated_quantile(at[j], WIDER * bandwidth, r);
        else
            u[j] = r < 1 - bandwidth ? at[j] : rb_stream_uniform(random);
        if (c->items[j].n_cells > 0)
            u[j] = rb_coordinates_middle(c, j, rb_coordinates_cell(c, j, u[j]));
    }
}

// ---- proposals

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static void bohb_propose(void *state, const struct rb_history *history, const struct rb_ask *ask,
                         struct rb_arena *arena, struct rb_proposal *out)
{
    struct bohb *b = state;
    const struct rb_coordinates *c = b->setup.coordinates;
    struct density good, bad;
    struct rb_stream random;
    int *best = rb_arena_array(arena, (size_t)history->n_trials, sizeof *best);
    if (rb_draws_propose_start(b->points, &b->setup, history, ask, b->start, arena, out))
        return;
    const int level = rb_history_compared_level(history, c->n + 1);
    const int n = level < 0 ? 0 : rb_history_best(history, level, best);
    if (n < 2 || rb_draws_is_random_turn(b->setup.seed, ask->trial, PERIOD)) {
        rb_draws_propose_random(arena, out, "one trial in three stays random");
        return;
    }
    const int n_good = larger(c->n + 1, n * 15 / 100), n_bad = larger(c->n + 1, n * 85 / 100);
    rb_draws_init(&random, b->setup.seed, RB_FOR_PROPOSAL, (uint32_t)ask->trial);
    fit(c, history, best, n_good < n ? n_good : n, &random, arena, &good);
    fit(c, history, n_bad < n ? best + n - n_bad : best, n_bad < n ? n_bad : n, &random, arena, &bad);
    double *u = rb_arena_array(arena, (size_t)c->n, sizeof *u), least = INFINITY;
    for (int i = 0; i < N_CANDIDATES; i++) {
        draw(c, &good, &random, u);
        const double value = density_at(c, &bad, u) / density_at(c, &good, u);
        if (i > 0 && !(value < least))
            continue;
        least = value;
        for (int j = 0; j < c->n; j++)
            out->u[j] = u[j];
    }
    rb_coordinates_settle(c, out->u);
    out->reason =
        rb_arena_printf(arena, "%.3g times as dense among the best %d as among the worst %d of %d trials at %lld",
                        1 / least, good.n, bad.n, n, (long long)history->levels[level]);
}

const struct rb_sampler rb_sampler_bohb = {
    .name = "bohb",
    .summary = "the model of BOHB: kernel densities of good and bad configurations",
    .rules = rules,
    .n_rules = N_RULES,
    .create = bohb_create,
    .destroy = bohb_destroy,
    .propose = bohb_propose,
};
