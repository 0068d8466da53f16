// Maximum likelihood of each family, the choice among them, and the distance of the sample from the chosen one. Source:
// Law, "Simulation Modeling and Analysis", chapter 6 (likelihood equations); Stephens (1970) for the p-value.
#include "profiles/fit/dist_fit.h"

#include "base/order.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_roots.h>
#include <gsl/gsl_sf_psi.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_SAMPLE      3  // fewer values do not identify a family
#define MIN_POOR_SAMPLE 20 // below this the KS test has no power to call a fit poor
#define POOR_P          0.05
#define MIN_RELATIVE_SD 1e-6 // below this spread every family is the same peak, and shapes lose their digits
#define CLOCK_STEP_S    1e-6
#define ROOT_TOLERANCE  1e-12
#define MAX_ROOT_STEPS  200
#define JUDGED_LEVEL    0.95 // predictions are judged by p5 and p95

// Sorted sample and the sums every likelihood equation needs.
struct sample {
    const double *x; // sorted, [n]
    int n;
    double mean, mean_log, sd_log;
    double mean_error; // of the mean, over it
};

// Source: Student (1908), "The probable error of a mean".
double rb_mean_error(double variance, int degrees)
{
    if (degrees < 1 || !(variance > 0))
        return 0;
    const double wider = gsl_cdf_tdist_Pinv(JUDGED_LEVEL, degrees) / gsl_cdf_ugaussian_Pinv(JUDGED_LEVEL);
    return fmin(1, sqrt(variance) * wider);
}

static double mean_error(const double *x, int n, double mean)
{
    double sum_sq = 0;
    for (int i = 0; i < n; i++)
        sum_sq += (x[i] - mean) * (x[i] - mean);
    return n > 1 ? rb_mean_error(sum_sq / (n - 1) / n / (mean * mean), n - 1) : 0;
}

static struct sample summarise(const double *sorted, int n)
{
    struct sample s = {.x = sorted, .n = n};
    for (int i = 0; i < n; i++) {
        s.mean += sorted[i] / n;
        s.mean_log += log(sorted[i]) / n;
    }
    double sum_sq = 0;
    for (int i = 0; i < n; i++)
        sum_sq += (log(sorted[i]) - s.mean_log) * (log(sorted[i]) - s.mean_log);
    s.sd_log = sqrt(sum_sq / n);
    s.mean_error = mean_error(sorted, n, s.mean);
    return s;
}

// Root of an increasing function between low and high, both > 0, widened until they straddle it.
static bool root_of(double (*f)(double, void *), void *params, double low, double high, double *out)
{
    for (int i = 0; i < 60 && f(low, params) >= 0; i++)
        low /= 2;
    for (int i = 0; i < 60 && f(high, params) <= 0; i++)
        high *= 2;
    if (!(f(low, params) < 0) || !(f(high, params) > 0))
        return false;
    gsl_function function = {f, params};
    gsl_root_fsolver *solver = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
    gsl_root_fsolver_set(solver, &function, low, high);
    for (int i = 0; i < MAX_ROOT_STEPS; i++)
        if (gsl_root_fsolver_iterate(solver) != GSL_SUCCESS ||
            gsl_root_test_interval(gsl_root_fsolver_x_lower(solver), gsl_root_fsolver_x_upper(solver), 0,
                                   ROOT_TOLERANCE) == GSL_SUCCESS)
            break;
    *out = gsl_root_fsolver_root(solver);
    gsl_root_fsolver_free(solver);
    return true;
}

static bool fit_lognormal(const struct sample *s, struct rb_dist *out)
{
    const double variance = s->sd_log * s->sd_log;
    *out = (struct rb_dist){
        .kind = RB_DIST_LOGNORMAL, .mean = exp(s->mean_log + variance / 2), .cv = sqrt(expm1(variance))};
    return true;
}

