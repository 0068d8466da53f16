#include "samplers/importance.h"

#include "base/order.h"
#include "samplers/draws.h"
#include "samplers/model/forest.h"
#include "samplers/model/normal.h"

#include <math.h>
#include <stdlib.h>

// ---- data

// Categories in a choice's cells; a choice of too many is ordered, as people order long lists.
static struct rb_forest_dim *list_dims(const struct rb_coordinates *c, struct rb_arena *arena)
{
    struct rb_forest_dim *dims = rb_arena_array(arena, (size_t)c->n, sizeof *dims);
    for (int i = 0; i < c->n; i++) {
        if (!c->items[i].is_choice || c->items[i].n_cells > RB_FOREST_CELLS)
            continue;
        double *shares = rb_arena_array(arena, (size_t)c->items[i].n_cells, sizeof *shares);
        for (int cell = 0; cell < c->items[i].n_cells; cell++)
            shares[cell] = rb_coordinates_edge(c, i, cell + 1) - rb_coordinates_edge(c, i, cell);
        dims[i] = (struct rb_forest_dim){c->items[i].n_cells, shares};
    }
    return dims;
}

static void take_data(const struct rb_coordinates *c, const struct rb_history *h, int level, struct rb_arena *arena,
                      struct rb_forest_data *out)
{
    const int n_all = rb_history_count_at(h, level), n = n_all > RB_IMPORTANCE_RESULTS ? RB_IMPORTANCE_RESULTS : n_all;
    double *x = rb_arena_array(arena, (size_t)n * (size_t)c->n, sizeof *x),
           *scores = rb_arena_array(arena, (size_t)n, sizeof *scores), *y = rb_arena_array(arena, (size_t)n, sizeof *y);
    *out = (struct rb_forest_data){.dims = list_dims(c, arena), .n_dims = c->n, .x = x, .y = y};
    int64_t seen = 0;
    for (int i = 0; i < h->n_results; i++) {
        const struct rb_seen_result *r = &h->results[i];
        if (r->level != level || seen++ * n / n_all != out->n || out->n == n)
            continue;
        const double *u = h->trials[r->place].u;
        for (int j = 0; j < c->n; j++)
            *x++ = out->dims[j].n_cells > 0 && !isnan(u[j]) ? rb_coordinates_cell(c, j, u[j]) : u[j];
        scores[out->n++] = r->score;
    }
    rb_normal_scores(scores, out->n, arena, y);
}

// ---- the analysis of one tree

static void moments_of(const struct rb_tree *t, const double *share, double *out_mean, double *out_variance)
{
    double mean = 0, variance = 0;
    for (int leaf = 0; leaf < t->n_leaves; leaf++)
        mean += share[leaf] * t->values[leaf];
    for (int leaf = 0; leaf < t->n_leaves; leaf++)
        variance += share[leaf] * (t->values[leaf] - mean) * (t->values[leaf] - mean);
    *out_mean = mean;
    *out_variance = variance;
}

static void leaf_shares(const struct rb_forest_data *data, const struct rb_tree *t, double *out)
{
    for (int leaf = 0; leaf < t->n_leaves; leaf++) {
        out[leaf] = 1;
        for (int dim = 0; dim < data->n_dims; dim++)
            out[leaf] *= rb_box_side_share(&t->sides[leaf * data->n_dims + dim], &data->dims[dim]);
    }
}

// What a leaf adds to the prediction wherever its side has x, averaged over the other dimensions.
static double leaf_part(const struct rb_forest_data *data, const struct rb_tree *t, const double *share, int leaf, int dim)
{
    const double side = rb_box_side_share(&t->sides[leaf * data->n_dims + dim], &data->dims[dim]);
    return side > 0 ? t->values[leaf] * share[leaf] / side : 0;
}

static double categories_variance(const struct rb_forest_data *data, const struct rb_tree *t, const double *share,
                                  double mean, int dim)
{
    const struct rb_forest_dim *d = &data->dims[dim];
    double variance = 0;
    for (int cell = 0; cell < d->n_cells; cell++) {
        double at = 0;
        for (int leaf = 0; leaf < t->n_leaves; leaf++)
            if (t->sides[leaf * data->n_dims + dim].cells >> cell & 1)
                at += leaf_part(data, t, share, leaf, dim);
        variance += d->shares[cell] * (at - mean) * (at - mean);
    }
    return variance;
}

