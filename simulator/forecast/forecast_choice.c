#include "simulator/forecast/forecast_choice.h"

#include <math.h>
#include <string.h>

// Points at which distribution functions are stored; the expectation above `reached` is a sum over them.
enum { POINTS = 64, LANES = 4 };

struct table {
    const struct rb_choice *c;
    double low, step;
    double below[RB_CHOICE_TRIALS][RB_CHOICE_SIZES][POINTS]; // P(score of the trial <= point)
    double newcomer[POINTS];                                 // of one newcomer, its logarithm
};

// ---- distribution functions

static double below(const struct rb_prospect *p, double x, double least_sd)
{
    const double sd = p->sd > least_sd ? p->sd : least_sd;
    return 0.5 * erfc((p->mean - x) / (sd * M_SQRT2));
}

static double highest(const struct rb_choice *c)
{
    double high = c->reached;
    for (int i = 0; i < c->n_trials; i++) {
        for (int s = 1; s < c->n_sizes; s++)
            high = fmax(high, c->prospects[i][s].mean + 4 * c->prospects[i][s].sd);
    }
    for (int j = 0; j < c->n_newcomers; j++)
        high = fmax(high, c->newcomers[j].mean + 4 * c->newcomers[j].sd);
    return high;
}

static void fill_point(struct table *t, int p)
{
    const struct rb_choice *c = t->c;
    const double x = t->low + (p + 0.5) * t->step, least_sd = 0.5 * t->step;
    double sum = 0;
    for (int i = 0; i < c->n_trials; i++) {
        t->below[i][0][p] = 1;
        for (int s = 1; s < c->n_sizes; s++)
            t->below[i][s][p] = below(&c->prospects[i][s], x, least_sd);
    }
    for (int j = 0; j < c->n_newcomers; j++)
        sum += below(&c->newcomers[j], x, least_sd);
    t->newcomer[p] = sum > 0 ? log(sum / c->n_newcomers) : c->n_newcomers > 0 ? -700 : 0;
}

static void fill(struct table *t, const struct rb_choice *c)
{
    const double span = highest(c) - c->reached;
    t->c = c;
    t->low = c->reached;
    t->step = (span > 0 ? span : 1e-9) / POINTS;
    for (int p = 0; p < POINTS; p++)
        fill_point(t, p);
}

// ---- values

static int used(const struct rb_choice *c, const int *size)
{
    int gpus = 0;
    for (int i = 0; i < c->n_trials; i++)
        gpus += c->gpus[size[i]];
    return gpus;
}

// Newcomers that run on the remaining GPUs. A paused trial would be resumed first, so if one pauses, there are none.
static double tried(const struct rb_choice *c, const int *size)
{
    const int left = c->n_gpus - used(c, size);
    for (int i = 0; i < c->n_trials; i++) {
        if (size[i] == 0)
            return 0;
    }
    return c->n_newcomers > 0 && left > 0 ? c->newcomers_per_gpu * left : 0;
}

static void multiply(double io[POINTS], const double by[POINTS])
{
    for (int p = 0; p < POINTS; p++)
        io[p] *= by[p];
}

// For every trial j the product of the distribution functions of all others but i (-1: of all others): the product over
// the later ones, multiplied by that over the earlier ones.
static void rests_beside(const struct table *t, const int *size, int i, double out[RB_CHOICE_TRIALS][POINTS])
{
    double product[POINTS];
    for (int p = 0; p < POINTS; p++)
        product[p] = 1;
    for (int j = t->c->n_trials - 1; j >= 0; j--) {
        memcpy(out[j], product, sizeof product);
        if (j != i)
            multiply(product, t->below[j][size[j]]);
    }
    for (int p = 0; p < POINTS; p++)
        product[p] = 1;
    for (int j = 0; j < t->c->n_trials; j++) {
        multiply(out[j], product);
        if (j != i)
            multiply(product, t->below[j][size[j]]);
    }
}

// E max(reached, scores) = reached + integral of P(some score is above).
static double value_over(const struct table *t, const double rest[POINTS], const double *a, const double *b,
                         double n_new)
{
    double sum[LANES] = {0}; // eight sums, so that additions do not wait for each other
    for (int p = 0; p < POINTS; p += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            const double below_all = rest[p + lane] * a[p + lane] * b[p + lane];
            sum[lane] += 1 - (n_new > 0 ? below_all * exp(n_new * t->newcomer[p + lane]) : below_all);
        }
    }
    return t->low + (sum[0] + sum[1] + sum[2] + sum[3]) * t->step;
}

