#include "profiles/fit/throughput_fit_published.h"

#include "base/arena.h"
#include "profiles/fit/bounded_descent.h"
#include "profiles/fit/throughput_fit_descent.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define MIN_EXTRA_GPUS 1e-8
#define NO_SYNC_S      1e-8 // of one GPU
#define GAMMA_WEIGHT   1e-3
#define SLOPE_WEIGHT   1e-2
#define NODE_PENALTY   1.1

// A sample, and the model's values for it at the present point.
struct point {
    double local_batch, extra_gpus;
    int sync;                      // RB_ALPHA_N or RB_ALPHA_R, whose beta follows; -1: one GPU
    double log_grad_s, log_step_s; // measured
    double grad_s, sync_s;
    double log_grad, log_sync;     // of these two
    double grad_power, sync_power; // to the gamma
    double log_powers;             // of their sum
    double grad_error, step_error; // of the logarithms
};

struct points {
    struct point *all;
    int n;
};

static struct point point_of(const struct rb_throughput_sample *s)
{
    return (struct point){
        .local_batch = s->local_batch,
        .extra_gpus = fmax(s->gpus - 2, MIN_EXTRA_GPUS),
        .sync = s->gpus == 1   ? -1
                : s->nodes > 1 ? RB_ALPHA_N
                               : RB_ALPHA_R,
        .log_grad_s = log(s->step_s - s->sync_s),
        .log_step_s = log(s->step_s),
        .log_sync = log(NO_SYNC_S),
    };
}

static void predict(struct point *p, const double *x)
{
    const double gamma = x[RB_GAMMA];
    p->grad_s = x[RB_ALPHA_C] + x[RB_BETA_C] * p->local_batch;
    p->sync_s = p->sync < 0 ? NO_SYNC_S : x[p->sync] + x[p->sync + 1] * p->extra_gpus;
    p->log_grad = log(p->grad_s);
    p->log_sync = p->sync < 0 ? p->log_sync : log(p->sync_s);
    p->grad_power = pow(p->grad_s, gamma);
    p->sync_power = pow(p->sync_s, gamma);
    p->log_powers = log(p->grad_power + p->sync_power);
    p->grad_error = p->log_grad - p->log_grad_s;
    p->step_error = p->log_powers / gamma - p->log_step_s;
}

// The weights: the change of the objective with the logarithms' errors.
static void add_gradient(const struct point *p, double gamma, double grad_weight, double step_weight, double *g)
{
    const double powers = p->grad_power + p->sync_power;
    const double by_grad = grad_weight / p->grad_s + step_weight * p->grad_power / p->grad_s / powers;
    const double by_sync = step_weight * p->sync_power / p->sync_s / powers;
    g[RB_ALPHA_C] += by_grad;
    g[RB_BETA_C] += by_grad * p->local_batch;
    if (p->sync >= 0) {
        g[p->sync] += by_sync;
        g[p->sync + 1] += by_sync * p->extra_gpus;
    }
    const double logs = (p->grad_power * p->log_grad + p->sync_power * p->log_sync) / powers;
    g[RB_GAMMA] += step_weight * (logs - p->log_powers / gamma) / gamma;
}

static double add_slope_penalty(const double *x, int alpha, double *g)
{
    const double slope = x[alpha + 1] / x[alpha];
    g[alpha] -= 2 * SLOPE_WEIGHT * slope * slope / x[alpha];
    g[alpha + 1] += 2 * SLOPE_WEIGHT * slope / x[alpha];
    return SLOPE_WEIGHT * slope * slope;
}

