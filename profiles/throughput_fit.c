// Fit of the throughput model to measured steps: bounded minimisation of the log errors, carried out in coordinates
// in which the bounds cannot be crossed. Deterministic: fixed starts, no random numbers.
// Source: Pollux (OSDI'21), section 4.1, and the priors of its released fit.
#include "profiles/throughput.h"

#include <gsl/gsl_multimin.h>
#include <math.h>
#include <string.h>

enum { ALPHA_C, BETA_C, ALPHA_N, BETA_N, ALPHA_R, BETA_R, GAMMA, N_PARAMS };

#define FLOOR          1e-8 // published lower bound of alphas and betas, in seconds
#define GAMMA_MIN      1.0
#define GAMMA_MAX      10.0
#define GAMMA_PRIOR    1e-3 // weight of (gamma - 1)^2: no overlap unless the data say so
#define SLOPE_PRIOR    1e-2 // weight of (beta / alpha)^2 of the two synchronisation terms
#define NODE_PENALTY   1.1  // several nodes, never measured, are at least this much slower than one
#define MIN_EXTRA_GPUS 1e-8 // as in the model
#define MAX_COORDINATE 40.0 // exp(40) seconds is no latency: the search is turned back there
#define REJECTED       1e6  // objective out there; finite, because GSL takes infinity for a fault
#define N_STARTS       5
#define N_SMOOTHINGS   3
#define MAX_ITERATIONS 500
#define MAX_SAMPLE_S   1e7 // a step longer than four months is a mistake in the file

struct problem {
    const struct rb_throughput_sample *samples;
    int n;
    bool fixed[N_PARAMS];
    double start[N_PARAMS]; // value of a fixed parameter, else where the search begins
    int free_param[N_PARAMS];
    int n_free;
    double smoothing; // rounds off the kinks of the two roots while descending; 0: the objective itself
};

// Value of the objective, or of one of its two error terms, with its derivatives by every parameter.
struct slope {
    double value;
    double by[N_PARAMS];
};

static bool check_samples(const struct rb_throughput_sample *samples, int n, struct rb_err *err)
{
    if (n < 1) {
        return rb_err_set(err, RB_ERR_INVALID, "throughput fit: expected at least one sample, got none");
    }
    for (int i = 0; i < n; i++) {
        const struct rb_throughput_sample *s = &samples[i];
        if (s->nodes < 1 || s->gpus < s->nodes || !(s->local_batch > 0) || !isfinite(s->local_batch)) {
            return rb_err_set(err, RB_ERR_INVALID,
                              "throughput sample %d: expected nodes >= 1, gpus >= nodes and a positive batch, got "
                              "%d nodes, %d GPUs, batch %g",
                              i + 1, s->nodes, s->gpus, s->local_batch);
        }
        if (!(s->sync_s >= 0) || !(s->step_s > s->sync_s) || !(s->step_s <= MAX_SAMPLE_S)) {
            return rb_err_set(err, RB_ERR_INVALID,
                              "throughput sample %d: expected 0 <= sync time < step time <= %g s, got sync %g s, step "
                              "%g s",
                              i + 1, MAX_SAMPLE_S, s->sync_s, s->step_s);
        }
    }
    return true;
}

// What the samples can tell apart.
struct coverage {
    bool several_batches, several_nodes, several_gpus_on_one_node, more_than_two_gpus;
    double mean_grad_s, mean_grad_s_per_sample;
    double mean_sync_s[2]; // [0] on one node, [1] over several; 0 where not measured
};

static struct coverage look_at(const struct rb_throughput_sample *samples, int n)
{
    struct coverage c = {0};
    int n_sync[2] = {0, 0};
    for (int i = 0; i < n; i++) {
        const struct rb_throughput_sample *s = &samples[i];
        const double grad_s = s->step_s - s->sync_s;
        const bool over_nodes = s->nodes > 1;
        c.several_batches |= fabs(s->local_batch - samples[0].local_batch) > 0;
        c.several_nodes |= over_nodes;
        c.several_gpus_on_one_node |= !over_nodes && s->gpus > 1;
        c.more_than_two_gpus |= s->gpus > 2;
        c.mean_grad_s += grad_s / n;
        c.mean_grad_s_per_sample += grad_s / s->local_batch / n;
        if (s->gpus > 1) {
            c.mean_sync_s[over_nodes] += s->sync_s;
            n_sync[over_nodes]++;
        }
    }
    for (int k = 0; k < 2; k++) {
        c.mean_sync_s[k] /= n_sync[k] > 0 ? n_sync[k] : 1;
    }
    return c;
}

