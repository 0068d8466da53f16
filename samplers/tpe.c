// Tree-structured Parzen estimator: proposes where good configurations are dense and bad ones are not. The densities
// are of whole configurations, not of one parameter after the other; parameters that apply only sometimes have
// densities of their own, from the trials where they apply.
// Source: Bergstra et al., NIPS'11; multivariate and constant liar as in Optuna. Two changes: good means the best 15
// % at the highest level with enough results (not the best of all levels, which are those that were promoted), and
// widths of kernels are the gaps to neighbours as in 2011, with Optuna's multivariate width as their least.
#include "samplers/samplers.h"

#include "samplers/cost.h"
#include "samplers/draws.h"
#include "samplers/model/parzen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_CANDIDATES 24
#define GOOD_SHARE   0.15
#define MOST_GOOD    25
#define LEAST_RANKED 6   // results at the level where good ones are chosen: low levels mislead, so not many more
#define MOST_BAD     300 // the newest; more cost time and change little

enum { START, LIAR, COST, N_RULES };
static const struct rb_setting_rule rules[N_RULES] = {
    [START] = RB_RULE_START,
    [LIAR] = {.key = "liar",
              .kind = RB_SETTING_BOOL,
              .fallback = 1,
              .summary = "trials without a result count as bad, so that parallel ones differ"},
    [COST] = RB_RULE_COST,
};

struct tpe {
    struct rb_sampler_setup setup;
    struct rb_quasi *points;
    int start;
    bool liar, cost_aware;
};

static bool tpe_create(const struct rb_sampler_setup *setup, const double *options, void **out_state,
                       struct rb_err *err)
{
    (void)err;
    struct tpe *t = rb_xcalloc(1, sizeof *t);
    t->setup = *setup;
    t->points = rb_quasi_new(setup->coordinates->n, setup->seed);
    t->start = (int)options[START];
    t->liar = options[LIAR] > 0;
    t->cost_aware = !(options[COST] > 0);
    *out_state = t;
    return true;
}

static void tpe_destroy(void *state)
{
    struct tpe *t = state;
    if (!t)
        return;
    rb_quasi_free(t->points);
    free(t);
}

// ---- good and bad

// Configurations in two halves, each oldest first.
struct split {
    const double **good, **bad;
    double *good_weights, *bad_weights;
    int n_good, n_bad;
    int level, n_ranked; // where the good ones were chosen, and from how many
};

static void put(struct split *s, bool is_good, const double *u, double weight)
{
    int *n = is_good ? &s->n_good : &s->n_bad;
    (is_good ? s->good : s->bad)[*n] = u;
    (is_good ? s->good_weights : s->bad_weights)[(*n)++] = weight;
}

// Earlier runs: their results at the highest level with enough of them.
static void split_recalled(const struct rb_history *h, struct split *s)
{
    int level = h->n_levels;
    for (int n = 0; level > 0 && n < LEAST_RANKED;) {
        level--;
        n = 0;
        for (int i = 0; i < h->n_recalled; i++)
            n += h->recalled[i].level == level;
    }
    for (int i = h->n_recalled - 1; i >= 0; i--)
        if (h->recalled[i].level == level)
            put(s, h->recalled[i].quantile > 1 - GOOD_SHARE, h->recalled[i].u, h->recalled[i].weight);
}

static int count_good(int n)
{
    const int n_good = (int)ceil(GOOD_SHARE * n);
    return n_good < 2 ? 2 : n_good > MOST_GOOD ? MOST_GOOD : n_good;
}

static void split_trials(const struct tpe *t, const struct rb_history *h, struct rb_arena *arena, struct split *s)
{
    const size_t most = (size_t)h->n_trials + (size_t)h->n_recalled;
    int *best = rb_arena_array(arena, (size_t)h->n_trials, sizeof *best);
    bool *is_good = rb_arena_array(arena, (size_t)h->n_trials, sizeof *is_good);
    *s = (struct split){
        .good = rb_arena_array(arena, most, sizeof *s->good),
        .bad = rb_arena_array(arena, most, sizeof *s->bad),
        .good_weights = rb_arena_array(arena, most, sizeof *s->good_weights),
        .bad_weights = rb_arena_array(arena, most, sizeof *s->bad_weights),
        .level = rb_history_compared_level(h, LEAST_RANKED),
    };
    split_recalled(h, s);
    if (s->level >= 0)
        s->n_ranked = rb_history_best(h, s->level, best);
    for (int i = 0; i < s->n_ranked && i < count_good(s->n_ranked); i++)
        is_good[best[i]] = true;
    for (int i = 0; i < h->n_trials; i++)
        if (is_good[i] || (i >= h->n_trials - MOST_BAD && (t->liar || h->trials[i].last_result >= 0)))
            put(s, is_good[i], h->trials[i].u, 1);
}

// ---- densities, one pair for each group of parameters that apply together

struct group {
    int *dims;
    int n_dims;
    struct rb_parzen good, bad;
};

