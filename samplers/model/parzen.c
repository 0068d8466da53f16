#include "samplers/model/parzen.h"

#include "base/order.h"
#include "samplers/model/normal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEWEST      25  // points of full weight
#define LEAST_WIDTH 0.2 // times n^(-1/(d+4))
#define FEW_CELLS   64  // with more, a cell's mass is its width times the density
#define BEYOND      8.3 // standard deviations: nothing is left in double precision
#define LEAST_MASS  1e-300
#define LN_ROOT_2PI 0.91893853320467274178

static bool is_continuous(const struct rb_parzen *p, int dim)
{
    const struct rb_coordinate *k = &p->coordinates->items[p->dims[dim]];
    return !k->is_choice && (k->n_cells == 0 || k->n_cells > FEW_CELLS);
}

static bool is_choice(const struct rb_parzen *p, int dim)
{
    return p->coordinates->items[p->dims[dim]].is_choice;
}

static double *row_of(double *matrix, const struct rb_parzen *p, int dim)
{
    return matrix + (size_t)dim * (size_t)p->n;
}

// ---- widths

struct place {
    double mu;
    int index;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->mu < y->mu ? -1 : x->mu > y->mu ? 1 : (x->index > y->index) - (x->index < y->index);
}

// At least Scott's width: in many dimensions the gaps of many points are so small that their kernels would cover
// nothing, and only the good points would count. Else the larger gap to a neighbour; the first and the last have
// their inner gap only, and one alone that to an end.
static double gap_at(const struct place *sorted, int m, int i)
{
    const double below = i > 0 ? sorted[i].mu - sorted[i - 1].mu : sorted[i].mu;
    const double above = i < m - 1 ? sorted[i + 1].mu - sorted[i].mu : 1 - sorted[i].mu;
    if (m > 1 && i == 0)
        return above;
    if (m > 1 && i == m - 1)
        return below;
    return fmax(below, above);
}

static void set_widths(struct rb_parzen *p, int dim, struct place *scratch)
{
    const int m = p->n - 1;
    const double *mu = row_of(p->mu, p, dim);
    double *sd = row_of(p->sd, p, dim);
    const double least = LEAST_WIDTH * pow(m, -1.0 / (p->n_dims + 4));
    for (int i = 0; i < m; i++)
        scratch[i] = (struct place){mu[i], i};
    qsort(scratch, (size_t)m, sizeof *scratch, compare_places);
    for (int i = 0; i < m; i++)
        sd[scratch[i].index] = fmax(least, fmin(1, gap_at(scratch, m, i)));
}

// ---- weights

// The prior weighs as much as a new point.
static void set_weights(struct rb_parzen *p, const double *weights)
{
    const int m = p->n - 1, n_old = m - NEWEST;
    double sum = 0;
    for (int i = 0; i <= m; i++) {
        double w = 1;
        if (i < n_old)
            w = 1.0 / m + (1 - 1.0 / m) * i / n_old;
        if (i < m && weights)
            w *= weights[i];
        p->share[i] = w;
        sum += w;
    }
    for (int i = 0; i <= m; i++) {
        p->share[i] /= sum;
        p->log_weight[i] = log(fmax(p->share[i], DBL_MIN));
    }
}

static void normalise_continuous(struct rb_parzen *p, int dim)
{
    const double *mu = row_of(p->mu, p, dim), *sd = row_of(p->sd, p, dim);
    double *inverse = row_of(p->inverse_sd, p, dim);
    for (int i = 0; i < p->n; i++) {
        inverse[i] = 1 / sd[i];
        p->log_weight[i] -= LN_ROOT_2PI + log(sd[i] * rb_truncated_mass(mu[i], sd[i]));
    }
}

void rb_parzen_init(struct rb_parzen *p, const struct rb_coordinates *c, const int *dims, int n_dims,
                    const double *const *points, const double *weights, int n, struct rb_arena *arena)
{
    *p = (struct rb_parzen){.coordinates = c, .dims = dims, .n_dims = n_dims, .n = n + 1, .arena = arena};
    p->mu = rb_arena_array(arena, (size_t)n_dims * (size_t)p->n, sizeof *p->mu);
    p->sd = rb_arena_array(arena, (size_t)n_dims * (size_t)p->n, sizeof *p->sd);
    p->inverse_sd = rb_arena_array(arena, (size_t)n_dims * (size_t)p->n, sizeof *p->inverse_sd);
    p->log_weight = rb_arena_array(arena, (size_t)p->n, sizeof *p->log_weight);
    p->share = rb_arena_array(arena, (size_t)p->n, sizeof *p->share);
    p->masses = rb_arena_array(arena, (size_t)n_dims, sizeof *p->masses);
    p->edges = rb_arena_array(arena, (size_t)n_dims, sizeof *p->edges);
    struct place *scratch = rb_arena_array(arena, (size_t)n, sizeof *scratch);
    set_weights(p, weights);
    for (int d = 0; d < n_dims; d++) {
        double *mu = row_of(p->mu, p, d);
        for (int i = 0; i < n; i++)
            mu[i] = is_choice(p, d) ? rb_coordinates_cell(c, dims[d], points[i][dims[d]]) : points[i][dims[d]];
        mu[n] = is_choice(p, d) ? -1 : 0.5;
        set_widths(p, d, scratch);
        row_of(p->sd, p, d)[n] = 1;
        if (is_continuous(p, d)) {
            normalise_continuous(p, d);
        } else {
            p->masses[d] = rb_arena_array(arena, (size_t)c->items[dims[d]].n_cells, sizeof *p->masses[d]);
            p->edges[d] = rb_arena_array(arena, (size_t)c->items[dims[d]].n_cells + 1, sizeof *p->edges[d]);
        }
    }
}