// At an exact fit the root has no gradient: like the released code, this returns NaN there.
static double objective(const void *arg, const double *x, double *out_gradient)
{
    const struct points *s = arg;
    double grad_squares = 0, step_squares = 0;
    for (int i = 0; i < s->n; i++) {
        predict(&s->all[i], x);
        grad_squares += s->all[i].grad_error * s->all[i].grad_error;
        step_squares += s->all[i].step_error * s->all[i].step_error;
    }
    const double grad_rms = sqrt(grad_squares / s->n), step_rms = sqrt(step_squares / s->n);
    for (int i = 0; i < RB_N_FIT_PARAMS; i++)
        out_gradient[i] = 0;
    for (int i = 0; i < s->n; i++)
        add_gradient(&s->all[i], x[RB_GAMMA], s->all[i].grad_error / s->n / grad_rms,
                     s->all[i].step_error / s->n / step_rms, out_gradient);
    out_gradient[RB_GAMMA] += 2 * GAMMA_WEIGHT * (x[RB_GAMMA] - 1);
    return grad_rms + step_rms + GAMMA_WEIGHT * (x[RB_GAMMA] - 1) * (x[RB_GAMMA] - 1) +
           add_slope_penalty(x, RB_ALPHA_N, out_gradient) + add_slope_penalty(x, RB_ALPHA_R, out_gradient);
}

// Parameters that the samples do not determine are fixed.
struct bounds {
    double start[RB_N_FIT_PARAMS], low[RB_N_FIT_PARAMS], high[RB_N_FIT_PARAMS];
    bool several_nodes;
};

static void fix(struct bounds *b, int param, double at)
{
    b->start[param] = b->low[param] = b->high[param] = at;
}

static struct bounds bounds_of(const struct rb_throughput_sample *samples, int n)
{
    struct bounds b = {.start = {0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.0 + 1e-3}};
    bool batches = false, one_node = false, more_than_two = false;
    double grad_s = 0;
    for (int i = 0; i < n; i++) {
        batches |= samples[i].local_batch < samples[0].local_batch || samples[i].local_batch > samples[0].local_batch;
        b.several_nodes |= samples[i].nodes > 1;
        one_node |= samples[i].nodes == 1 && samples[i].gpus > 1;
        more_than_two |= samples[i].gpus > 2;
        grad_s += (samples[i].step_s - samples[i].sync_s) / n;
    }
    for (int i = 0; i < RB_N_FIT_PARAMS; i++) {
        b.low[i] = i == RB_GAMMA ? 1 : RB_FIT_FLOOR;
        b.high[i] = i == RB_GAMMA ? 10 : INFINITY;
    }
    if (!batches)
        fix(&b, RB_ALPHA_C, grad_s / 2);
    for (int k = 0; k < 2; k++) {
        if (!b.several_nodes)
            fix(&b, RB_ALPHA_N + k, RB_FIT_FLOOR);
        if (!one_node)
            fix(&b, RB_ALPHA_R + k, RB_FIT_FLOOR);
    }
    if (!more_than_two) {
        fix(&b, RB_BETA_N, RB_FIT_FLOOR);
        fix(&b, RB_BETA_R, RB_FIT_FLOOR);
    }
    return b;
}

void rb_throughput_fit_published(const struct rb_throughput_sample *samples, int n, struct rb_throughput *out)
{
    struct points points = {rb_xcalloc((size_t)n, sizeof *points.all), n};
    for (int i = 0; i < n; i++)
        points.all[i] = point_of(&samples[i]);
    struct bounds b = bounds_of(samples, n);
    const struct rb_descent_problem problem = {
        .n = RB_N_FIT_PARAMS, .low = b.low, .high = b.high, .value = objective, .arg = &points};
    rb_bounded_descent(&problem, b.start);
    free(points.all);
    const double *x = b.start;
    *out = (struct rb_throughput){x[RB_ALPHA_C], x[RB_BETA_C], x[RB_ALPHA_N], x[RB_BETA_N],
                                  x[RB_ALPHA_R], x[RB_BETA_R], x[RB_GAMMA]};
    if (!b.several_nodes) {
        out->alpha_n = fmax(out->alpha_n, NODE_PENALTY * out->alpha_r);
        out->beta_n = fmax(out->beta_n, NODE_PENALTY * out->beta_r);
    }
}