static bool fit_exponential(const struct sample *s, struct rb_dist *out)
{
    *out = (struct rb_dist){.kind = RB_DIST_EXPONENTIAL, .mean = s->mean, .cv = 1};
    return true;
}

// log(mean) - mean(log) = log(shape) - psi(shape); the right side lies between 1/(2 shape) and 1/shape.
static double gamma_equation(double shape, void *params)
{
    return *(const double *)params - (log(shape) - gsl_sf_psi(shape));
}

static bool fit_gamma(const struct sample *s, struct rb_dist *out)
{
    double spread = log(s->mean) - s->mean_log, shape;
    if (!(spread > 0) || !root_of(gamma_equation, &spread, 0.5 / spread, 1 / spread, &shape))
        return false;
    *out = (struct rb_dist){.kind = RB_DIST_GAMMA, .mean = s->mean, .cv = 1 / sqrt(shape)};
    return true;
}

// sum x^k log x / sum x^k - 1/k - mean(log x), with x scaled by the largest so that no power overflows.
static double weibull_equation(double shape, void *params)
{
    const struct sample *s = params;
    const double largest = s->x[s->n - 1];
    double sum = 0, sum_log = 0;
    for (int i = 0; i < s->n; i++) {
        const double log_x = log(s->x[i] / largest), power = exp(shape * log_x);
        sum += power;
        sum_log += power * log_x;
    }
    return sum_log / sum - 1 / shape - (s->mean_log - log(largest));
}

static bool fit_weibull(const struct sample *s, struct rb_dist *out)
{
    struct sample params = *s;
    const double guess = 1.2825 / s->sd_log; // sd of the log of a Weibull variable is pi / (sqrt(6) shape)
    double shape;
    if (!root_of(weibull_equation, &params, guess / 2, guess * 2, &shape))
        return false;
    double sum = 0;
    const double largest = s->x[s->n - 1];
    for (int i = 0; i < s->n; i++)
        sum += pow(s->x[i] / largest, shape);
    int sign;
    const double scale = largest * pow(sum / s->n, 1 / shape);
    const double log_first = lgamma_r(1 + 1 / shape, &sign), log_second = lgamma_r(1 + 2 / shape, &sign);
    *out = (struct rb_dist){
        .kind = RB_DIST_WEIBULL, .mean = scale * exp(log_first), .cv = sqrt(expm1(log_second - 2 * log_first))};
    return true;
}

static const struct family {
    bool (*fit)(const struct sample *s, struct rb_dist *out);
    int n_params;
} families[] = {{fit_lognormal, 2}, {fit_gamma, 2}, {fit_weibull, 2}, {fit_exponential, 1}};

static double log_likelihood(const struct rb_dist *d, const struct sample *s)
{
    double sum = 0;
    for (int i = 0; i < s->n; i++)
        sum += rb_dist_log_density(d, s->x[i]);
    return sum;
}

static double ks_distance(const struct rb_dist *d, const struct sample *s)
{
    double distance = 0;
    for (int i = 0; i < s->n; i++) {
        const double cdf = rb_dist_cdf(d, s->x[i]);
        distance = fmax(distance, fmax(cdf - (double)i / s->n, (double)(i + 1) / s->n - cdf));
    }
    return distance;
}

// Kolmogorov's limiting distribution with Stephens' correction for small samples.
static double ks_p_value(double distance, int n)
{
    const double root_n = sqrt(n), lambda = (root_n + 0.12 + 0.11 / root_n) * distance;
    double sum = 0;
    if (lambda < 0.2)
        return 1.0; // the series converges too slowly there, and its value is 1 to ten digits
    for (int j = 1; j <= 100; j++)
        sum += (j % 2 ? 2 : -2) * exp(-2.0 * j * j * lambda * lambda);
    return fmin(1.0, fmax(0.0, sum));
}

