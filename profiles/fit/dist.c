// The distribution of every latency and factor: moments, CDF and inverse CDF. Only this file has the families'
// formulas. Source: Johnson, Kotz, Balakrishnan, "Continuous Univariate Distributions", vol. 1, chapters 13, 14, 17,
// 19, 21.
#include "profiles/fit/dist.h"

#include "base/order.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_roots.h>
#include <gsl/gsl_sf_zeta.h>
#include <math.h>

// Above this shape GSL's incomplete gamma function loses digits (2e-6 at 1e5), while the expansion around the
// normal is within 2e-9 standard deviations over all uniforms of 53 bits.
#define GAMMA_NORMAL_SHAPE 1e4
// Below this the gamma CDF is x^shape / Gamma(shape + 1) to the last bit.
#define GAMMA_TINY_LN_X (-40.0)

// A smaller cv spreads the largest allowed mean by less than a microsecond.
#define MIN_CV 1e-12

#define LN_SQRT_2PI 0.91893853320467274178

static bool degenerate(const struct rb_dist *d)
{
    return d->kind == RB_DIST_CONSTANT || !(d->cv > MIN_CV) || !(d->mean > 0);
}

// lgamma() keeps the sign in a global; the reentrant form does not.
static double ln_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

// --- preparing ---

// ln Gamma(1 + 2x) - 2 ln Gamma(1 + x), which is ln(1 + cv^2) of a Weibull with shape 1/x. For small x both
// terms cancel, and the series of ln Gamma at 1 is summed instead. Source: NIST DLMF 5.7.3.
static double weibull_ln_square(double x)
{
    if (x > 0.01)
        return ln_gamma(1 + 2 * x) - 2 * ln_gamma(1 + x);
    double sum = 0, power = -x;
    for (int n = 2; n <= 12; n++) {
        power *= -x;
        sum += gsl_sf_zeta_int(n) * power * (ldexp(1, n) - 2) / n;
    }
    return sum;
}

static double weibull_excess(double ln_shape, void *ln_wanted)
{
    return weibull_ln_square(exp(-ln_shape)) / *(double *)ln_wanted - 1;
}

// The shape has no closed form. Brackets: shape 0.1 has cv 429, beyond RB_DIST_MAX_CV; for large shapes cv
// ~ 1.28 / shape.
static double weibull_shape(double cv)
{
    double ln_wanted = log1p(cv * cv);
    gsl_function excess = {.function = weibull_excess, .params = &ln_wanted};
    gsl_root_fsolver *solver = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
    assert(solver);
    gsl_root_fsolver_set(solver, &excess, log(0.1), log(fmax(10.0, 2.0 / cv)));
    for (int i = 0; i < 200; i++) {
        gsl_root_fsolver_iterate(solver);
        const double low = gsl_root_fsolver_x_lower(solver), high = gsl_root_fsolver_x_upper(solver);
        if (gsl_root_test_interval(low, high, 1e-15, 0) == GSL_SUCCESS)
            break;
    }
    const double shape = exp(gsl_root_fsolver_root(solver));
    gsl_root_fsolver_free(solver);
    return shape;
}

// The quantile function is linear between neighbours, so its moments are those of n - 1 equally likely
// uniforms.
static void empirical_moments(struct rb_dist *d)
{
    const int n_segments = d->n_values - 1;
    double mean = n_segments > 0 ? 0 : d->values[0], variance = 0;
    for (int i = 0; i < n_segments; i++)
        mean += (d->values[i] + d->values[i + 1]) / 2 / n_segments;
    for (int i = 0; i < n_segments; i++) {
        const double low = d->values[i] - mean, high = d->values[i + 1] - mean;
        variance += (low * low + low * high + high * high) / 3 / n_segments;
    }
    d->mean = mean;
    d->cv = mean > 0 ? sqrt(variance) / mean : 0;
}

static bool prepare_empirical(struct rb_dist *d, struct rb_err *err)
{
    if (d->n_values < 1 || !d->values)
        return rb_err_set(err, RB_E_DISTRIBUTION, "an empirical distribution needs at least one value");
    for (int i = 0; i < d->n_values; i++) {
        if (!(d->values[i] >= 0 && d->values[i] <= RB_DIST_MAX_MEAN))
            return rb_err_set(err, RB_E_DISTRIBUTION, "expected values between 0 and %g", RB_DIST_MAX_MEAN);
        if (i > 0 && d->values[i] < d->values[i - 1])
            return rb_err_set(err, RB_E_DISTRIBUTION, "expected values in ascending order");
    }
    empirical_moments(d);
    return true;
}

static void prepare_family(struct rb_dist *d)
{
    switch (d->kind) {
    case RB_DIST_NORMAL:
        d->a = d->mean * d->cv;
        d->b = gsl_cdf_ugaussian_P(-1 / d->cv);
        break;
    case RB_DIST_LOGNORMAL:
        d->b = sqrt(log1p(d->cv * d->cv));
        d->a = log(d->mean) - d->b * d->b / 2;
        break;
    case RB_DIST_GAMMA:
        d->a = 1 / (d->cv * d->cv);
        d->b = d->mean / d->a;
        d->c = ln_gamma(d->a);
        break;
    case RB_DIST_WEIBULL:
        d->a = weibull_shape(d->cv);
        d->b = exp(log(d->mean) - ln_gamma(1 + 1 / d->a));
        break;
    case RB_DIST_CONSTANT:
    case RB_DIST_EXPONENTIAL:
    case RB_DIST_EMPIRICAL:
        break;
    }
}

