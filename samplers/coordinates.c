#include "samplers/coordinates.h"

#include "samplers/model/normal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CELLS 4096 // a finer lattice is treated as continuous

// ---- lattices: the space enumerates them

// A parameter by itself, without the condition that it depends on others.
static struct rb_param alone(const struct rb_param *p)
{
    struct rb_param copy = *p;
    copy.parent = -1;
    copy.n_parent_values = 0;
    return copy;
}

static int64_t count_points(const struct rb_param *p)
{
    const struct rb_param copy = alone(p);
    const struct rb_space one = {.params = &copy, .n_params = 1};
    int64_t n = 0;
    return rb_space_grid_size(&one, &n, NULL) ? n : 0;
}

static struct rb_value point_value(const struct rb_param *p, int64_t point)
{
    const struct rb_param copy = alone(p);
    const struct rb_space one = {.params = &copy, .n_params = 1};
    struct rb_value v;
    rb_space_grid_point(&one, point, &v);
    return v;
}

static bool is_lattice(const struct rb_param *p)
{
    return p->kind == RB_PARAM_INT_UNIFORM || p->kind == RB_PARAM_Q_UNIFORM;
}

// ---- init

static int coordinate_of_param(const struct rb_coordinates *c, int param)
{
    for (int i = 0; i < c->n; i++)
        if (c->items[i].param == param)
            return i;
    return -1;
}

static double *probability_edges(const struct rb_param *p)
{
    if (!p->probabilities)
        return NULL;
    double *edges = rb_xcalloc((size_t)p->n_values + 1, sizeof *edges), sum = 0;
    for (int i = 0; i < p->n_values; i++)
        sum += p->probabilities[i];
    for (int i = 0; i < p->n_values; i++)
        edges[i + 1] = fmin(1, edges[i] + p->probabilities[i] / sum);
    edges[p->n_values] = 1;
    return edges;
}

static bool same_condition(const struct rb_param *a, const struct rb_param *b)
{
    return a->parent == b->parent && a->n_parent_values == b->n_parent_values &&
           memcmp(a->parent_values, b->parent_values, (size_t)a->n_parent_values * sizeof *a->parent_values) == 0;
}

// Parameters with one condition apply together. Parents stand before their children, and so do their groups.
static int group_of(struct rb_coordinates *c, int coordinate)
{
    const struct rb_param *p = &c->space->params[c->items[coordinate].param];
    if (c->items[coordinate].parent < 0)
        return 0;
    for (int i = 0; i < coordinate; i++)
        if (c->items[i].parent >= 0 && same_condition(&c->space->params[c->items[i].param], p))
            return c->items[i].group;
    return c->n_groups++;
}

void rb_coordinates_init(struct rb_coordinates *c, const struct rb_space *space)
{
    *c = (struct rb_coordinates){.space = space, .n_groups = 1};
    c->items = rb_xcalloc((size_t)space->n_params + 1, sizeof *c->items);
    for (int i = 0; i < space->n_params; i++) {
        const struct rb_param *p = &space->params[i];
        if (p->kind == RB_PARAM_CONSTANT)
            continue;
        const int64_t n = count_points(p);
        const bool is_choice = p->kind == RB_PARAM_CHOICE;
        c->items[c->n] = (struct rb_coordinate){
            .param = i,
            .n_cells = is_choice || n <= MOST_CELLS ? (int)n : 0,
            .is_choice = is_choice,
            .edges = is_choice ? probability_edges(p) : NULL,
            .parent = p->n_parent_values > 0 ? coordinate_of_param(c, p->parent) : -1,
        };
        c->items[c->n].group = group_of(c, c->n);
        c->n++;
    }
}

void rb_coordinates_finish(struct rb_coordinates *c)
{
    for (int i = 0; i < c->n; i++)
        free(c->items[i].edges);
    free(c->items);
    *c = (struct rb_coordinates){0};
}

// ---- cells

double rb_coordinates_edge(const struct rb_coordinates *c, int coordinate, int cell)
{
    const struct rb_coordinate *k = &c->items[coordinate];
    return k->edges ? k->edges[cell] : (double)cell / k->n_cells;
}

double rb_coordinates_middle(const struct rb_coordinates *c, int coordinate, int cell)
{
    return (rb_coordinates_edge(c, coordinate, cell) + rb_coordinates_edge(c, coordinate, cell + 1)) / 2;
}

// A cell without width is never found.
int rb_coordinates_cell(const struct rb_coordinates *c, int coordinate, double u)
{
    const struct rb_coordinate *k = &c->items[coordinate];
    assert(k->n_cells > 0);
    if (!k->edges) {
        const int cell = (int)(u * k->n_cells);
        return cell < 0 ? 0 : cell >= k->n_cells ? k->n_cells - 1 : cell;
    }
    int last = 0;
    for (int i = 0; i < k->n_cells; i++) {
        if (!(k->edges[i + 1] > k->edges[i]))
            continue;
        last = i;
        if (u < k->edges[i + 1])
            break;
    }
    return last;
}

// ---- points to values

static struct rb_value float_value(double v)
{
    return (struct rb_value){.kind = RB_VALUE_FLOAT, .number = v};
}

static double between(double v, double min, double max)
{
    return fmax(min, fmin(max, v));
}