static int place_of(const double *edges, int n, double x)
{
    const double *found = bsearch(&x, edges, (size_t)n, sizeof *edges, rb_order_doubles);
    return (int)(found - edges);
}

// The prediction is constant between the edges of leaves: the steps at each edge add up to it.
static double ordered_variance(const struct rb_forest_data *data, const struct rb_tree *t, const double *share,
                               double mean, int dim, struct rb_arena *arena)
{
    double *edges = rb_arena_array(arena, 2 * (size_t)t->n_leaves, sizeof *edges);
    int n = 0;
    for (int leaf = 0; leaf < t->n_leaves; leaf++) {
        edges[2 * leaf] = t->sides[leaf * data->n_dims + dim].low;
        edges[2 * leaf + 1] = t->sides[leaf * data->n_dims + dim].high;
    }
    qsort(edges, 2 * (size_t)t->n_leaves, sizeof *edges, rb_order_doubles);
    for (int i = 0; i < 2 * t->n_leaves; i++)
        if (n == 0 || edges[i] > edges[n - 1])
            edges[n++] = edges[i];
    double *step = rb_arena_array(arena, (size_t)n, sizeof *step), at = 0, variance = 0;
    for (int leaf = 0; leaf < t->n_leaves; leaf++) {
        const struct rb_box_side *side = &t->sides[leaf * data->n_dims + dim];
        const double part = leaf_part(data, t, share, leaf, dim);
        step[place_of(edges, n, side->low)] += part;
        step[place_of(edges, n, side->high)] -= part;
    }
    for (int i = 0; i < n - 1; i++) {
        at += step[i];
        variance += (edges[i + 1] - edges[i]) * (at - mean) * (at - mean);
    }
    return variance;
}

// Shares of the tree's variance, [n_dims]. false: the tree has one leaf.
static bool analyse(const struct rb_forest_data *data, const struct rb_tree *t, struct rb_arena *arena, double *out)
{
    double *share = rb_arena_array(arena, (size_t)t->n_leaves, sizeof *share), mean, variance;
    leaf_shares(data, t, share);
    moments_of(t, share, &mean, &variance);
    if (!(variance > 0))
        return false;
    for (int dim = 0; dim < data->n_dims; dim++)
        out[dim] = (data->dims[dim].n_cells > 0 ? categories_variance(data, t, share, mean, dim)
                                                : ordered_variance(data, t, share, mean, dim, arena)) /
                   variance;
    return true;
}

// ---- the forest

// Sums over trees of a figure, for its mean and standard deviation.
struct moments {
    double sum, squares;
};

struct forest {
    const struct rb_forest_data *data;
    double *unseen;      // sum of the predictions of trees that have not seen a point, [n]
    int *n_unseen;       // [n]
    struct moments *dims, together; // [n_dims]
    int n_trees;         // that have more than one leaf
};

static void add_moment(struct moments *m, double x)
{
    m->sum += x;
    m->squares += x * x;
}

static void finish_moment(const struct moments *m, int n, double *out_mean, double *out_sd)
{
    *out_mean = m->sum / n;
    *out_sd = n > 1 ? sqrt(fmax(0, (m->squares - m->sum * m->sum / n) / (n - 1))) : 0;
}

static void take_tree(struct forest *f, const struct rb_tree *t, struct rb_arena *arena)
{
    const struct rb_forest_data *data = f->data;
    double *shares = rb_arena_array(arena, (size_t)data->n_dims, sizeof *shares), rest = 1;
    for (int i = 0; i < data->n; i++) {
        if (t->n_drawn[i] > 0)
            continue;
        f->unseen[i] += rb_tree_value(t, data, &t->x[(size_t)i * (size_t)data->n_dims]);
        f->n_unseen[i]++;
    }
    if (!analyse(data, t, arena, shares))
        return;
    for (int dim = 0; dim < data->n_dims; dim++) {
        add_moment(&f->dims[dim], shares[dim]);
        rest -= shares[dim];
    }
    add_moment(&f->together, fmax(0, rest));
    f->n_trees++;
}

