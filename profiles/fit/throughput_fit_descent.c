// Levenberg and Marquardt's damped least squares, in coordinates in which the bounds cannot be crossed. Each root mean
// square is replaced, at every step, by the parabola in its residuals that touches it from above, so that a step that
// lowers the weighted squares lowers the objective. The kinks of the two roots, where one of them is fitted perfectly,
// are rounded off, less and less.
#include "profiles/fit/throughput_fit_descent.h"

#include <math.h>
#include <string.h>

#define GAMMA_MIN      1.0
#define GAMMA_MAX      10.0
#define GAMMA_PRIOR    1e-3 // weight of (gamma - 1)^2: no overlap unless the data show it
#define SLOPE_PRIOR    1e-2 // weight of (beta / alpha)^2 of the two synchronisation terms
#define MAX_COORDINATE 30.0 // exp(30) seconds is no latency, exp(-30) nothing beside the floor
#define MAX_STEP       4.0  // of one coordinate at once: a factor of fifty
#define MIN_DAMPING    1e-10
#define MAX_DAMPING    1e8
#define MAX_ITERATIONS 200
#define SMALL_GAIN     1e-11 // of the objective, by one step: as good as no progress
#define N_SMOOTHINGS   4

enum { N = RB_N_FIT_PARAMS };

// The objective at a place, with half its gradient and half the curvature of the touching parabola by the free
// coordinates; only the lower triangle of the curvature.
struct place {
    double value;
    double slope[N], curvature[N][N];
};

// Squares of one kind of residual, with their derivatives by the parameters.
struct squares {
    double sum;
    double slope[N], curvature[N][N];
};

static void add_square(struct squares *s, double residual, const double by[N], const int *params, int n_params)
{
    s->sum += residual * residual;
    for (int i = 0; i < n_params; i++) {
        s->slope[params[i]] += residual * by[params[i]];
        for (int k = 0; k <= i; k++)
            s->curvature[params[i]][params[k]] += by[params[i]] * by[params[k]];
    }
}

// log of the gamma-norm of gradient and synchronisation time, and how it changes with the parameters.
static double log_last_s(const double theta[N], const double derivative[N], const struct rb_fit_point *at,
                         double log_grad, double by[N])
{
    const int alpha = at->sync, beta = alpha + 1;
    const double sync_s = theta[alpha] + theta[beta] * at->extra_gpus, log_sync = log(sync_s), gamma = theta[RB_GAMMA];
    const double odds = exp(gamma * (log_sync - log_grad)); // may be 0 or infinite: then one of the two hides the other
    const double grad_share = 1 / (1 + odds), sync_share = 1 - grad_share;
    const double log_last = odds < 1 ? log_grad + log1p(odds) / gamma : log_sync + log1p(1 / odds) / gamma;
    by[RB_ALPHA_C] *= grad_share;
    by[RB_BETA_C] *= grad_share;
    by[alpha] = derivative[alpha] * sync_share / sync_s;
    by[beta] = derivative[beta] * sync_share * at->extra_gpus / sync_s;
    by[RB_GAMMA] = derivative[RB_GAMMA] * (grad_share * log_grad + sync_share * log_sync - log_last) / gamma;
    return log_last;
}

// The log errors of one sample's gradient time and step time. derivative: of the parameters by their coordinates.
static void add_errors(const double theta[N], const double derivative[N], const struct rb_fit_point *at,
                       struct squares *grad, struct squares *step)
{
    const double grad_s = theta[RB_ALPHA_C] + theta[RB_BETA_C] * at->local_batch, log_grad = log(grad_s);
    const double by_alpha = derivative[RB_ALPHA_C] / grad_s, by_beta = derivative[RB_BETA_C] * at->local_batch / grad_s;
    double by[N], log_step = log_grad;
    by[RB_ALPHA_C] = by_alpha;
    by[RB_BETA_C] = by_beta;
    int params[] = {RB_ALPHA_C, RB_BETA_C, at->sync, at->sync + 1, RB_GAMMA};
    if (at->grad_known)
        add_square(grad, log_grad - at->log_grad_s, by, params, 2);
    if (at->sync >= 0)
        log_step = log_last_s(theta, derivative, at, log_grad, by);
    const int n_params = at->sync >= 0 ? 5 : 2;
    if (at->accumulation > 0) {
        const double last_s = exp(log_step), step_s = at->accumulation * grad_s + last_s, last_share = last_s / step_s;
        for (int i = 0; i < n_params; i++)
            by[params[i]] *= last_share;
        by[RB_ALPHA_C] += (1 - last_share) * by_alpha;
        by[RB_BETA_C] += (1 - last_share) * by_beta;
        log_step = log(step_s);
    }
    add_square(step, log_step - at->log_step_s, by, params, n_params);
}

// The priors are squares already.
static void add_priors(const double theta[N], const double derivative[N], struct squares *priors)
{
    double by[N];
    for (int alpha = RB_ALPHA_N; alpha <= RB_ALPHA_R; alpha += RB_ALPHA_R - RB_ALPHA_N) {
        const int beta = alpha + 1, params[] = {alpha, beta};
        const double residual = sqrt(SLOPE_PRIOR) * theta[beta] / theta[alpha];
        by[alpha] = -residual / theta[alpha] * derivative[alpha];
        by[beta] = sqrt(SLOPE_PRIOR) / theta[alpha] * derivative[beta];
        add_square(priors, residual, by, params, 2);
    }
    const int gamma[] = {RB_GAMMA};
    by[RB_GAMMA] = sqrt(GAMMA_PRIOR) * derivative[RB_GAMMA];
    add_square(priors, sqrt(GAMMA_PRIOR) * (theta[RB_GAMMA] - GAMMA_MIN), by, gamma, 1);
}

