#include "samplers/model/gp_fit.h"

#include "samplers/draws.h"
#include "samplers/model/normal.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_FIT 10 // results
#define GROWTH    1.3
#define N_DRAWS   17  // the last optimum, then by turns near it and from the prior
#define STEP      1   // draws a proposal
#define SMALL     40  // results up to which a fit is cheap enough to be made at once
#define DELAY     24  // results until a larger one takes effect
#define NEAR_SD   0.3 // of logarithms around the last optimum
#define LENGTH_SD 0.8
#define NOISE_LN  (-2.302585092994046) // ln .1
#define NOISE_SD  0.7

// ---- the prior

static double length_ln(int n_coordinates)
{
    return log(0.5) + 0.5 * log(fmax(1, n_coordinates / 4.0));
}

static double ln_normal(double value, double mu, double sd)
{
    return rb_normal_log_density((log(value) - mu) / sd);
}

static double log_prior(const struct rb_gp_hyper *h, int n)
{
    double sum = ln_normal(h->level_length, log(0.5), LENGTH_SD) + ln_normal(h->noise, NOISE_LN, NOISE_SD);
    for (int i = 0; i < n; i++)
        sum += ln_normal(h->length[i], length_ln(n), LENGTH_SD);
    return sum;
}

static void draw_prior(struct rb_stream *s, int n, struct rb_gp_hyper *out)
{
    for (int i = 0; i < n; i++)
        out->length[i] = exp(length_ln(n) + LENGTH_SD * rb_draws_normal(s));
    out->level_length = exp(log(0.5) + LENGTH_SD * rb_draws_normal(s));
    out->noise = exp(NOISE_LN + NOISE_SD * rb_draws_normal(s));
    out->level_share = rb_stream_uniform(s);
}

static void draw_near(struct rb_stream *s, int n, const struct rb_gp_hyper *around, struct rb_gp_hyper *out)
{
    for (int i = 0; i < n; i++)
        out->length[i] = around->length[i] * exp(NEAR_SD * rb_draws_normal(s));
    out->level_length = around->level_length * exp(NEAR_SD * rb_draws_normal(s));
    out->noise = around->noise * exp(NEAR_SD * rb_draws_normal(s));
    out->level_share = fmax(0, fmin(1, around->level_share + 0.15 * rb_draws_normal(s)));
}

// ---- the results of a fit

struct ranked {
    int level;
    double score;
    uint64_t key;
    int index;
};

static int compare_best(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->level != y->level)
        return y->level - x->level;
    return x->score > y->score ? -1 : x->score < y->score ? 1 : x->index - y->index;
}

static int compare_keys(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key ? 1 : x->index - y->index;
}