static void fix(struct problem *p, int param, double value)
{
    p->fixed[param] = true;
    p->start[param] = value;
}

// Parameters that the samples say nothing about are fixed, as published.
static void fix_unmeasured(struct problem *p, const struct coverage *c)
{
    if (!c->several_batches) {
        fix(p, ALPHA_C, fmax(c->mean_grad_s / 2, FLOOR));
    }
    if (!c->several_nodes) {
        fix(p, ALPHA_N, FLOOR);
        fix(p, BETA_N, FLOOR);
    }
    if (!c->several_gpus_on_one_node) {
        fix(p, ALPHA_R, FLOOR);
        fix(p, BETA_R, FLOOR);
    }
    if (!c->more_than_two_gpus) {
        fix(p, BETA_N, FLOOR);
        fix(p, BETA_R, FLOOR);
    }
    for (int i = 0; i < N_PARAMS; i++) {
        if (!p->fixed[i]) {
            p->free_param[p->n_free++] = i;
        }
    }
}

// Start 0 is the published one; the others take their scale from the samples, with more and more overlap.
static void choose_start(struct problem *p, const struct coverage *c, int k)
{
    static const double gammas[N_STARTS] = {1.001, 1.2, 2.0, 4.0, 8.0};
    static const double slope_fracs[N_STARTS] = {0.1, 0.5, 0.1, 0.02, 0.1};
    const double published[N_PARAMS] = {0.1, 0.01, 0.1, 0.01, 0.1, 0.01, gammas[0]};
    const double scaled[N_PARAMS] = {
        c->mean_grad_s / 2, c->mean_grad_s_per_sample / 2,      c->mean_sync_s[1], c->mean_sync_s[1] * slope_fracs[k],
        c->mean_sync_s[0],  c->mean_sync_s[0] * slope_fracs[k], gammas[k]};
    for (int i = 0; i < p->n_free; i++) {
        const int param = p->free_param[i];
        p->start[param] = fmax(k == 0 ? published[param] : scaled[param], 10 * FLOOR);
    }
}

// Adds the squared log error of one sample's gradient time and step time to the two sums.
static void add_errors(const double theta[N_PARAMS], const struct rb_throughput_sample *s, struct slope *grad,
                       struct slope *step)
{
    const double grad_s = theta[ALPHA_C] + theta[BETA_C] * s->local_batch;
    const double grad_error = log(grad_s) - log(s->step_s - s->sync_s);
    grad->value += grad_error * grad_error;
    grad->by[ALPHA_C] += 2 * grad_error / grad_s;
    grad->by[BETA_C] += 2 * grad_error * s->local_batch / grad_s;

    double grad_share = 1.0, log_iter = log(grad_s); // K = 1: nothing to synchronise
    const int alpha = s->nodes > 1 ? ALPHA_N : ALPHA_R, beta = alpha + 1;
    const double extra_gpus = fmax(s->gpus - 2, MIN_EXTRA_GPUS);
    const double sync_s = theta[alpha] + theta[beta] * extra_gpus, gamma = theta[GAMMA];
    if (s->gpus > 1) {
        const double log_grad = log(grad_s), log_sync = log(sync_s);
        const double log_max = fmax(log_grad, log_sync);
        const double log_sum =
            gamma * log_max + log(exp(gamma * (log_grad - log_max)) + exp(gamma * (log_sync - log_max)));
        grad_share = exp(gamma * log_grad - log_sum);
        log_iter = log_sum / gamma;
        const double error = log_iter - log(s->step_s);
        step->by[alpha] += 2 * error * (1 - grad_share) / sync_s;
        step->by[beta] += 2 * error * (1 - grad_share) * extra_gpus / sync_s;
        step->by[GAMMA] += 2 * error * (grad_share * log_grad + (1 - grad_share) * log_sync - log_iter) / gamma;
    }
    const double step_error = log_iter - log(s->step_s);
    step->value += step_error * step_error;
    step->by[ALPHA_C] += 2 * step_error * grad_share / grad_s;
    step->by[BETA_C] += 2 * step_error * grad_share * s->local_batch / grad_s;
}