bool rb_dist_prepare(struct rb_dist *d, struct rb_err *err)
{
    struct rb_dist ready = *d;
    ready.a = ready.b = ready.c = 0;
    if (d->kind == RB_DIST_EMPIRICAL) {
        if (!prepare_empirical(&ready, err))
            return false;
    } else {
        ready.cv = d->kind == RB_DIST_CONSTANT ? 0 : d->kind == RB_DIST_EXPONENTIAL ? 1 : d->cv;
        if (!(ready.mean >= 0 && ready.mean <= RB_DIST_MAX_MEAN))
            return rb_err_set(err, RB_E_DISTRIBUTION, "expected a mean between 0 and %g, got %g", RB_DIST_MAX_MEAN,
                              ready.mean);
        if (!(ready.cv >= 0 && ready.cv <= RB_DIST_MAX_CV))
            return rb_err_set(err, RB_E_DISTRIBUTION,
                              "expected a cv (standard deviation over mean) between 0 and %g, got %g", RB_DIST_MAX_CV,
                              ready.cv);
        if (!degenerate(&ready))
            prepare_family(&ready);
    }
    *d = ready;
    return true;
}

struct rb_dist rb_dist_constant(double value)
{
    return (struct rb_dist){.kind = RB_DIST_CONSTANT, .mean = value};
}

struct rb_dist rb_dist_error(double relative_error)
{
    struct rb_dist d = rb_dist_constant(1);
    if (relative_error > 0) {
        d = (struct rb_dist){.kind = RB_DIST_LOGNORMAL, .mean = 1, .cv = relative_error};
        const bool ok = rb_dist_prepare(&d, NULL);
        assert(ok);
        (void)ok;
    }
    return d;
}

// --- drawing ---

// Conditioned on X >= 0: uses the nearer tail, so that neither end loses digits.
static double normal_quantile(const struct rb_dist *d, double u)
{
    const double kept = 1 - d->b;
    const double z = u < 0.5 ? gsl_cdf_ugaussian_Pinv(d->b + u * kept) : gsl_cdf_ugaussian_Qinv((1 - u) * kept);
    return fmax(0, d->mean + d->a * z);
}

static double wilson_hilferty(double shape, double u)
{
    const double root = 1 - 1 / (9 * shape) + gsl_cdf_ugaussian_Pinv(u) / (3 * sqrt(shape));
    return root > 0 ? shape * root * root * root : 0;
}

// Cornish-Fisher expansion of the gamma quantile at the normal quantile z.
// Source: Abramowitz and Stegun 26.4.11 and 26.2.49, with the cumulants of the gamma distribution.
static double large_gamma(double shape, double z)
{
    const double root = sqrt(shape), z2 = z * z;
    return shape + z * root + (z2 - 1) / 3 + z * (z2 - 7) / (36 * root) - (3 * z2 * z2 + 7 * z2 - 16) / (810 * shape) +
           z * (9 * z2 * z2 + 256 * z2 - 433) / (38880 * shape * root);
}

// Its inverse: the leading terms give the slope, and a few steps of Newton's method the rest.
static double large_gamma_cdf(double shape, double x)
{
    const double root = sqrt(shape), edge = 38; // beyond, the normal CDF is 0 or 1
    double z = fmax(-edge, fmin(edge, (x - shape) / root));
    for (int i = 0; i < 20; i++)
        z = fmax(-edge, fmin(edge, z - (large_gamma(shape, z) - x) / (root + 2 * z / 3)));
    return gsl_cdf_ugaussian_P(z);
}

// The quantile for scale 1. gsl_cdf_gamma_Pinv does not converge for shapes below 0.15 and above 1500 (and
// then ends the process), so the equation is solved here: ln P and ln Q are concave in ln x, where Newton's
// method cannot cycle.
static double gamma_quantile(double shape, double ln_gamma_shape, double u)
{
    if (shape > GAMMA_NORMAL_SHAPE)
        return large_gamma(shape, gsl_cdf_ugaussian_Pinv(u));
    const double ln_first_term = (log(u) + log(shape) + ln_gamma_shape) / shape; // P(x) <= x^shape / Gamma(shape + 1)
    if (ln_first_term < GAMMA_TINY_LN_X)
        return exp(ln_first_term);
    const bool lower = u < 0.5;
    const double start = wilson_hilferty(shape, u);
    double ln_x = fmax(ln_first_term, start > 0 ? log(start) : ln_first_term);
    for (int i = 0; i < 100; i++) {
        const double x = exp(ln_x);
        const double tail = lower ? gsl_cdf_gamma_P(x, shape, 1) : gsl_cdf_gamma_Q(x, shape, 1);
        const double slope = exp(shape * ln_x - x - ln_gamma_shape) / (lower ? tail : -tail);
        const double step = fmax(-1, fmin(1, log((lower ? u : 1 - u) / tail) / slope));
        ln_x += step;
        if (fabs(step) < 1e-14)
            break;
    }
    return exp(ln_x);
}