// 1 - squared errors of predictions over those of the mean.
static double out_of_bag_r2(const struct forest *f)
{
    double errors = 0, all = 0, mean = 0;
    for (int i = 0; i < f->data->n; i++)
        mean += f->data->y[i] / f->data->n;
    for (int i = 0; i < f->data->n; i++) {
        if (f->n_unseen[i] == 0)
            continue;
        const double error = f->data->y[i] - f->unseen[i] / f->n_unseen[i];
        errors += error * error;
        all += (f->data->y[i] - mean) * (f->data->y[i] - mean);
    }
    return all > 0 ? 1 - errors / all : 0;
}

static void grow_forest(struct forest *f, uint64_t seed)
{
    struct rb_arena arena;
    rb_arena_init(&arena);
    for (int i = 0; i < RB_IMPORTANCE_TREES; i++, rb_arena_reset(&arena)) {
        struct rb_stream random;
        struct rb_tree tree;
        rb_draws_init(&random, seed, RB_FOR_FOREST, (uint32_t)i);
        rb_tree_grow(f->data, &random, &arena, &tree);
        take_tree(f, &tree, &arena);
    }
    rb_arena_finish(&arena);
}

// ---- the answer

static int level_with_most(const struct rb_history *h)
{
    int most = -1, n_most = 0;
    for (int level = 0; level < h->n_levels; level++) {
        const int n = rb_history_count_at(h, level);
        if (n > n_most) {
            n_most = n;
            most = level;
        }
    }
    return most;
}

static void finish_known(const struct forest *f, struct rb_arena *arena, struct rb_importance *out)
{
    const int n = f->data->n_dims;
    out->share = rb_arena_array(arena, (size_t)n, sizeof *out->share);
    out->sd = rb_arena_array(arena, (size_t)n, sizeof *out->sd);
    for (int i = 0; i < n; i++)
        finish_moment(&f->dims[i], f->n_trees, &out->share[i], &out->sd[i]);
    finish_moment(&f->together, f->n_trees, &out->together, &out->together_sd);
    out->state = RB_IMPORTANCE_KNOWN;
}

static void try_level(const struct rb_coordinates *c, const struct rb_history *h, int level, uint64_t seed,
                      struct rb_arena *arena, struct rb_importance *out)
{
    struct rb_forest_data data;
    take_data(c, h, level, arena, &data);
    struct forest f = {
        .data = &data,
        .unseen = rb_arena_array(arena, (size_t)data.n, sizeof *f.unseen),
        .n_unseen = rb_arena_array(arena, (size_t)data.n, sizeof *f.n_unseen),
        .dims = rb_arena_array(arena, (size_t)data.n_dims, sizeof *f.dims),
    };
    grow_forest(&f, seed);
    out->state = RB_IMPORTANCE_UNSEEN;
    out->level = level;
    out->n_results = rb_history_count_at(h, level);
    out->r2 = out_of_bag_r2(&f);
    if (out->r2 >= RB_IMPORTANCE_R2 && f.n_trees > 0)
        finish_known(&f, arena, out);
}

void rb_importance_of(const struct rb_coordinates *c, const struct rb_history *h, uint64_t seed, struct rb_arena *arena,
                      struct rb_importance *out)
{
    const int least = 3 * c->n > RB_IMPORTANCE_LEAST ? 3 * c->n : RB_IMPORTANCE_LEAST, most = level_with_most(h);
    *out = (struct rb_importance){.state = RB_IMPORTANCE_FEW, .level = most, .least = least, .r2 = NAN};
    if (most < 0)
        return;
    out->n_results = rb_history_count_at(h, most);
    for (int level = h->n_levels - 1; c->n > 0 && level >= 0 && out->state != RB_IMPORTANCE_KNOWN; level--)
        if (rb_history_count_at(h, level) >= least)
            try_level(c, h, level, seed, arena, out);
}