static void fit(const struct rb_coordinates *c, const struct group *g, const double *const *points,
                const double *weights, int n, struct rb_arena *arena, struct rb_parzen *out)
{
    const double **own = rb_arena_array(arena, (size_t)n, sizeof *own);
    double *own_weights = rb_arena_array(arena, (size_t)n, sizeof *own_weights);
    int n_own = 0;
    for (int i = 0; i < n; i++)
        if (!isnan(points[i][g->dims[0]])) {
            own[n_own] = points[i];
            own_weights[n_own++] = weights[i];
        }
    rb_parzen_init(out, c, g->dims, g->n_dims, own, own_weights, n_own, arena);
}

static struct group *fit_groups(const struct rb_coordinates *c, const struct split *s, struct rb_arena *arena)
{
    struct group *groups = rb_arena_array(arena, (size_t)c->n_groups, sizeof *groups);
    for (int g = 0; g < c->n_groups; g++)
        groups[g].dims = rb_arena_array(arena, (size_t)c->n, sizeof *groups[g].dims);
    for (int i = 0; i < c->n; i++) {
        struct group *g = &groups[c->items[i].group];
        g->dims[g->n_dims++] = i;
    }
    for (int g = 0; g < c->n_groups; g++) {
        if (groups[g].n_dims == 0)
            continue;
        fit(c, &groups[g], s->good, s->good_weights, s->n_good, arena, &groups[g].good);
        fit(c, &groups[g], s->bad, s->bad_weights, s->n_bad, arena, &groups[g].bad);
    }
    return groups;
}

static bool applies(const struct rb_coordinates *c, const struct group *g, const double *u)
{
    return g->n_dims > 0 && rb_coordinates_apply(c, u, g->dims[0]);
}

// ln of the expected improvement up to a constant: 1 / (gamma + (1 - gamma) bad / good).
static double log_improvement(double ratio)
{
    const double x = log(1 - GOOD_SHARE) - log(GOOD_SHARE) - ratio; // ln of the second term over the first
    return -(x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)));
}

// The best of a few draws of the group's coordinates from their good density; the others stay as they are. Returns
// ln good - ln bad. Each group is decided by itself, after its parents: a sum over groups would prefer
// configurations that have many.
static double choose_group(const struct tpe *t, struct group *g, const struct rb_cost *cost, struct rb_stream *random,
                           struct rb_arena *arena, double *u)
{
    double *candidate = rb_arena_array(arena, (size_t)t->setup.coordinates->n, sizeof *candidate);
    double best = -INFINITY, best_ratio = 0;
    memcpy(candidate, u, (size_t)t->setup.coordinates->n * sizeof *u);
    for (int i = 0; i < N_CANDIDATES; i++) {
        rb_parzen_draw(&g->good, random, candidate);
        const double ratio = rb_parzen_log_density(&g->good, candidate) - rb_parzen_log_density(&g->bad, candidate);
        const double value = cost->weights ? log_improvement(ratio) - rb_cost_penalty(cost, candidate) : ratio;
        if (i > 0 && !(value > best))
            continue;
        best = value;
        best_ratio = ratio;
        for (int j = 0; j < g->n_dims; j++)
            u[g->dims[j]] = candidate[g->dims[j]];
    }
    return best_ratio;
}

static void tpe_propose(void *state, const struct rb_history *history, const struct rb_ask *ask, struct rb_arena *arena,
                        struct rb_proposal *out)
{
    struct tpe *t = state;
    const struct rb_coordinates *c = t->setup.coordinates;
    struct split split;
    struct rb_cost cost = {0};
    struct rb_stream random;
    if (rb_draws_propose_start(t->points, &t->setup, history, ask, t->start - history->n_recalled, arena, out))
        return;
    if (rb_draws_is_random_turn(t->setup.seed, ask->trial, RB_RANDOM_PERIOD)) {
        rb_draws_propose_random(arena, out, "one trial in eight stays random");
        return;
    }
    split_trials(t, history, arena, &split);
    struct group *groups = fit_groups(c, &split, arena);
    if (t->cost_aware)
        rb_cost_fit(&cost, c, history, ask, arena);
    rb_draws_init(&random, t->setup.seed, RB_FOR_PROPOSAL, (uint32_t)ask->trial);
    double ratio = 0;
    for (int i = 0; i < c->n; i++)
        out->u[i] = NAN;
    for (int g = 0; g < c->n_groups; g++)
        if (applies(c, &groups[g], out->u))
            ratio += choose_group(t, &groups[g], &cost, &random, arena, out->u);
    out->reason = rb_arena_printf(arena, "%.3g times as dense among %d good trials as among %d others", exp(ratio),
                                  split.n_good, split.n_bad);
}

const struct rb_sampler rb_sampler_tpe = {
    .name = "tpe",
    .summary = "where good configurations are dense and bad ones are not (multivariate TPE)",
    .recalls = true,
    .rules = rules,
    .n_rules = N_RULES,
    .create = tpe_create,
    .destroy = tpe_destroy,
    .propose = tpe_propose,
};
