#include "engine/policies/lookahead_curves.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>

// Weight of one report in the recent mean: averages the noise of single reports, and still follows a change of slope.
#define RECENT 0.25

// s as a fraction of R: where the curve bends; c: how strongly.
static const struct shape {
    double s, c;
} shapes[RB_CURVE_SHAPES] = {
    {0, 0.5},   {0, 1},   {0, 2},   {0.02, 0.5}, {0.02, 1}, {0.02, 2},
    {0.2, 0.5}, {0.2, 1}, {0.2, 2}, {1, 0.5},    {1, 1},    {1, 2},
};

void rb_curve_shapes_at(double resource, int64_t max_resource, double out[RB_CURVE_SHAPES])
{
    const double end = (double)max_resource;
    for (int k = 0; k < RB_CURVE_SHAPES; k++) {
        const double s = shapes[k].s, c = shapes[k].c;
        const double first = pow(1 / end + s, -c), last = pow(1 + s, -c);
        out[k] = max_resource > 1 ? (first - pow(resource / end + s, -c)) / (first - last) : 0;
    }
}

void rb_seen_curves_init(struct rb_seen_curves *c, int64_t max_resource)
{
    *c = (struct rb_seen_curves){.max_resource = max_resource};
}

void rb_seen_curves_finish(struct rb_seen_curves *c)
{
    free(c->trials);
    free(c->past);
}

static struct rb_curve_sums *reserve(struct rb_seen_curves *c, int trial)
{
    if (trial >= c->n_trials) {
        const int n = trial >= 2 * c->n_trials ? trial + 1 : 2 * c->n_trials;
        c->trials = rb_xrealloc(c->trials, (size_t)n, sizeof *c->trials);
        c->past = rb_xrealloc(c->past, (size_t)n, sizeof *c->past);
        for (; c->n_trials < n; c->n_trials++)
            c->trials[c->n_trials] = c->past[c->n_trials] = (struct rb_curve_sums){0};
    }
    return &c->trials[trial];
}

static void add(struct rb_curve_sums *t, double y, const double x[RB_CURVE_SHAPES])
{
    const double share = t->n > 0 ? RECENT : 1;
    t->n++;
    t->y += y;
    t->yy += y * y;
    t->recent_y += share * (y - t->recent_y);
    for (int k = 0; k < RB_CURVE_SHAPES; k++) {
        t->x[k] += x[k];
        t->xx[k] += x[k] * x[k];
        t->xy[k] += x[k] * y;
        t->recent_x[k] += share * (x[k] - t->recent_x[k]);
    }
}

void rb_seen_curves_add(struct rb_seen_curves *c, int trial, int64_t resource, double score)
{
    struct rb_curve_sums *t = reserve(c, trial);
    double x[RB_CURVE_SHAPES];
    t->diverged = !(score > -INFINITY);
    if (t->diverged || resource <= t->last_resource)
        return;
    if (!c->has_origin) {
        c->origin = score;
        c->has_origin = true;
    }
    t->last_resource = resource;
    rb_curve_shapes_at((double)resource, c->max_resource, x);
    add(t, score - c->origin, x);
    if ((t->n & (t->n - 1)) == 0)
        c->past[trial] = *t;
}