static double value_of(const struct table *t, const int *size, double n_new)
{
    double rest[POINTS], ones[POINTS];
    for (int p = 0; p < POINTS; p++)
        rest[p] = ones[p] = 1;
    for (int k = 0; k < t->c->n_trials; k++)
        multiply(rest, t->below[k][size[k]]);
    return value_over(t, rest, ones, ones, n_new);
}

// ---- exchanges

struct move {
    int i, to;   // trial i gets size `to`
    int j, j_to; // and trial j; j = i: no other
    double value;
};

static void consider(const struct table *t, int *size, const double rest[POINTS], struct move m, struct move *best)
{
    const int i_from = size[m.i], j_from = size[m.j];
    size[m.j] = m.j_to;
    size[m.i] = m.to;
    if (used(t->c, size) <= t->c->n_gpus) {
        const double *b = m.j != m.i ? t->below[m.j][m.j_to] : t->below[m.i][0]; // all ones
        m.value = value_over(t, rest, t->below[m.i][m.to], b, tried(t->c, size));
        if (m.value > best->value)
            *best = m;
    }
    size[m.j] = j_from;
    size[m.i] = i_from;
}

static void consider_growth(const struct table *t, int *size, const double rest[POINTS], int i, int j,
                            struct move *best)
{
    for (int s = size[i] + 1; s < t->c->n_sizes; s++) {
        for (int o = 0; o < size[j]; o++)
            consider(t, size, rest, (struct move){.i = i, .to = s, .j = j, .j_to = o}, best);
    }
}

// Every change of one trial, and every growth paid for by shrinking or pausing another. i = -1: none is better.
static struct move best_move(const struct table *t, int *size, double value)
{
    struct move best = {.i = -1, .value = value + 1e-12};
    double rest[RB_CHOICE_TRIALS][POINTS], beside[RB_CHOICE_TRIALS][POINTS];
    rests_beside(t, size, -1, rest);
    for (int i = 0; i < t->c->n_trials; i++) {
        for (int s = 0; s < t->c->n_sizes; s++) {
            if (s != size[i])
                consider(t, size, rest[i], (struct move){.i = i, .to = s, .j = i, .j_to = s}, &best);
        }
        if (size[i] == t->c->n_sizes - 1)
            continue;
        rests_beside(t, size, i, beside);
        for (int j = 0; j < t->c->n_trials; j++) {
            if (j != i && size[j] > 0)
                consider_growth(t, size, beside[j], i, j, &best);
        }
    }
    return best;
}

static double climb(const struct table *t, int *size)
{
    double value = value_of(t, size, tried(t->c, size));
    for (;;) {
        const struct move m = best_move(t, size, value);
        if (m.i < 0)
            return value;
        size[m.j] = m.j_to;
        size[m.i] = m.to;
        value = m.value;
    }
}

// The best start of another kind: one trial has all it can use and all others pause. Exchanges reach it only through
// worse choices.
static void alone(const struct table *t, int *out_size)
{
    double best = -INFINITY;
    int best_i = 0, best_s = 0, size[RB_CHOICE_TRIALS] = {0};
    for (int i = 0; i < t->c->n_trials; i++) {
        for (int s = 1; s < t->c->n_sizes && t->c->gpus[s] <= t->c->n_gpus; s++) {
            size[i] = s;
            const double value = value_of(t, size, 0);
            if (value > best) {
                best = value;
                best_i = i;
                best_s = s;
            }
        }
        size[i] = 0;
    }
    memcpy(out_size, size, sizeof size);
    out_size[best_i] = best_s;
}

void rb_choose(const struct rb_choice *c, struct rb_chosen *out)
{
    struct table t;
    struct rb_chosen r, other;
    fill(&t, c);
    memcpy(r.size, c->now, sizeof r.size);
    r.value_now = value_of(&t, r.size, 0);
    r.value = climb(&t, r.size);
    alone(&t, other.size);
    other.value = c->n_trials > 0 ? climb(&t, other.size) : -INFINITY;
    if (other.value > r.value) {
        memcpy(r.size, other.size, sizeof r.size);
        r.value = other.value;
    }
    r.newcomers = tried(c, r.size) > 0;
    *out = r;
}