static void add_weighted(struct place *to, const struct rb_fit_problem *p, const struct squares *s, double weight)
{
    for (int i = 0; i < p->n_free; i++) {
        const int row = p->free_params[i];
        to->slope[i] += weight * s->slope[row];
        for (int k = 0; k <= i; k++)
            to->curvature[i][k] += weight * s->curvature[row][p->free_params[k]];
    }
}

// Their root mean square, by the parabola that touches it from above.
static void add_root(struct place *to, const struct rb_fit_problem *p, const struct squares *s, int n, double smoothing)
{
    if (n > 0) {
        const double rms = sqrt(s->sum / n + smoothing * smoothing);
        to->value += rms;
        add_weighted(to, p, s, 1 / (2 * n * rms));
    }
}

// Coordinates without bounds: log(p - floor) for latencies, the logit of its place in [1, 10] for gamma.
static double to_coordinate(int param, double value)
{
    double x = log(value - RB_FIT_FLOOR);
    if (param == RB_GAMMA) {
        const double share = (value - GAMMA_MIN) / (GAMMA_MAX - GAMMA_MIN);
        x = log(share / (1 - share));
    }
    return fmin(fmax(x, -MAX_COORDINATE), MAX_COORDINATE);
}

static double from_coordinate(int param, double x, double *out_derivative)
{
    if (param == RB_GAMMA) {
        const double share = 1 / (1 + exp(-x));
        *out_derivative = (GAMMA_MAX - GAMMA_MIN) * share * (1 - share);
        return GAMMA_MIN + (GAMMA_MAX - GAMMA_MIN) * share;
    }
    *out_derivative = exp(x);
    return RB_FIT_FLOOR + *out_derivative;
}

static struct place look(const struct rb_fit_problem *p, const double x[N], double smoothing, double theta[N])
{
    double derivative[N] = {0};
    for (int i = 0; i < p->n_free; i++)
        theta[p->free_params[i]] = from_coordinate(p->free_params[i], x[i], &derivative[p->free_params[i]]);
    struct squares grad = {0}, step = {0}, priors = {0};
    for (int i = 0; i < p->n; i++)
        add_errors(theta, derivative, &p->points[i], &grad, &step);
    add_priors(theta, derivative, &priors);
    struct place place = {.value = priors.sum};
    add_weighted(&place, p, &priors, 1);
    add_root(&place, p, &grad, p->n_grads, smoothing);
    add_root(&place, p, &step, p->n, smoothing);
    return place;
}

// (curvature + damping * its diagonal) step = -slope, by Cholesky. false: not positive, more damping is needed.
static bool solve(const struct place *at, int n, double damping, double step[N])
{
    double l[N][N];
    for (int i = 0; i < n; i++) {
        for (int k = 0; k <= i; k++) {
            double sum = at->curvature[i][k] + (i == k ? damping * (at->curvature[i][i] + MIN_DAMPING) : 0);
            for (int j = 0; j < k; j++)
                sum -= l[i][j] * l[k][j];
            if (i == k && !(sum > 0))
                return false;
            l[i][k] = i == k ? sqrt(sum) : sum / l[k][k];
        }
    }
    for (int i = 0; i < n; i++) {
        step[i] = -at->slope[i];
        for (int k = 0; k < i; k++)
            step[i] -= l[i][k] * step[k];
        step[i] /= l[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            step[i] -= l[k][i] * step[k];
        step[i] /= l[i][i];
    }
    return true;
}

static void walk(double to[N], const double from[N], const double step[N], int n)
{
    for (int i = 0; i < n; i++) {
        const double x = from[i] + fmin(fmax(step[i], -MAX_STEP), MAX_STEP);
        to[i] = fmin(fmax(x, -MAX_COORDINATE), MAX_COORDINATE);
    }
}

static double descend(const struct rb_fit_problem *p, double x[N], double smoothing, double theta[N])
{
    struct place at = look(p, x, smoothing, theta);
    double damping = 1e-2;
    int n_small = 0;
    for (int i = 0; i < MAX_ITERATIONS && damping < MAX_DAMPING && n_small < 2; i++) {
        double step[N], x_next[N], theta_next[N];
        memcpy(theta_next, theta, sizeof(theta_next));
        if (!solve(&at, p->n_free, damping, step)) {
            damping *= 4;
            continue;
        }
        walk(x_next, x, step, p->n_free);
        const struct place next = look(p, x_next, smoothing, theta_next);
        if (!(next.value < at.value)) {
            damping *= 4;
            continue;
        }
        n_small = at.value - next.value < SMALL_GAIN ? n_small + 1 : 0;
        damping = fmax(damping / 5, MIN_DAMPING);
        at = next;
        memcpy(x, x_next, sizeof(x_next));
        memcpy(theta, theta_next, sizeof(theta_next));
    }
    return at.value;
}

double rb_throughput_fit_descend(const struct rb_fit_problem *p, double theta[RB_N_FIT_PARAMS])
{
    static const double smoothings[N_SMOOTHINGS] = {1e-2, 1e-4, 1e-6, 1e-8};
    double x[N], value = INFINITY;
    for (int i = 0; i < p->n_free; i++)
        x[i] = to_coordinate(p->free_params[i], theta[p->free_params[i]]);
    for (int k = 0; k < N_SMOOTHINGS; k++)
        value = descend(p, x, smoothings[k], theta);
    return value;
}
