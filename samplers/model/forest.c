// Every dimension keeps its points in order from the root on; a split divides all orders and keeps each sorted.
#include "samplers/model/forest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_IN_LEAF 5 // points of the bootstrap sample: with fewer, trees follow noise

struct grower {
    const struct rb_forest_data *data;
    struct rb_tree *tree;
    struct rb_arena *arena;
    int *order;               // [n_dims][n_points]: points of the sample, ascending in their dimension
    int *right;               // [n_points]: those that go right in a split
    int n_points;             // different ones
    struct rb_box_side *box;  // of the node that is grown, [n_dims]
};

struct split {
    int dim;
    double gain;
    double at;                // ordered: left is x <= at
    uint64_t left;            // categories
};

struct sum {
    double n, y;
};

static double square_over_n(struct sum s)
{
    return s.n > 0 ? s.y * s.y / s.n : 0;
}

static double x_of(const struct grower *g, int point, int dim)
{
    return g->tree->x[(size_t)point * (size_t)g->data->n_dims + (size_t)dim];
}

static void add(const struct grower *g, int point, struct sum *s)
{
    s->n += g->tree->n_drawn[point];
    s->y += g->tree->n_drawn[point] * g->data->y[point];
}

// ---- the sample

static double draw_cell(const struct rb_forest_dim *dim, double u)
{
    int cell = 0;
    for (double sum = dim->shares[0]; cell < dim->n_cells - 1 && u > sum;)
        sum += dim->shares[++cell];
    return cell;
}

static void draw_sample(const struct rb_forest_data *data, struct rb_stream *random, struct rb_tree *t)
{
    for (int i = 0; i < data->n; i++)
        t->n_drawn[rb_stream_below(random, (uint64_t)data->n)]++;
    for (int i = 0; i < data->n * data->n_dims; i++) {
        const struct rb_forest_dim *dim = &data->dims[i % data->n_dims];
        t->x[i] = data->x[i];
        if (isnan(t->x[i])) {
            const double u = rb_stream_uniform(random);
            t->x[i] = dim->n_cells > 0 ? draw_cell(dim, u) : u;
        }
    }
}

struct placed {
    double x;
    int point;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *p = a, *q = b;
    return p->x != q->x ? (p->x < q->x ? -1 : 1) : p->point - q->point;
}

static void sort_points(struct grower *g)
{
    struct placed *placed = rb_arena_array(g->arena, (size_t)g->data->n, sizeof *placed);
    for (int dim = 0; dim < g->data->n_dims; dim++) {
        int n = 0;
        for (int i = 0; i < g->data->n; i++)
            if (g->tree->n_drawn[i] > 0)
                placed[n++] = (struct placed){x_of(g, i, dim), i};
        qsort(placed, (size_t)n, sizeof *placed, compare_placed);
        for (int i = 0; i < n; i++)
            g->order[dim * g->n_points + i] = placed[i].point;
    }
}

// ---- splits

static void take_better(struct split *best, struct split s)
{
    if (s.gain > best->gain)
        *best = s;
}

static bool is_large_enough(struct sum left, struct sum all)
{
    return left.n >= LEAST_IN_LEAF && all.n - left.n >= LEAST_IN_LEAF;
}

// How much less the squared errors are with two means than with one.
static double gain_of(struct sum left, struct sum all)
{
    const struct sum right = {all.n - left.n, all.y - left.y};
    return square_over_n(left) + square_over_n(right) - square_over_n(all);
}

static void split_ordered(const struct grower *g, int dim, int from, int to, struct sum all, struct split *best)
{
    const int *order = &g->order[dim * g->n_points];
    struct sum left = {0};
    for (int i = from; i < to - 1; i++) {
        add(g, order[i], &left);
        const double x = x_of(g, order[i], dim), next = x_of(g, order[i + 1], dim);
        if (x < next && is_large_enough(left, all))
            take_better(best, (struct split){dim, gain_of(left, all), x + (next - x) / 2, 0});
    }
}

struct category {
    struct sum sum;
    int cell;
};

static int compare_categories(const void *a, const void *b)
{
    const struct category *p = a, *q = b;
    const double x = p->sum.y / p->sum.n, y = q->sum.y / q->sum.n;
    return x != y ? (x < y ? -1 : 1) : p->cell - q->cell;
}

// The best of all partitions in two is one of those by the categories' means (Breiman et al., 1984).
static void split_categories(const struct grower *g, int dim, int from, int to, struct sum all, struct split *best)
{
    struct category by_cell[RB_FOREST_CELLS] = {0};
    int n = 0;
    for (int i = from; i < to; i++) {
        const int point = g->order[dim * g->n_points + i];
        add(g, point, &by_cell[(int)x_of(g, point, dim)].sum);
    }
    for (int cell = 0; cell < g->data->dims[dim].n_cells; cell++)
        if (by_cell[cell].sum.n > 0)
            by_cell[n++] = (struct category){by_cell[cell].sum, cell};
    qsort(by_cell, (size_t)n, sizeof *by_cell, compare_categories);
    struct sum left = {0};
    uint64_t cells = 0;
    for (int i = 0; i < n - 1; i++) {
        left.n += by_cell[i].sum.n;
        left.y += by_cell[i].sum.y;
        cells |= UINT64_C(1) << by_cell[i].cell;
        if (is_large_enough(left, all))
            take_better(best, (struct split){dim, gain_of(left, all), 0, cells});
    }
}

