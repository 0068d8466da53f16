#include "profiles/throughput_fit_published.h"

#include "profiles/bounded_descent.h"
#include "profiles/throughput_fit_descent.h"

#include <math.h>
#include <stdbool.h>

#define MIN_EXTRA_GPUS 1e-8
#define NO_SYNC_S      1e-8 // of one GPU
#define GAMMA_WEIGHT   1e-3
#define SLOPE_WEIGHT   1e-2
#define NODE_PENALTY   1.1

struct samples {
    const struct rb_throughput_sample *all;
    int n;
};

static int sync_param(const struct rb_throughput_sample *s)
{
    return s->gpus == 1 ? -1 : s->nodes > 1 ? RB_ALPHA_N : RB_ALPHA_R;
}

static double extra_gpus(const struct rb_throughput_sample *s)
{
    return fmax(s->gpus - 2, MIN_EXTRA_GPUS);
}

// One sample under the model, and how it changes with the logarithms' errors.
struct step {
    double grad_s, sync_s;
    double powers;                 // grad^gamma + sync^gamma
    double grad_error, step_error; // of the logarithms
};

static struct step step_of(const struct rb_throughput_sample *s, const double *x)
{
    const int sync = sync_param(s);
    struct step p = {.grad_s = x[RB_ALPHA_C] + x[RB_BETA_C] * s->local_batch,
                     .sync_s = sync < 0 ? NO_SYNC_S : x[sync] + x[sync + 1] * extra_gpus(s)};
    p.powers = pow(p.grad_s, x[RB_GAMMA]) + pow(p.sync_s, x[RB_GAMMA]);
    p.grad_error = log(p.grad_s) - log(s->step_s - s->sync_s);
    p.step_error = log(p.powers) / x[RB_GAMMA] - log(s->step_s);
    return p;
}

static void add_gradient(const struct rb_throughput_sample *s, const struct step *p, const double *x,
                         double grad_weight, double step_weight, double *g)
{
    const double gamma = x[RB_GAMMA], a = log(p->grad_s), b = log(p->sync_s);
    const double grad_power = pow(p->grad_s, gamma), sync_power = pow(p->sync_s, gamma);
    const double by_grad = grad_weight / p->grad_s + step_weight * grad_power / p->grad_s / p->powers;
    const double by_sync = step_weight * sync_power / p->sync_s / p->powers;
    const int sync = sync_param(s);
    g[RB_ALPHA_C] += by_grad;
    g[RB_BETA_C] += by_grad * s->local_batch;
    if (sync >= 0) {
        g[sync] += by_sync;
        g[sync + 1] += by_sync * extra_gpus(s);
    }
    g[RB_GAMMA] += step_weight * ((grad_power * a + sync_power * b) / p->powers - log(p->powers) / gamma) / gamma;
}

static double add_slope_penalty(const double *x, int alpha, double *g)
{
    const double slope = x[alpha + 1] / x[alpha];
    g[alpha] -= 2 * SLOPE_WEIGHT * slope * slope / x[alpha];
    g[alpha + 1] += 2 * SLOPE_WEIGHT * slope / x[alpha];
    return SLOPE_WEIGHT * slope * slope;
}

// At an exact fit the root has no gradient: like the released code this says NaN there.
static double objective(const void *arg, const double *x, double *out_gradient)
{
    const struct samples *s = arg;
    double grad_squares = 0, step_squares = 0;
    for (int i = 0; i < s->n; i++) {
        const struct step p = step_of(&s->all[i], x);
        grad_squares += p.grad_error * p.grad_error;
        step_squares += p.step_error * p.step_error;
    }
    const double grad_rms = sqrt(grad_squares / s->n), step_rms = sqrt(step_squares / s->n);
    for (int i = 0; i < RB_N_FIT_PARAMS; i++)
        out_gradient[i] = 0;
    for (int i = 0; i < s->n; i++) {
        const struct step p = step_of(&s->all[i], x);
        add_gradient(&s->all[i], &p, x, p.grad_error / s->n / grad_rms, p.step_error / s->n / step_rms, out_gradient);
    }
    out_gradient[RB_GAMMA] += 2 * GAMMA_WEIGHT * (x[RB_GAMMA] - 1);
    return grad_rms + step_rms + GAMMA_WEIGHT * (x[RB_GAMMA] - 1) * (x[RB_GAMMA] - 1) +
           add_slope_penalty(x, RB_ALPHA_N, out_gradient) + add_slope_penalty(x, RB_ALPHA_R, out_gradient);
}

// What the samples cannot tell is fixed.
struct bounds {
    double start[RB_N_FIT_PARAMS], low[RB_N_FIT_PARAMS], high[RB_N_FIT_PARAMS];
    bool several_nodes;
};

static void fix(struct bounds *b, int param, double at)
{
    b->start[param] = b->low[param] = b->high[param] = at;
}

static struct bounds bounds_of(const struct samples *s)
{
    struct bounds b = {.start = {0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.0 + 1e-3}};
    bool batches = false, one_node = false, more_than_two = false;
    double grad_s = 0;
    for (int i = 0; i < s->n; i++) {
        batches |= s->all[i].local_batch < s->all[0].local_batch || s->all[i].local_batch > s->all[0].local_batch;
        b.several_nodes |= s->all[i].nodes > 1;
        one_node |= s->all[i].nodes == 1 && s->all[i].gpus > 1;
        more_than_two |= s->all[i].gpus > 2;
        grad_s += (s->all[i].step_s - s->all[i].sync_s) / s->n;
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
    const struct samples s = {samples, n};
    struct bounds b = bounds_of(&s);
    const struct rb_descent_problem problem = {
        .n = RB_N_FIT_PARAMS, .low = b.low, .high = b.high, .value = objective, .arg = &s};
    rb_bounded_descent(&problem, b.start);
    const double *x = b.start;
    *out = (struct rb_throughput){x[RB_ALPHA_C], x[RB_BETA_C], x[RB_ALPHA_N], x[RB_BETA_N],
                                  x[RB_ALPHA_R], x[RB_BETA_R], x[RB_GAMMA]};
    if (!b.several_nodes) {
        out->alpha_n = fmax(out->alpha_n, NODE_PENALTY * out->alpha_r);
        out->beta_n = fmax(out->beta_n, NODE_PENALTY * out->beta_r);
    }
}