static struct rb_value continuous_value(const struct rb_param *p, double u)
{
    switch (p->kind) {
    case RB_PARAM_UNIFORM:
        return float_value(between(p->min + u * (p->max - p->min), p->min, p->max));
    case RB_PARAM_LOG_UNIFORM:
        return float_value(between(exp(log(p->min) + u * (log(p->max) - log(p->min))), p->min, p->max));
    case RB_PARAM_NORMAL:
        return float_value(p->mu + p->sigma * rb_normal_quantile(u));
    default:
        assert(p->kind == RB_PARAM_LOG_NORMAL);
        return float_value(exp(p->mu + p->sigma * rb_normal_quantile(u)));
    }
}

static struct rb_value value_at(const struct rb_coordinates *c, int coordinate, double u)
{
    const struct rb_coordinate *k = &c->items[coordinate];
    const struct rb_param *p = &c->space->params[k->param];
    if (k->n_cells > 0)
        return point_value(p, rb_coordinates_cell(c, coordinate, u));
    if (!is_lattice(p))
        return continuous_value(p, u);
    const int64_t n = count_points(p), point = (int64_t)(u * (double)n);
    return point_value(p, point < 0 ? 0 : point >= n ? n - 1 : point);
}

void rb_coordinates_values(const struct rb_coordinates *c, const double *u, struct rb_value *out_values)
{
    int coordinate = 0;
    for (int i = 0; i < c->space->n_params; i++) {
        const struct rb_param *p = &c->space->params[i];
        const bool varies = coordinate < c->n && c->items[coordinate].param == i;
        if (!rb_space_applies(c->space, out_values, i))
            out_values[i] = (struct rb_value){.kind = RB_VALUE_ABSENT};
        else
            out_values[i] = varies ? value_at(c, coordinate, u[coordinate]) : p->values[0];
        coordinate += varies;
    }
}

// ---- values to points

static bool choice_point(const struct rb_coordinates *c, int coordinate, const struct rb_value *v, double *out)
{
    const struct rb_param *p = &c->space->params[c->items[coordinate].param];
    for (int i = 0; i < p->n_values; i++)
        if (rb_value_equal(&p->values[i], v)) {
            *out = rb_coordinates_middle(c, coordinate, i);
            return true;
        }
    *out = rb_coordinates_middle(c, coordinate, rb_coordinates_cell(c, coordinate, 0));
    return false;
}

// The nearest point of a lattice.
static bool lattice_point(const struct rb_param *p, double x, double *out)
{
    const int64_t n = count_points(p);
    const double step = p->kind == RB_PARAM_INT_UNIFORM ? 1 : p->q;
    const double at = between(floor((x - p->min) / step + 0.5), 0, (double)n - 1);
    *out = (at + 0.5) / (double)n;
    return x >= p->min - step / 2 && x <= p->max + step / 2;
}

static bool number_point(const struct rb_param *p, double x, double *out)
{
    double u;
    switch (p->kind) {
    case RB_PARAM_UNIFORM:
        u = (x - p->min) / (p->max - p->min);
        break;
    case RB_PARAM_LOG_UNIFORM:
        u = x > 0 ? (log(x) - log(p->min)) / (log(p->max) - log(p->min)) : -1;
        break;
    case RB_PARAM_NORMAL:
        u = rb_normal_cdf((x - p->mu) / p->sigma);
        break;
    default:
        assert(p->kind == RB_PARAM_LOG_NORMAL);
        u = x > 0 ? rb_normal_cdf((log(x) - p->mu) / p->sigma) : -1;
        break;
    }
    *out = u >= 0 ? fmin(u, 1) : 0; // NaN counts as 0
    return u >= -1e-12 && u <= 1 + 1e-12;
}

static bool point_of(const struct rb_coordinates *c, int coordinate, const struct rb_value *v, double *out)
{
    const struct rb_coordinate *k = &c->items[coordinate];
    const struct rb_param *p = &c->space->params[k->param];
    if (k->is_choice)
        return choice_point(c, coordinate, v, out);
    if (v->kind != RB_VALUE_INT && v->kind != RB_VALUE_FLOAT) {
        *out = 0.5;
        return false;
    }
    return is_lattice(p) ? lattice_point(p, v->number, out) : number_point(p, v->number, out);
}

bool rb_coordinates_of(const struct rb_coordinates *c, const struct rb_value *values, double *out_u)
{
    bool all_within = true;
    for (int i = 0; i < c->n; i++) {
        out_u[i] = NAN;
        if (rb_space_applies(c->space, values, c->items[i].param))
            all_within &= point_of(c, i, &values[c->items[i].param], &out_u[i]);
    }
    return all_within;
}

// ---- conditions

bool rb_coordinates_apply(const struct rb_coordinates *c, const double *u, int coordinate)
{
    const struct rb_coordinate *k = &c->items[coordinate];
    if (k->parent < 0)
        return true;
    if (isnan(u[k->parent]) || !rb_coordinates_apply(c, u, k->parent))
        return false;
    const struct rb_param *p = &c->space->params[k->param];
    const int cell = rb_coordinates_cell(c, k->parent, u[k->parent]);
    for (int i = 0; i < p->n_parent_values; i++)
        if (p->parent_values[i] == cell)
            return true;
    return false;
}

void rb_coordinates_settle(const struct rb_coordinates *c, double *u)
{
    for (int i = 0; i < c->n; i++) {
        if (!rb_coordinates_apply(c, u, i))
            u[i] = NAN;
        else if (c->items[i].n_cells > 0)
            u[i] = rb_coordinates_middle(c, i, rb_coordinates_cell(c, i, u[i]));
    }
}
