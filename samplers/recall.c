#include "samplers/recall.h"

#include "base/order.h"
#include "samplers/model/normal.h"

#include <math.h>
#include <stdlib.h>

#define MOST_WEIGHT    25.0
#define JUDGED_RESULTS 20
#define LEAST_SPEARMAN 0.2
#define NEAR           0.15 // sd of a neighbourhood in each coordinate; another category is 1 away

static int compare_recalled(const void *a, const void *b)
{
    const struct rb_recalled_result *x = a, *y = b;
    if (x->level != y->level)
        return y->level - x->level;
    if (x->quantile < y->quantile || x->quantile > y->quantile)
        return x->quantile > y->quantile ? -1 : 1;
    return x->weight > y->weight ? -1 : x->weight < y->weight;
}

void rb_recall_fill(struct rb_history *h, const struct rb_coordinates *c, const struct rb_earlier_result *results,
                    int n)
{
    double sum = 0;
    h->recalled = rb_xcalloc((size_t)n + 1, sizeof *h->recalled);
    for (int i = 0; i < n; i++) {
        struct rb_recalled_result *r = &h->recalled[i];
        *r = (struct rb_recalled_result){
            .u = rb_xcalloc((size_t)c->n + 1, sizeof *r->u),
            .level = rb_history_level_of(h, results[i].resource),
            .quantile = results[i].quantile,
            .weight = ldexp(1, -results[i].age),
            .unit_s = results[i].unit_s,
        };
        rb_coordinates_of(c, results[i].values, r->u);
        sum += r->weight;
    }
    for (int i = 0; i < n && sum > MOST_WEIGHT; i++)
        h->recalled[i].weight *= MOST_WEIGHT / sum;
    h->n_recalled = n;
    qsort(h->recalled, (size_t)n, sizeof *h->recalled, compare_recalled);
}

// ---- the best configurations

static bool better(const struct rb_earlier_result *a, const struct rb_earlier_result *b)
{
    if (a->resource != b->resource)
        return a->resource > b->resource;
    if (a->quantile < b->quantile || a->quantile > b->quantile)
        return a->quantile > b->quantile;
    return a->age < b->age;
}

static bool is_taken(const struct rb_space *space, const struct rb_earlier_result *results, const int *taken, int n,
                     int i)
{
    for (int k = 0; k < n; k++)
        if (rb_values_same(space, results[taken[k]].values, results[i].values))
            return true;
    return false;
}

int rb_recall_first(const struct rb_space *space, const struct rb_earlier_result *results, int n, int *out, int most)
{
    int n_out = 0;
    for (int best = 0; n_out < most && best >= 0;) {
        best = -1;
        for (int i = 0; i < n; i++)
            if ((best < 0 || better(&results[i], &results[best])) && !is_taken(space, results, out, n_out, i))
                best = i;
        if (best >= 0)
            out[n_out++] = best;
    }
    return n_out;
}

// ---- for later runs

void rb_recall_quantiles(const struct rb_history *h, double *out)
{
    RB_AUTO(rb_auto_free) double *sorted = rb_xcalloc((size_t)h->n_results + 1, sizeof *sorted);
    for (int level = 0; level < h->n_levels; level++) {
        int n = 0;
        for (int i = 0; i < h->n_results; i++)
            if (h->results[i].level == level)
                sorted[n++] = h->results[i].score;
        qsort(sorted, (size_t)n, sizeof *sorted, rb_order_doubles);
        for (int i = 0; i < h->n_results; i++)
            if (h->results[i].level == level)
                out[i] = 0.5 *
                         (rb_count_below(sorted, n, h->results[i].score) + rb_count_up_to(sorted, n, h->results[i].score)) / n;
    }
}

// ---- do they still hold?

static double distance(const struct rb_history *h, const double *a, const double *b)
{
    double sum = 0;
    for (int j = 0; j < h->n_coordinates; j++) {
        const bool both = !isnan(a[j]) && !isnan(b[j]);
        const double step = both ? a[j] - b[j] : isnan(a[j]) != isnan(b[j]);
        sum += step * step;
    }
    return sum;
}

// The mean of earlier quantiles at this level, weighted by nearness. NAN: no earlier result is at this level.
static double predict(const struct rb_history *h, const double *u, int level)
{
    double sum = 0, weights = 0;
    for (int i = 0; i < h->n_recalled; i++) {
        const struct rb_recalled_result *r = &h->recalled[i];
        if (r->level != level)
            continue;
        const double w = exp(-distance(h, u, r->u) / (2 * NEAR * NEAR)) + 1e-12;
        sum += w * r->quantile;
        weights += w;
    }
    return sum / weights;
}

bool rb_recall_holds(const struct rb_history *h)
{
    double predicted[JUDGED_RESULTS], found[JUDGED_RESULTS], ranks[2][JUDGED_RESULTS];
    struct rb_arena arena;
    int n = 0;
    for (int i = 0; i < h->n_results && n < JUDGED_RESULTS; i++) {
        const struct rb_seen_result *r = &h->results[i];
        const double p = r->before < 0 ? predict(h, h->trials[r->place].u, r->level) : NAN;
        if (isnan(p))
            continue;
        predicted[n] = p;
        found[n++] = r->score;
    }
    if (n < JUDGED_RESULTS)
        return true;
    rb_arena_init(&arena);
    rb_normal_scores(predicted, n, &arena, ranks[0]);
    rb_normal_scores(found, n, &arena, ranks[1]);
    rb_arena_finish(&arena);
    return rb_normal_score_correlation(ranks[0], ranks[1], n) >= LEAST_SPEARMAN;
}