static int compare_indices(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int rb_gp_keep(const struct rb_history *h, int n, uint64_t seed, int *out)
{
    if (n <= RB_GP_KEPT) {
        for (int i = 0; i < n; i++)
            out[i] = i;
        return n;
    }
    struct ranked *all = rb_xcalloc((size_t)n, sizeof *all);
    for (int i = 0; i < n; i++) {
        struct rb_stream s;
        rb_draws_init(&s, seed, RB_FOR_KEPT, (uint32_t)i);
        all[i] = (struct ranked){h->results[i].level, h->results[i].score, rb_stream_u64(&s), i};
    }
    qsort(all, (size_t)n, sizeof *all, compare_best);
    qsort(all + RB_GP_KEPT / 2, (size_t)(n - RB_GP_KEPT / 2), sizeof *all, compare_keys);
    for (int i = 0; i < RB_GP_KEPT; i++)
        out[i] = all[i].index;
    qsort(out, RB_GP_KEPT, sizeof *out, compare_indices);
    free(all);
    return RB_GP_KEPT;
}

// The mean gain from the level below of trials that have a result at both, shrunk by one trial without a gain.
// Levels' averages would not do: only the better trials reach the higher ones.
static double mean_gain(const struct rb_history *h, int n, int level, const double *scores)
{
    double sum = 0;
    int n_both = 0;
    for (int i = 0; i < n; i++) {
        const struct rb_seen_result *r = &h->results[i];
        if (r->level == level && r->score > -INFINITY && r->before >= 0 && h->results[r->before].level == level - 1) {
            sum += scores[i] - scores[r->before];
            n_both++;
        }
    }
    return sum / (n_both + 1);
}

void rb_gp_scores(const struct rb_history *h, int n, struct rb_arena *arena, double *out)
{
    double gains[RB_LIMIT_STAGES] = {0};
    double *raw = rb_arena_array(arena, (size_t)n, sizeof *raw);
    for (int i = 0; i < n; i++)
        raw[i] = h->results[i].score;
    rb_normal_scores(raw, n, arena, out);
    for (int level = 1; level < h->n_levels; level++)
        gains[level] = gains[level - 1] + mean_gain(h, n, level, out);
    for (int i = 0; i < n; i++)
        out[i] -= gains[h->results[i].level];
}

// ---- fits

void rb_gp_fit_init(struct rb_gp_fit *fit, const struct rb_coordinates *c, const int64_t *levels, int n_levels,
                    uint64_t seed)
{
    *fit = (struct rb_gp_fit){.seed = seed, .n = FIRST_FIT, .best_value = -INFINITY};
    for (int i = 0; i < c->n; i++)
        fit->hyper.length[i] = exp(length_ln(c->n));
    fit->hyper.level_length = 0.5;
    fit->hyper.level_share = 0.5;
    fit->hyper.noise = exp(NOISE_LN);
    rb_gp_init(&fit->model, c, levels, n_levels, RB_GP_KEPT);
}

void rb_gp_fit_finish(struct rb_gp_fit *fit)
{
    rb_gp_finish(&fit->model);
}

static double value_of(struct rb_gp_fit *fit, const struct rb_history *h, const struct rb_gp_hyper *hyper,
                       const int *kept, const double *scores, int n)
{
    double y[RB_GP_KEPT];
    int n_rows = 0;
    rb_gp_set(&fit->model, hyper);
    for (int i = 0; i < n; i++) {
        const struct rb_seen_result *r = &h->results[kept[i]];
        if (rb_gp_add(&fit->model, kept[i], h->trials[r->place].u, r->level, 1))
            y[n_rows++] = scores[kept[i]];
    }
    rb_gp_condition(&fit->model, y, n_rows);
    return rb_gp_log_likelihood(&fit->model) + log_prior(hyper, fit->model.coordinates->n);
}

static void try_draws(struct rb_gp_fit *fit, const struct rb_history *h, int up_to)
{
    const int n_coordinates = fit->model.coordinates->n;
    int kept[RB_GP_KEPT];
    struct rb_arena arena;
    rb_arena_init(&arena);
    const int n = rb_gp_keep(h, fit->n, fit->seed, kept);
    double *scores = rb_arena_array(&arena, (size_t)fit->n, sizeof *scores);
    rb_gp_scores(h, fit->n, &arena, scores);
    for (; fit->n_tried < up_to; fit->n_tried++) {
        struct rb_gp_hyper hyper = fit->hyper;
        struct rb_stream s;
        rb_draws_init(&s, fit->seed, RB_FOR_FIT, (uint32_t)fit->n * N_DRAWS + (uint32_t)fit->n_tried);
        if (fit->n_tried % 2 == 1)
            draw_near(&s, n_coordinates, &fit->hyper, &hyper);
        else if (fit->n_tried > 0)
            draw_prior(&s, n_coordinates, &hyper);
        const double value = value_of(fit, h, &hyper, kept, scores, n);
        if (value > fit->best_value) {
            fit->best_value = value;
            fit->best = hyper;
        }
    }
    rb_arena_finish(&arena);
}

static int due_at(int n)
{
    return n <= SMALL ? n : n + DELAY;
}

void rb_gp_fit_update(struct rb_gp_fit *fit, const struct rb_history *h)
{
    while (h->n_results >= due_at(fit->n)) {
        try_draws(fit, h, N_DRAWS);
        fit->hyper = fit->best;
        fit->n_fits++;
        fit->n = (int)ceil(GROWTH * fit->n);
        fit->n_tried = 0;
        fit->best_value = -INFINITY;
    }
    if (h->n_results >= fit->n)
        try_draws(fit, h, fit->n_tried + STEP < N_DRAWS ? fit->n_tried + STEP : N_DRAWS);
}