static double empirical_quantile(const struct rb_dist *d, double u)
{
    const double at = u * (d->n_values - 1);
    const int i = (int)at;
    if (i + 1 >= d->n_values)
        return d->values[d->n_values - 1];
    return d->values[i] + (at - i) * (d->values[i + 1] - d->values[i]);
}

double rb_dist_quantile(const struct rb_dist *d, double u)
{
    assert(u > 0 && u < 1);
    if (degenerate(d))
        return d->mean;
    switch (d->kind) {
    case RB_DIST_NORMAL:
        return normal_quantile(d, u);
    case RB_DIST_LOGNORMAL:
        return exp(d->a + d->b * gsl_cdf_ugaussian_Pinv(u));
    case RB_DIST_GAMMA:
        return d->b * gamma_quantile(d->a, d->c, u);
    case RB_DIST_WEIBULL:
        return d->b * pow(-log1p(-u), 1 / d->a);
    case RB_DIST_EXPONENTIAL:
        return -d->mean * log1p(-u);
    case RB_DIST_EMPIRICAL:
        return empirical_quantile(d, u);
    case RB_DIST_CONSTANT:
        break;
    }
    return d->mean;
}

double rb_dist_draw(const struct rb_dist *d, struct rb_stream *s)
{
    return rb_dist_quantile(d, rb_stream_uniform(s));
}

// --- moments ---

// Mean of the standard normal above -1 / cv: density over probability kept.
static double normal_hazard(const struct rb_dist *d)
{
    return exp(-0.5 / (d->cv * d->cv) - LN_SQRT_2PI) / (1 - d->b);
}

double rb_dist_mean(const struct rb_dist *d)
{
    return d->kind == RB_DIST_NORMAL && !degenerate(d) ? d->mean + d->a * normal_hazard(d) : d->mean;
}

double rb_dist_variance(const struct rb_dist *d)
{
    if (degenerate(d))
        return 0;
    if (d->kind != RB_DIST_NORMAL)
        return d->mean * d->mean * d->cv * d->cv;
    const double hazard = normal_hazard(d);
    return d->a * d->a * (1 - hazard / d->cv - hazard * hazard);
}

// --- distribution and density ---

static double empirical_cdf(const struct rb_dist *d, double x)
{
    const int n = rb_count_up_to(d->values, d->n_values, x);
    if (n == 0 || n == d->n_values)
        return n == 0 ? 0 : 1;
    const double below = d->values[n - 1], above = d->values[n];
    return (n - 1 + (x - below) / (above - below)) / (d->n_values - 1);
}

static double gamma_cdf(double shape, double x)
{
    return shape > GAMMA_NORMAL_SHAPE ? large_gamma_cdf(shape, x) : gsl_cdf_gamma_P(x, shape, 1);
}

double rb_dist_cdf(const struct rb_dist *d, double x)
{
    if (degenerate(d))
        return x >= d->mean ? 1 : 0;
    if (!(x > 0) && d->kind != RB_DIST_EMPIRICAL)
        return 0;
    switch (d->kind) {
    case RB_DIST_NORMAL:
        return (gsl_cdf_ugaussian_P((x - d->mean) / d->a) - d->b) / (1 - d->b);
    case RB_DIST_LOGNORMAL:
        return gsl_cdf_ugaussian_P((log(x) - d->a) / d->b);
    case RB_DIST_GAMMA:
        return gamma_cdf(d->a, x / d->b);
    case RB_DIST_WEIBULL:
        return -expm1(-pow(x / d->b, d->a));
    case RB_DIST_EXPONENTIAL:
        return -expm1(-x / d->mean);
    case RB_DIST_EMPIRICAL:
        return empirical_cdf(d, x);
    case RB_DIST_CONSTANT:
        break;
    }
    return x >= d->mean ? 1 : 0;
}

double rb_dist_log_density(const struct rb_dist *d, double x)
{
    assert(!degenerate(d) && d->kind != RB_DIST_EMPIRICAL);
    if (!(x > 0))
        return -INFINITY;
    switch (d->kind) {
    case RB_DIST_NORMAL: {
        const double z = (x - d->mean) / d->a;
        return -z * z / 2 - LN_SQRT_2PI - log(d->a) - log1p(-d->b);
    }
    case RB_DIST_LOGNORMAL: {
        const double z = (log(x) - d->a) / d->b;
        return -z * z / 2 - LN_SQRT_2PI - log(d->b) - log(x);
    }
    case RB_DIST_GAMMA:
        return (d->a - 1) * log(x / d->b) - x / d->b - d->c - log(d->b);
    case RB_DIST_WEIBULL:
        return log(d->a / d->b) + (d->a - 1) * log(x / d->b) - pow(x / d->b, d->a);
    default:
        return -log(d->mean) - x / d->mean;
    }
}
