// Bayesian optimisation: a Gaussian process over configurations and levels, and the largest expected improvement at
// the last level. What trains now counts as if it had its predicted score there ("kriging believer"), so parallel
// proposals differ.
// Source: Jones, Schonlau, Welch, J. Global Optimization 13 (1998); Ginsbourger et al. (2010) for the believer;
// Ament et al., "Unexpected improvements to expected improvement", NeurIPS'23, for its logarithm.
#include "samplers/samplers.h"

#include "base/order.h"
#include "samplers/cost.h"
#include "samplers/draws.h"
#include "samplers/model/gp_fit.h"
#include "samplers/model/gp_region.h"
#include "samplers/model/normal.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_UNIFORM      300
#define N_LOCAL        300
#define N_AROUND       10 // the best configurations that local candidates are near
#define MOST_TRAIN     40 // trials that train now
#define MOST_RECALLED  25
#define LEAST_AT_LEVEL 5

enum { START, LIAR, COST, N_RULES };
static const struct rb_setting_rule rules[N_RULES] = {
    [START] = RB_RULE_START,
    [LIAR] = {.key = "liar",
              .kind = RB_SETTING_BOOL,
              .fallback = 1,
              .summary = "trials that train count as if they had their predicted score, so that parallel ones differ"},
    [COST] = RB_RULE_COST,
};

struct gp {
    struct rb_sampler_setup setup;
    struct rb_quasi *points;
    struct rb_gp_fit fit;
    struct rb_gp model;
    int n_fits; // of the hyperparameters in the model
    int start;
    bool liar, cost_aware;
};

static bool gp_create(const struct rb_sampler_setup *setup, const double *options, void **out_state, struct rb_err *err)
{
    (void)err;
    struct gp *g = rb_xcalloc(1, sizeof *g);
    g->setup = *setup;
    g->points = rb_quasi_new(setup->coordinates->n, setup->seed);
    g->start = (int)options[START];
    g->liar = options[LIAR] > 0;
    g->cost_aware = !(options[COST] > 0);
    rb_gp_fit_init(&g->fit, setup->coordinates, setup->levels, setup->n_levels, setup->seed);
    rb_gp_init(&g->model, setup->coordinates, setup->levels, setup->n_levels, RB_GP_KEPT + MOST_RECALLED + MOST_TRAIN);
    *out_state = g;
    return true;
}

static void gp_destroy(void *state)
{
    struct gp *g = state;
    if (!g)
        return;
    rb_quasi_free(g->points);
    rb_gp_fit_finish(&g->fit);
    rb_gp_finish(&g->model);
    free(g);
}

// ---- the model

#define RECALLED_KEY (-1) // of the first of them; the next have lower ones

static void believe(struct gp *g, const struct rb_history *h)
{
    int n = 0;
    for (int i = h->n_trials - 1; i >= 0 && n < MOST_TRAIN; i--)
        if (h->trials[i].state == RB_SEEN_TRAINS) {
            rb_gp_add(&g->model, INT_MAX, h->trials[i].u, h->trials[i].next_level, 1);
            n++;
        }
}

static int count_recalled(const struct rb_history *h)
{
    return h->n_recalled < MOST_RECALLED ? h->n_recalled : MOST_RECALLED;
}

// They are sorted by level and score: some of all of them, the first among them.
static const struct rb_recalled_result *recalled_at(const struct rb_history *h, int i)
{
    return &h->recalled[(size_t)i * (size_t)h->n_recalled / (size_t)count_recalled(h)];
}

// Rows that the model has from the proposal before stay, as long as they are the first of the new ones.
static void keep_rows(struct gp *g, const struct rb_history *h, const int *kept, int n_kept)
{
    int keys[RB_GP_KEPT + MOST_RECALLED], n = 0;
    if (g->n_fits != g->fit.n_fits || g->n_fits == 0)
        rb_gp_set(&g->model, &g->fit.hyper);
    g->n_fits = g->fit.n_fits;
    for (int i = 0; i < count_recalled(h); i++)
        keys[n++] = RECALLED_KEY - i;
    for (int i = 0; i < n_kept; i++)
        keys[n++] = kept[i];
    rb_gp_keep_common(&g->model, keys, n);
}

static void add_row(struct gp *g, int key, const double *u, int level, double weight, double score, double *y, int *n)
{
    const bool is_there = *n < g->model.factor.n;
    if (is_there || rb_gp_add(&g->model, key, u, level, weight))
        y[(*n)++] = score;
}