// ---- density

// The given choice once, and every choice by its prior with the weight K / (m + 1) of K choices and m points.
static double choice_mass(const struct rb_parzen *p, int dim, int kernel, int cell)
{
    const int coordinate = p->dims[dim];
    const double spread = (double)p->coordinates->items[coordinate].n_cells / p->n;
    const double prior = rb_coordinates_edge(p->coordinates, coordinate, cell + 1) -
                         rb_coordinates_edge(p->coordinates, coordinate, cell);
    const int given = (int)row_of(p->mu, p, dim)[kernel];
    return given < 0 ? prior : ((given == cell) + spread * prior) / (1 + spread);
}

// The mass of every kernel's normal below the edge at which a cell begins. Neighbouring cells share it.
static const double *below_edge(struct rb_parzen *p, int dim, int cell)
{
    double **kept = &p->edges[dim][cell];
    if (*kept)
        return *kept;
    const double *mu = row_of(p->mu, p, dim), *sd = row_of(p->sd, p, dim);
    const double edge = rb_coordinates_edge(p->coordinates, p->dims[dim], cell);
    *kept = rb_arena_array(p->arena, (size_t)p->n, sizeof **kept);
    for (int i = 0; i < p->n; i++) {
        const double z = (edge - mu[i]) / sd[i];
        (*kept)[i] = z > BEYOND ? 1 : z < -BEYOND ? 0 : rb_normal_cdf(z);
    }
    return *kept;
}

static void set_cell_masses(struct rb_parzen *p, int dim, int cell, double *out)
{
    const double *low = below_edge(p, dim, cell), *high = below_edge(p, dim, cell + 1);
    const double *first = below_edge(p, dim, 0);
    const double *last = below_edge(p, dim, p->coordinates->items[p->dims[dim]].n_cells);
    for (int i = 0; i < p->n; i++)
        out[i] = log(fmax(LEAST_MASS, (high[i] - low[i]) / (last[i] - first[i])));
}

static const double *log_masses(struct rb_parzen *p, int dim, int cell)
{
    double **kept = &p->masses[dim][cell];
    if (*kept)
        return *kept;
    *kept = rb_arena_array(p->arena, (size_t)p->n, sizeof **kept);
    if (!is_choice(p, dim))
        set_cell_masses(p, dim, cell, *kept);
    for (int i = 0; i < p->n && is_choice(p, dim); i++)
        (*kept)[i] = log(choice_mass(p, dim, i, cell));
    return *kept;
}

static void add_continuous(const struct rb_parzen *p, int dim, double u, double *log_kernels)
{
    const double *mu = row_of(p->mu, p, dim), *inverse = row_of(p->inverse_sd, p, dim);
    for (int i = 0; i < p->n; i++) {
        const double z = (u - mu[i]) * inverse[i];
        log_kernels[i] -= 0.5 * z * z;
    }
}

static double log_sum_exp(const double *x, int n)
{
    double most = x[0], sum = 0;
    for (int i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int i = 0; i < n; i++)
        if (x[i] > most - 40) // the rest is lost in rounding
            sum += exp(x[i] - most);
    return most + log(sum);
}

double rb_parzen_log_density(struct rb_parzen *p, const double *u)
{
    double *log_kernels = rb_arena_array(p->arena, (size_t)p->n, sizeof *log_kernels);
    double widths = 0; // of cells that are treated as continuous
    memcpy(log_kernels, p->log_weight, (size_t)p->n * sizeof *log_kernels);
    for (int d = 0; d < p->n_dims; d++) {
        const int coordinate = p->dims[d];
        if (is_continuous(p, d)) {
            add_continuous(p, d, u[coordinate], log_kernels);
            if (p->coordinates->items[coordinate].n_cells > 0)
                widths -= log(p->coordinates->items[coordinate].n_cells);
            continue;
        }
        const double *masses = log_masses(p, d, rb_coordinates_cell(p->coordinates, coordinate, u[coordinate]));
        for (int i = 0; i < p->n; i++)
            log_kernels[i] += masses[i];
    }
    return widths + log_sum_exp(log_kernels, p->n);
}

// ---- draws

static int draw_index(const double *shares, int n, double u)
{
    double below = 0;
    for (int i = 0; i < n; i++) {
        below += shares[i];
        if (u < below)
            return i;
    }
    return n - 1;
}

static double draw_choice(const struct rb_parzen *p, int dim, int kernel, double u)
{
    const int coordinate = p->dims[dim];
    double below = 0;
    int last = 0;
    for (int cell = 0; cell < p->coordinates->items[coordinate].n_cells; cell++) {
        const double mass = choice_mass(p, dim, kernel, cell);
        last = mass > 0 ? cell : last;
        below += mass;
        if (u < below)
            break;
    }
    return rb_coordinates_middle(p->coordinates, coordinate, last);
}

void rb_parzen_draw(const struct rb_parzen *p, struct rb_stream *s, double *u)
{
    const int kernel = draw_index(p->share, p->n, rb_stream_uniform(s));
    for (int d = 0; d < p->n_dims; d++) {
        const int coordinate = p->dims[d];
        const double r = rb_stream_uniform(s);
        if (is_choice(p, d)) {
            u[coordinate] = draw_choice(p, d, kernel, r);
            continue;
        }
        u[coordinate] = rb_truncated_quantile(row_of(p->mu, p, d)[kernel], row_of(p->sd, p, d)[kernel], r);
        if (p->coordinates->items[coordinate].n_cells > 0)
            u[coordinate] = rb_coordinates_middle(p->coordinates, coordinate,
                                                  rb_coordinates_cell(p->coordinates, coordinate, u[coordinate]));
    }
}
