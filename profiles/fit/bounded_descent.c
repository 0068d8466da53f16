#include "profiles/fit/bounded_descent.h"

#include "profiles/fit/line_search.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define N              RB_DESCENT_MAX
#define MEMORY         10 // pairs of steps and changes of gradient
#define MAX_ITERATIONS 15000
#define MAX_TRIALS     20   // of one line search
#define FLAT           1e-5 // projected gradient
#define LEAST_DECREASE 2.220446049250313e-09
#define NO_LIMIT       1e10 // longest step where no bound is met

// For the variables that are not fixed.
struct descent {
    const struct rb_descent_problem *p;
    int at[N]; // which variable of the problem
    int n;
    double low[N], high[N];
    double x[N], gradient[N], value;
    double all[N], all_gradient[N];              // of every variable of the problem
    double steps[MEMORY][N], changes[MEMORY][N]; // oldest first
    int n_pairs;
    double scale;        // of the matrix before any pair
    double matrix[N][N]; // BFGS approximation of the Hessian
    bool free[N];        // at the Cauchy point
};

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void times_matrix(const struct descent *d, const double *v, double *out)
{
    for (int i = 0; i < d->n; i++)
        out[i] = dot(d->matrix[i], v, d->n);
}

static void forget(struct descent *d)
{
    d->n_pairs = 0;
    d->scale = 1;
}

static void build_matrix(struct descent *d)
{
    memset(d->matrix, 0, sizeof d->matrix);
    for (int i = 0; i < d->n; i++)
        d->matrix[i][i] = d->scale;
    for (int k = 0; k < d->n_pairs; k++) {
        const double *s = d->steps[k], *y = d->changes[k];
        double bs[N];
        times_matrix(d, s, bs);
        const double sbs = dot(s, bs, d->n), sy = dot(s, y, d->n);
        for (int i = 0; i < d->n; i++) {
            for (int j = 0; j < d->n; j++)
                d->matrix[i][j] += y[i] * y[j] / sy - bs[i] * bs[j] / sbs;
        }
    }
}

static void evaluate(struct descent *d)
{
    for (int i = 0; i < d->n; i++)
        d->all[d->at[i]] = d->x[i];
    d->value = d->p->value(d->p->arg, d->all, d->all_gradient);
    for (int i = 0; i < d->n; i++)
        d->gradient[i] = d->all_gradient[d->at[i]];
}

static double projected_gradient(const struct descent *d)
{
    double largest = 0;
    for (int i = 0; i < d->n; i++) {
        const double g =
            d->gradient[i] < 0 ? fmax(d->x[i] - d->high[i], d->gradient[i]) : fmin(d->x[i] - d->low[i], d->gradient[i]);
        largest = fmax(largest, fabs(g));
    }
    return largest;
}

// ---- Cauchy point: the first minimum of the quadratic model along the projected gradient

// The time at which variable i meets its bound along direction; INFINITY: never.
static double time_to_bound(const struct descent *d, int i, double direction)
{
    if (direction < 0)
        return (d->x[i] - d->low[i]) / -direction;
    return direction > 0 ? (d->high[i] - d->x[i]) / direction : INFINITY;
}

static void first_direction(struct descent *d, double *direction)
{
    for (int i = 0; i < d->n; i++) {
        const double down = -d->gradient[i];
        const bool stuck = (d->x[i] <= d->low[i] && down <= 0) || (d->x[i] >= d->high[i] && down >= 0);
        d->free[i] = !stuck;
        direction[i] = stuck ? 0 : down;
    }
}

static int next_to_stop(const struct descent *d, const double *direction, double *out_at)
{
    int next = -1;
    *out_at = INFINITY;
    for (int i = 0; i < d->n; i++) {
        const double at = time_to_bound(d, i, direction[i]);
        if (at < *out_at) {
            next = i;
            *out_at = at;
        }
    }
    return next;
}