// The scores of this run at one level, ascending: a quantile of earlier results there has this run's score, because
// scores of different levels differ.
struct level_scores {
    int level, n;
    double *sorted;
};

static void sort_level(const struct rb_history *h, const double *scores, int level, struct rb_arena *arena,
                       struct level_scores *out)
{
    *out = (struct level_scores){.level = level};
    out->sorted = rb_arena_array(arena, (size_t)h->n_results, sizeof *out->sorted);
    for (int i = 0; i < h->n_results; i++)
        if (h->results[i].level == level)
            out->sorted[out->n++] = scores[i];
    qsort(out->sorted, (size_t)out->n, sizeof *out->sorted, rb_order_doubles);
}

static double score_of_quantile(const struct level_scores *s, double quantile)
{
    if (s->n < LEAST_AT_LEVEL)
        return rb_normal_quantile(fmax(1e-3, fmin(1 - 1e-3, quantile)));
    const int at = (int)(quantile * s->n);
    return s->sorted[at < s->n ? at : s->n - 1];
}

// The posterior mean everywhere is what it was after a point is added at its posterior mean; only the variance
// shrinks. So trials that train are rows without a score.
static void build(struct gp *g, const struct rb_history *h, const int *kept, int n_kept, const double *scores,
                  struct rb_arena *arena)
{
    struct level_scores level;
    double y[RB_GP_KEPT + MOST_RECALLED];
    int n = 0;
    keep_rows(g, h, kept, n_kept);
    for (int i = 0; i < count_recalled(h); i++) {
        const struct rb_recalled_result *r = recalled_at(h, i);
        if (i == 0 || r->level != level.level)
            sort_level(h, scores, r->level, arena, &level);
        add_row(g, RECALLED_KEY - i, r->u, r->level, r->weight, score_of_quantile(&level, r->quantile), y, &n);
    }
    for (int i = 0; i < n_kept; i++) {
        const struct rb_seen_result *r = &h->results[kept[i]];
        add_row(g, kept[i], h->trials[r->place].u, r->level, 1, scores[kept[i]], y, &n);
    }
    rb_gp_condition(&g->model, y, n);
    if (g->liar)
        believe(g, h);
}

// ---- candidates

struct incumbents {
    const double *u[N_AROUND]; // observed configurations, best first by their mean at the last level
    double mean[N_AROUND];
    int n;
};

static void insert(struct incumbents *best, const double *u, double mean)
{
    int at = best->n;
    while (at > 0 && mean > best->mean[at - 1])
        at--;
    if (at == N_AROUND)
        return;
    if (best->n < N_AROUND)
        best->n++;
    for (int i = best->n - 1; i > at; i--) {
        best->u[i] = best->u[i - 1];
        best->mean[i] = best->mean[i - 1];
    }
    best->u[at] = u;
    best->mean[at] = mean;
}

static void find_best(const struct gp *g, const struct rb_history *h, const int *kept, int n_kept,
                      struct rb_arena *arena, struct incumbents *out)
{
    const size_t most = RB_GP_KEPT + MOST_RECALLED;
    const double **u = rb_arena_array(arena, most, sizeof *u);
    double *mean = rb_arena_array(arena, most, sizeof *mean), *sd = rb_arena_array(arena, most, sizeof *sd);
    int n = 0;
    for (int i = 0; i < n_kept; i++) // each trial once: at its highest level
        if (h->trials[h->results[kept[i]].place].last_result == kept[i])
            u[n++] = h->trials[h->results[kept[i]].place].u;
    for (int i = 0; i < count_recalled(h); i++)
        u[n++] = recalled_at(h, i)->u;
    rb_gp_predict(&g->model, u, n, h->n_levels - 1, mean, sd);
    out->n = 0;
    for (int i = 0; i < n; i++)
        insert(out, u[i], mean[i]);
}

static double mean_log_length(const struct rb_gp_hyper *hyper, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += log(hyper->length[i]) / n;
    return sum;
}

// Near an incumbent: steps are longer in coordinates of long length; a coordinate that is missing there is drawn.
static void move(const struct gp *g, const double *from, double step, struct rb_stream *s, double *u)
{
    const struct rb_coordinates *c = g->setup.coordinates;
    const struct rb_gp_hyper *hyper = &g->model.hyper;
    const double mean = exp(mean_log_length(hyper, c->n));
    for (int j = 0; j < c->n; j++) {
        const double draw = rb_stream_uniform(s), z = rb_draws_normal(s);
        if (isnan(from[j]) || c->items[j].is_choice)
            u[j] = isnan(from[j]) || draw < 2 * step ? rb_stream_uniform(s) : from[j];
        else
            u[j] = fmax(0, fmin(1, from[j] + step * fmin(2, hyper->length[j] / mean) * z));
    }
}