static struct split best_split(const struct grower *g, int from, int to, struct sum all)
{
    struct split best = {.dim = -1, .gain = 1e-12 * (1 + fabs(all.y))};
    for (int dim = 0; dim < g->data->n_dims; dim++) {
        if (g->data->dims[dim].n_cells > 0)
            split_categories(g, dim, from, to, all, &best);
        else
            split_ordered(g, dim, from, to, all, &best);
    }
    return best;
}

// ---- growing

static bool goes_left(const struct grower *g, const struct split *s, int point)
{
    const double x = x_of(g, point, s->dim);
    return g->data->dims[s->dim].n_cells > 0 ? s->left >> (int)x & 1 : x <= s->at;
}

// Points that go left to the front of every order. Returns where the right ones begin.
static int divide(struct grower *g, const struct split *s, int from, int to)
{
    int at = from;
    for (int dim = 0; dim < g->data->n_dims; dim++) {
        int *order = &g->order[dim * g->n_points], n_right = 0;
        at = from;
        for (int i = from; i < to; i++) {
            if (goes_left(g, s, order[i]))
                order[at++] = order[i];
            else
                g->right[n_right++] = order[i];
        }
        memcpy(&order[at], g->right, (size_t)n_right * sizeof *order);
    }
    return at;
}

static void add_leaf(struct grower *g, double value)
{
    struct rb_tree *t = g->tree;
    const size_t n_dims = (size_t)g->data->n_dims;
    memcpy(&t->sides[(size_t)t->n_leaves * n_dims], g->box, n_dims * sizeof *g->box);
    t->values[t->n_leaves++] = value;
}

static void grow(struct grower *g, int from, int to)
{
    struct sum all = {0};
    for (int i = from; i < to; i++)
        add(g, g->order[i], &all);
    const struct split s = best_split(g, from, to, all);
    if (s.dim < 0) {
        add_leaf(g, all.y / all.n);
        return;
    }
    const int middle = divide(g, &s, from, to);
    const struct rb_box_side side = g->box[s.dim];
    // A category that no point here has goes with the right ones.
    g->box[s.dim] = (struct rb_box_side){side.low, s.at, side.cells & s.left};
    grow(g, from, middle);
    g->box[s.dim] = (struct rb_box_side){s.at, side.high, side.cells & ~s.left};
    grow(g, middle, to);
    g->box[s.dim] = side;
}

void rb_tree_grow(const struct rb_forest_data *data, struct rb_stream *random, struct rb_arena *arena, struct rb_tree *out)
{
    const size_t n = (size_t)data->n, n_dims = (size_t)data->n_dims;
    struct grower g = {.data = data, .tree = out, .arena = arena};
    *out = (struct rb_tree){
        .x = rb_arena_array(arena, n * n_dims, sizeof *out->x),
        .n_drawn = rb_arena_array(arena, n, sizeof *out->n_drawn),
    };
    draw_sample(data, random, out);
    for (int i = 0; i < data->n; i++)
        g.n_points += out->n_drawn[i] > 0;
    out->sides = rb_arena_array(arena, (size_t)g.n_points * n_dims, sizeof *out->sides);
    out->values = rb_arena_array(arena, (size_t)g.n_points, sizeof *out->values);
    g.order = rb_arena_array(arena, (size_t)g.n_points * n_dims, sizeof *g.order);
    g.right = rb_arena_array(arena, (size_t)g.n_points, sizeof *g.right);
    g.box = rb_arena_array(arena, n_dims, sizeof *g.box);
    for (int dim = 0; dim < data->n_dims; dim++)
        g.box[dim] = (struct rb_box_side){0, 1, UINT64_MAX};
    sort_points(&g);
    grow(&g, 0, g.n_points);
}

// ---- use

// The side at 0 has 0, too.
static bool is_on(const struct rb_box_side *side, const struct rb_forest_dim *dim, double x)
{
    if (dim->n_cells > 0)
        return side->cells >> (int)x & 1;
    return (x > side->low || side->low == 0) && x <= side->high;
}

double rb_tree_value(const struct rb_tree *t, const struct rb_forest_data *data, const double *x)
{
    for (int leaf = 0; leaf < t->n_leaves; leaf++) {
        const struct rb_box_side *sides = &t->sides[(size_t)leaf * (size_t)data->n_dims];
        int dim = 0;
        while (dim < data->n_dims && is_on(&sides[dim], &data->dims[dim], x[dim]))
            dim++;
        if (dim == data->n_dims)
            return t->values[leaf];
    }
    return NAN; // outside of the cube
}

double rb_box_side_share(const struct rb_box_side *side, const struct rb_forest_dim *dim)
{
    double share = 0;
    if (dim->n_cells == 0)
        return side->high - side->low;
    for (int cell = 0; cell < dim->n_cells; cell++)
        share += side->cells >> cell & 1 ? dim->shares[cell] : 0;
    return share;
}