static void cauchy_point(struct descent *d, double *z)
{
    double direction[N], moved[N] = {0}, bd[N], now = 0;
    first_direction(d, direction);
    for (int left = d->n; left >= 0; left--) {
        double stop_at;
        const int stops = next_to_stop(d, direction, &stop_at);
        times_matrix(d, direction, bd);
        const double slope = dot(d->gradient, direction, d->n) + dot(bd, moved, d->n);
        const double curvature = dot(direction, bd, d->n);
        const double minimum_at = now + (curvature > 0 ? fmax(-slope / curvature, 0) : 0);
        const bool ends = stops < 0 || !(minimum_at >= stop_at);
        const double until = ends ? minimum_at : stop_at;
        for (int i = 0; i < d->n; i++) {
            if (fabs(direction[i]) > 0)
                moved[i] = until * direction[i];
        }
        if (ends)
            break;
        now = stop_at;
        moved[stops] = (direction[stops] > 0 ? d->high[stops] : d->low[stops]) - d->x[stops];
        direction[stops] = 0;
        d->free[stops] = false;
    }
    for (int i = 0; i < d->n; i++) {
        const bool at_low = !d->free[i] && moved[i] < 0, at_high = !d->free[i] && moved[i] > 0;
        z[i] = at_low ? d->low[i] : at_high ? d->high[i] : d->x[i] + moved[i];
    }
}

// ---- minimum of the model over the variables that are free at the Cauchy point

// Solves matrix[free][free] x = b by Cholesky; false: not positive definite.
static bool solve_free(const struct descent *d, const int *free, int n_free, double *b)
{
    double l[N][N];
    for (int i = 0; i < n_free; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = d->matrix[free[i]][free[j]];
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            if (i == j && !(sum > 0))
                return false;
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
    }
    for (int i = 0; i < n_free; i++)
        b[i] = (b[i] - dot(l[i], b, i)) / l[i][i];
    for (int i = n_free - 1; i >= 0; i--) {
        for (int k = i + 1; k < n_free; k++)
            b[i] -= l[k][i] * b[k];
        b[i] /= l[i][i];
    }
    return true;
}

// Projects the point if that still descends; else goes to the first bound.
static void go_within_bounds(const struct descent *d, const int *free, int n_free, double *by, double *z)
{
    double projected[N], alpha = 1;
    bool bound = false;
    int first = -1;
    memcpy(projected, z, sizeof projected);
    for (int k = 0; k < n_free; k++) {
        const int i = free[k];
        projected[i] = fmin(fmax(z[i] + by[k], d->low[i]), d->high[i]);
        bound |= projected[i] <= d->low[i] || projected[i] >= d->high[i];
    }
    double slope = 0;
    for (int i = 0; i < d->n; i++)
        slope += (projected[i] - d->x[i]) * d->gradient[i];
    if (!bound || slope <= 0) {
        memcpy(z, projected, sizeof projected);
        return;
    }
    for (int k = 0; k < n_free; k++) {
        const int i = free[k];
        const double room = by[k] < 0 ? d->low[i] - z[i] : d->high[i] - z[i];
        const double until = fabs(by[k]) > 0 ? fmax(room / by[k], 0) : INFINITY;
        if (until < alpha) {
            alpha = until;
            first = k;
        }
    }
    for (int k = 0; k < n_free; k++)
        z[free[k]] += alpha * by[k];
    if (first >= 0)
        z[free[first]] = by[first] > 0 ? d->high[free[first]] : d->low[free[first]];
}

static bool minimise_over_free(const struct descent *d, double *z)
{
    int free[N], n_free = 0;
    double moved[N], b[N], by[N];
    for (int i = 0; i < d->n; i++) {
        moved[i] = z[i] - d->x[i];
        if (d->free[i])
            free[n_free++] = i;
    }
    if (n_free == 0 || d->n_pairs == 0)
        return true;
    times_matrix(d, moved, b);
    for (int k = 0; k < n_free; k++)
        by[k] = -d->gradient[free[k]] - b[free[k]];
    if (!solve_free(d, free, n_free, by))
        return false;
    go_within_bounds(d, free, n_free, by, z);
    return true;
}

// ---- the step

static double longest_step(const struct descent *d, const double *direction)
{
    double longest = NO_LIMIT;
    for (int i = 0; i < d->n; i++) {
        const double until = time_to_bound(d, i, direction[i]);
        longest = fmin(longest, fmax(until, 0));
    }
    return fmax(longest, 1); // the direction ends inside the bounds despite rounding
}