static const double **make_candidates(const struct gp *g, const struct rb_history *h, const struct incumbents *best,
                                      struct rb_stream *s, struct rb_arena *arena, int *out_n)
{
    const struct rb_coordinates *c = g->setup.coordinates;
    const bool in_region = c->n >= RB_REGION_LEAST_COORDINATES && best->n > 0;
    const double length = in_region ? rb_region_length(h) : 0;
    const int n = N_UNIFORM + (best->n > 0 ? N_LOCAL : 0);
    const double **all = rb_arena_array(arena, (size_t)n, sizeof *all);
    for (int i = 0; i < n; i++) {
        double *u = rb_arena_array(arena, (size_t)c->n, sizeof *u);
        if (i < N_UNIFORM && in_region)
            rb_region_draw(c, &g->model.hyper, best->u[0], length, s, u);
        else if (i < N_UNIFORM)
            for (int j = 0; j < c->n; j++)
                u[j] = rb_stream_uniform(s);
        else
            move(g, best->u[i % best->n], i / best->n % 2 ? 0.05 : 0.15, s, u);
        rb_coordinates_settle(c, u);
        all[i] = u;
    }
    *out_n = n;
    return all;
}

// ---- proposals

static void gp_propose(void *state, const struct rb_history *history, const struct rb_ask *ask, struct rb_arena *arena,
                       struct rb_proposal *out)
{
    struct gp *g = state;
    const struct rb_coordinates *c = g->setup.coordinates;
    struct incumbents best;
    struct rb_cost cost = {0};
    struct rb_stream random;
    int kept[RB_GP_KEPT], n;
    if (rb_draws_propose_start(g->points, &g->setup, history, ask, g->start - history->n_recalled, arena, out))
        return;
    rb_gp_fit_update(&g->fit, history);
    if (rb_draws_is_random_turn(g->setup.seed, ask->trial, RB_RANDOM_PERIOD)) {
        rb_draws_propose_random(arena, out, "one trial in eight stays random");
        return;
    }
    const int n_kept = rb_gp_keep(history, history->n_results, g->setup.seed, kept);
    double *scores = rb_arena_array(arena, (size_t)history->n_results, sizeof *scores);
    rb_gp_scores(history, history->n_results, arena, scores);
    build(g, history, kept, n_kept, scores, arena);
    find_best(g, history, kept, n_kept, arena, &best);
    if (g->cost_aware)
        rb_cost_fit(&cost, c, history, ask, arena);
    rb_draws_init(&random, g->setup.seed, RB_FOR_PROPOSAL, (uint32_t)ask->trial);
    const double **candidates = make_candidates(g, history, &best, &random, arena, &n);
    double *mean = rb_arena_array(arena, (size_t)n, sizeof *mean), *sd = rb_arena_array(arena, (size_t)n, sizeof *sd);
    rb_gp_predict(&g->model, candidates, n, history->n_levels - 1, mean, sd);
    const double target = best.n > 0 ? best.mean[0] : 0;
    double most = -INFINITY;
    int chosen = 0;
    for (int i = 0; i < n; i++) {
        const double value =
            rb_log_expected_improvement(mean[i], sd[i], target) - rb_cost_penalty(&cost, candidates[i]);
        if (value > most) {
            most = value;
            chosen = i;
        }
    }
    memcpy(out->u, candidates[chosen], (size_t)c->n * sizeof *out->u);
    out->reason = rb_arena_printf(
        arena, "predicted at %lld: better than %.3g %% of all so far (%.3g to %.3g %%); the best known: %.3g %%",
        (long long)history->levels[history->n_levels - 1], 100 * rb_normal_cdf(mean[chosen]),
        100 * rb_normal_cdf(mean[chosen] - sd[chosen]), 100 * rb_normal_cdf(mean[chosen] + sd[chosen]),
        100 * rb_normal_cdf(target));
}

const struct rb_sampler rb_sampler_gp = {
    .name = "gp",
    .summary = "expected improvement of a Gaussian process over configurations and levels",
    .recalls = true,
    .rules = rules,
    .n_rules = N_RULES,
    .create = gp_create,
    .destroy = gp_destroy,
    .propose = gp_propose,
};
