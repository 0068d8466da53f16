#include "samplers/cost.h"

#include "samplers/model/encoding.h"
#include "samplers/model/linear.h"

#include <math.h>
#include <string.h>

#define LEAST_TIMES 10
#define NOISE       0.3 // sd of ln seconds around the line, against sd 1 of a coefficient over its whole range

const char *const rb_cost_names[] = {"aware", "blind", NULL};

struct times {
    double *x; // [n][n_features]
    double *y; // [n] ln seconds
    int n;
};

static void add_time(struct times *t, const struct rb_coordinates *c, const double *u, double unit_s, int n_features)
{
    if (!(unit_s > 0) || !isfinite(unit_s))
        return;
    rb_encoding_of(c, u, t->x + (size_t)t->n * (size_t)n_features);
    t->y[t->n++] = log(unit_s);
}

static void centre(double *column, int n, int stride)
{
    double mean = 0;
    for (int i = 0; i < n; i++)
        mean += column[i * stride];
    mean /= n;
    for (int i = 0; i < n; i++)
        column[i * stride] -= mean;
}

// (X'X + noise^2) w = X'y; the intercept has a flat prior: it is taken out by centring.
static void solve(struct rb_cost *cost, struct times *t, struct rb_arena *arena)
{
    const int k = cost->n_features;
    struct rb_factor f;
    double *row = rb_arena_array(arena, (size_t)k, sizeof *row);
    cost->weights = rb_arena_array(arena, (size_t)k, sizeof *cost->weights);
    for (int j = 0; j < k; j++)
        centre(t->x + j, t->n, k);
    centre(t->y, t->n, 1);
    rb_factor_init(&f, k);
    for (int i = 0; i < k; i++) {
        memset(row, 0, (size_t)k * sizeof *row);
        double own = NOISE * NOISE;
        for (int o = 0; o < t->n; o++) {
            const double *x = t->x + (size_t)o * (size_t)k;
            for (int j = 0; j < i; j++)
                row[j] += x[i] * x[j];
            own += x[i] * x[i];
            cost->weights[i] += x[i] * t->y[o];
        }
        if (!rb_factor_append(&f, row, own)) { // cannot happen: the noise keeps the matrix away from singular ones
            cost->weights = NULL;
            break;
        }
    }
    if (cost->weights) {
        rb_factor_solve_lower(&f, cost->weights);
        rb_factor_solve_upper(&f, cost->weights);
    }
    rb_factor_finish(&f);
}

void rb_cost_fit(struct rb_cost *cost, const struct rb_coordinates *c, const struct rb_history *h,
                 const struct rb_ask *ask, struct rb_arena *arena)
{
    *cost = (struct rb_cost){.coordinates = c, .n_features = rb_encoding_count(c)};
    if (!(ask->budget > 0))
        return;
    cost->exponent = fmax(0, fmin(1, (ask->budget - ask->spent) / ask->budget));
    struct times t = {0};
    const size_t most = (size_t)h->n_trials + (size_t)h->n_recalled;
    t.x = rb_arena_array(arena, most * (size_t)cost->n_features, sizeof *t.x);
    t.y = rb_arena_array(arena, most, sizeof *t.y);
    for (int i = 0; i < h->n_recalled; i++)
        add_time(&t, c, h->recalled[i].u, h->recalled[i].unit_s, cost->n_features);
    for (int i = 0; i < h->n_trials; i++)
        add_time(&t, c, h->trials[i].u, h->trials[i].unit_s, cost->n_features);
    if (t.n >= LEAST_TIMES)
        solve(cost, &t, arena);
}

double rb_cost_penalty(const struct rb_cost *cost, const double *u)
{
    if (!cost->weights)
        return 0;
    double x[RB_ENCODING_MAX], sum = 0;
    rb_encoding_of(cost->coordinates, u, x);
    for (int j = 0; j < cost->n_features; j++)
        sum += cost->weights[j] * x[j];
    return cost->exponent * sum;
}