struct step {
    double direction[N], length, slope_before, slope_after;
};

// From x towards z. False: no lower point was found, and d is unchanged.
static bool search(struct descent *d, const double *z, bool first, struct step *s)
{
    struct descent before = *d;
    struct rb_line_search line;
    for (int i = 0; i < d->n; i++)
        s->direction[i] = z[i] - d->x[i];
    const double norm = sqrt(dot(s->direction, s->direction, d->n));
    const double longest = first ? 1 : longest_step(d, s->direction);
    s->slope_before = dot(d->gradient, s->direction, d->n);
    s->length = first ? fmin(1 / norm, longest) : 1;
    if (!(s->slope_before < 0))
        return false;
    rb_line_search_init(&line, d->value, s->slope_before, s->length, longest);
    for (int trial = 0; trial < MAX_TRIALS; trial++) {
        for (int i = 0; i < d->n; i++)
            d->x[i] = s->length >= 1 && s->length <= 1 ? z[i] : before.x[i] + s->length * s->direction[i];
        evaluate(d);
        s->slope_after = dot(d->gradient, s->direction, d->n);
        if (rb_line_search_next(&line, d->value, s->slope_after, &s->length))
            return true;
    }
    *d = before;
    return false;
}

// Only pairs of positive curvature keep the matrix positive definite. The scale counts the fixed variables too, as the
// reference implementation does.
static void remember(struct descent *d, const struct step *s, const double *all_gradient_before)
{
    const double curvature = (s->slope_after - s->slope_before) * s->length;
    if (curvature <= DBL_EPSILON * -s->slope_before * s->length)
        return;
    if (d->n_pairs == MEMORY) {
        memmove(d->steps, d->steps + 1, sizeof d->steps - sizeof d->steps[0]);
        memmove(d->changes, d->changes + 1, sizeof d->changes - sizeof d->changes[0]);
        d->n_pairs--;
    }
    double square = 0;
    for (int i = 0; i < d->p->n; i++) {
        const double change = d->all_gradient[i] - all_gradient_before[i];
        square += change * change;
    }
    for (int i = 0; i < d->n; i++) {
        d->steps[d->n_pairs][i] = s->length * s->direction[i];
        d->changes[d->n_pairs][i] = d->gradient[i] - all_gradient_before[d->at[i]];
    }
    d->scale = square / curvature;
    d->n_pairs++;
}

static void init(struct descent *d, const struct rb_descent_problem *p, const double *x)
{
    *d = (struct descent){.p = p};
    forget(d);
    for (int i = 0; i < p->n; i++) {
        d->all[i] = fmin(fmax(x[i], p->low[i]), p->high[i]);
        if (p->low[i] < p->high[i]) {
            d->low[d->n] = p->low[i];
            d->high[d->n] = p->high[i];
            d->x[d->n] = d->all[i];
            d->at[d->n++] = i;
        }
    }
    evaluate(d);
}

double rb_bounded_descent(const struct rb_descent_problem *p, double *x)
{
    struct descent d;
    init(&d, p, x);
    for (int n_done = 0; n_done < MAX_ITERATIONS && projected_gradient(&d) > FLAT;) {
        double z[N] = {0}, all_gradient_before[N];
        const double value_before = d.value;
        struct step s;
        memcpy(all_gradient_before, d.all_gradient, sizeof all_gradient_before);
        build_matrix(&d);
        cauchy_point(&d, z);
        if (!minimise_over_free(&d, z) || !search(&d, z, n_done == 0, &s)) {
            if (d.n_pairs == 0)
                break;
            forget(&d);
            continue;
        }
        n_done++;
        if (value_before - d.value <= LEAST_DECREASE * fmax(fmax(fabs(value_before), fabs(d.value)), 1))
            break;
        remember(&d, &s, all_gradient_before);
    }
    for (int i = 0; i < d.n; i++)
        d.all[d.at[i]] = d.x[i];
    memcpy(x, d.all, (size_t)p->n * sizeof *x);
    return d.value;
}