// Least AIC; ties go to the earlier family. false: no family gave finite numbers.
static bool choose_family(const struct sample *s, struct rb_dist_fit *out)
{
    bool found = false;
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        struct rb_dist d;
        if (!families[i].fit(s, &d) || !isfinite(d.mean) || !isfinite(d.cv) || !rb_dist_prepare(&d, NULL))
            continue;
        const double likelihood = log_likelihood(&d, s), aic = 2 * families[i].n_params - 2 * likelihood;
        if (isfinite(aic) && (!found || aic < out->aic)) {
            *out = (struct rb_dist_fit){.dist = d, .n = s->n, .log_likelihood = likelihood, .aic = aic};
            found = true;
        }
    }
    return found;
}

static struct rb_dist empirical(const struct sample *s, struct rb_arena *arena)
{
    double *values = rb_arena_array(arena, (size_t)s->n, sizeof(*values));
    memcpy(values, s->x, (size_t)s->n * sizeof(*values));
    return (struct rb_dist){.kind = RB_DIST_EMPIRICAL, .values = values, .n_values = s->n};
}

static bool check_values(const double *values, int n, struct rb_err *err)
{
    if (n < 1)
        return rb_err_set(err, RB_E_FIT_SAMPLES, "distribution fit: expected at least one value, got none");
    for (int i = 0; i < n; i++) {
        if (!(values[i] > 0 && values[i] <= RB_DIST_MAX_MEAN)) {
            return rb_err_set(err, RB_E_FIT_SAMPLES, "distribution fit: value %d: expected a number in (0, %g], got %g",
                              i + 1, RB_DIST_MAX_MEAN, values[i]);
        }
    }
    return true;
}

bool rb_dist_fit(const double *values, int n, struct rb_arena *arena, struct rb_dist_fit *out, struct rb_err *err)
{
    if (!check_values(values, n, err))
        return false;
    RB_AUTO(rb_auto_free) double *sorted = rb_xcalloc((size_t)n, sizeof(*sorted));
    memcpy(sorted, values, (size_t)n * sizeof(*sorted));
    qsort(sorted, (size_t)n, sizeof(*sorted), rb_order_doubles);
    const struct sample s = summarise(sorted, n);
    struct rb_dist_fit fit = {.n = n, .ks_p = 1};
    if (n < MIN_SAMPLE) {
        fit.dist = empirical(&s, arena);
    } else if (s.sd_log < MIN_RELATIVE_SD) {
        fit.dist = rb_dist_constant(s.mean);
    } else if (choose_family(&s, &fit)) {
        fit.ks = ks_distance(&fit.dist, &s);
        fit.ks_p = ks_p_value(fit.ks, n);
        fit.poor = n >= MIN_POOR_SAMPLE && fit.ks_p < POOR_P;
        fit.dist = fit.poor ? empirical(&s, arena) : fit.dist;
    } else {
        fit.dist = empirical(&s, arena);
    }
    if (!rb_dist_prepare(&fit.dist, err))
        return false;
    fit.dist.relative_error = fit.dist.kind == RB_DIST_CONSTANT ? 0 : s.mean_error;
    *out = fit;
    return true;
}

bool rb_dist_fit_latency(const double *seconds, int n, struct rb_arena *arena, struct rb_dist_fit *out,
                         struct rb_err *err)
{
    RB_AUTO(rb_auto_free) double *positive = rb_xcalloc(n > 0 ? (size_t)n : 1, sizeof(*positive));
    double longest = 0;
    for (int i = 0; i < n; i++) {
        longest = fmax(longest, seconds[i]);
        positive[i] = seconds[i] >= 0 && seconds[i] < CLOCK_STEP_S ? CLOCK_STEP_S : seconds[i];
    }
    if (n > 0 && !(longest > 0)) {
        *out = (struct rb_dist_fit){.dist = rb_dist_constant(0), .n = n, .ks_p = 1};
        return true;
    }
    return rb_dist_fit(positive, n, arena, out, err);
}