// total += sqrt(sum / n + smoothing^2). Without smoothing a perfect fit has no derivative; zero is as good as any.
static void add_rms(struct slope *total, const struct slope *sum, int n, double smoothing)
{
    const double rms = sqrt(sum->value / n + smoothing * smoothing);
    total->value += rms;
    for (int i = 0; i < N_PARAMS && rms > 0; i++) {
        total->by[i] += sum->by[i] / (2 * n * rms);
    }
}

static void add_slope_prior(struct slope *total, const double theta[N_PARAMS], int alpha, int beta)
{
    const double ratio = theta[beta] / theta[alpha];
    total->value += SLOPE_PRIOR * ratio * ratio;
    total->by[alpha] -= 2 * SLOPE_PRIOR * ratio * ratio / theta[alpha];
    total->by[beta] += 2 * SLOPE_PRIOR * ratio / theta[alpha];
}

static struct slope objective_at(const struct problem *p, const double theta[N_PARAMS])
{
    struct slope grad = {0}, step = {0}, total = {0};
    for (int i = 0; i < p->n; i++) {
        add_errors(theta, &p->samples[i], &grad, &step);
    }
    add_rms(&total, &grad, p->n, p->smoothing);
    add_rms(&total, &step, p->n, p->smoothing);
    add_slope_prior(&total, theta, ALPHA_N, BETA_N);
    add_slope_prior(&total, theta, ALPHA_R, BETA_R);
    total.value += GAMMA_PRIOR * (theta[GAMMA] - 1) * (theta[GAMMA] - 1);
    total.by[GAMMA] += 2 * GAMMA_PRIOR * (theta[GAMMA] - 1);
    return total;
}

// Coordinates without bounds: log(p - floor) for latencies, the logit of its place in [1, 10] for gamma.
static double to_coordinate(int param, double value)
{
    if (param == GAMMA) {
        const double share = (value - GAMMA_MIN) / (GAMMA_MAX - GAMMA_MIN);
        return log(share / (1 - share));
    }
    return log(value - FLOOR);
}

static double from_coordinate(int param, double x, double *out_derivative)
{
    if (param == GAMMA) {
        const double share = 1 / (1 + exp(-x));
        *out_derivative = (GAMMA_MAX - GAMMA_MIN) * share * (1 - share);
        return GAMMA_MIN + (GAMMA_MAX - GAMMA_MIN) * share;
    }
    *out_derivative = exp(x);
    return FLOOR + exp(x);
}

// false: x is out of reach.
static bool theta_at(const struct problem *p, const gsl_vector *x, double theta[N_PARAMS], double derivative[N_PARAMS])
{
    memcpy(theta, p->start, sizeof(p->start));
    for (int i = 0; i < p->n_free; i++) {
        const double coordinate = gsl_vector_get(x, (size_t)i);
        if (!(fabs(coordinate) <= MAX_COORDINATE)) {
            return false;
        }
        const int param = p->free_param[i];
        theta[param] = from_coordinate(param, coordinate, &derivative[param]);
    }
    return true;
}

static void value_and_gradient(const gsl_vector *x, void *problem, double *value, gsl_vector *gradient)
{
    const struct problem *p = problem;
    double theta[N_PARAMS], derivative[N_PARAMS];
    const bool reachable = theta_at(p, x, theta, derivative);
    const struct slope at = reachable ? objective_at(p, theta) : (struct slope){.value = REJECTED};
    if (value) {
        *value = at.value;
    }
    for (int i = 0; i < p->n_free && gradient; i++) {
        const int param = p->free_param[i];
        gsl_vector_set(gradient, (size_t)i, reachable ? at.by[param] * derivative[param] : 0.0);
    }
}

static double value_only(const gsl_vector *x, void *problem)
{
    double value;
    value_and_gradient(x, problem, &value, NULL);
    return value;
}

static void gradient_only(const gsl_vector *x, void *problem, gsl_vector *gradient)
{
    value_and_gradient(x, problem, NULL, gradient);
}

// Quasi-Newton descent; x is moved to the best point found, whose value is returned.
static double descend(struct problem *p, gsl_vector *x)
{
    gsl_multimin_function_fdf f = {value_only, gradient_only, value_and_gradient, (size_t)p->n_free, p};
    gsl_multimin_fdfminimizer *m = gsl_multimin_fdfminimizer_alloc(gsl_multimin_fdfminimizer_vector_bfgs2, x->size);
    gsl_multimin_fdfminimizer_set(m, &f, x, 0.1, 0.1);
    for (int i = 0; i < MAX_ITERATIONS; i++) {
        if (gsl_multimin_fdfminimizer_iterate(m) != GSL_SUCCESS ||
            gsl_multimin_test_gradient(m->gradient, 1e-7) == GSL_SUCCESS) {
            break;
        }
    }
    gsl_vector_memcpy(x, m->x);
    const double value = m->f;
    gsl_multimin_fdfminimizer_free(m);
    return value;
}

// Simplex search from there on the objective itself, whose kinks (a perfect fit of one root) mislead a gradient.
static void polish(struct problem *p, gsl_vector *x)
{
    p->smoothing = 0;
    gsl_multimin_function f = {value_only, (size_t)p->n_free, p};
    gsl_vector *size = gsl_vector_alloc(x->size);
    gsl_vector_set_all(size, 0.2);
    gsl_multimin_fminimizer *m = gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, x->size);
    gsl_multimin_fminimizer_set(m, &f, x, size);
    for (int i = 0; i < MAX_ITERATIONS; i++) {
        if (gsl_multimin_fminimizer_iterate(m) != GSL_SUCCESS ||
            gsl_multimin_test_size(gsl_multimin_fminimizer_size(m), 1e-6) == GSL_SUCCESS) {
            break;
        }
    }
    gsl_vector_memcpy(x, m->x);
    gsl_multimin_fminimizer_free(m);
    gsl_vector_free(size);
}

// Every start descends on a rounded objective; the best one is sharpened step by step.
static void minimise(struct problem *p, const struct coverage *c, double theta[N_PARAMS])
{
    gsl_vector *x = gsl_vector_alloc((size_t)p->n_free), *best = gsl_vector_calloc((size_t)p->n_free);
    static const double smoothings[N_SMOOTHINGS] = {1e-2, 1e-3, 1e-5};
    double best_value = INFINITY;
    for (int start = 0; start < N_STARTS; start++) {
        choose_start(p, c, start);
        for (int i = 0; i < p->n_free; i++) {
            gsl_vector_set(x, (size_t)i, to_coordinate(p->free_param[i], p->start[p->free_param[i]]));
        }
        p->smoothing = smoothings[0];
        const double value = descend(p, x);
        if (value < best_value) {
            best_value = value;
            gsl_vector_memcpy(best, x);
        }
    }
    for (int k = 1; k < N_SMOOTHINGS; k++) {
        p->smoothing = smoothings[k];
        descend(p, best);
    }
    polish(p, best);
    double derivative[N_PARAMS];
    theta_at(p, best, theta, derivative);
    gsl_vector_free(best);
    gsl_vector_free(x);
}

static double mean_relative_error(const struct rb_throughput *t, const struct rb_throughput_sample *samples, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const struct rb_throughput_sample *s = &samples[i];
        sum += fabs(rb_throughput_iter_s(t, s->nodes, s->gpus, s->local_batch, 0) / s->step_s - 1);
    }
    return sum / n;
}

bool rb_throughput_fit(const struct rb_throughput_sample *samples, int n, struct rb_throughput *out, double *out_error,
                       struct rb_err *err)
{
    if (!check_samples(samples, n, err)) {
        return false;
    }
    const struct coverage c = look_at(samples, n);
    struct problem p = {.samples = samples, .n = n};
    fix_unmeasured(&p, &c);
    double theta[N_PARAMS];
    minimise(&p, &c, theta);
    *out = (struct rb_throughput){theta[ALPHA_C], theta[BETA_C], theta[ALPHA_N], theta[BETA_N],
                                  theta[ALPHA_R], theta[BETA_R], theta[GAMMA]};
    if (!c.several_nodes) {
        out->alpha_n = fmax(out->alpha_n, NODE_PENALTY * out->alpha_r);
        out->beta_n = fmax(out->beta_n, NODE_PENALTY * out->beta_r);
    }
    *out_error = mean_relative_error(out, samples, n);
    return true;
}
