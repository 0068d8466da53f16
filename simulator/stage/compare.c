#include "simulator/stage/compare.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>

#include <gsl/gsl_cdf.h>

struct rb_mean rb_mean_of(const double *values, int n)
{
    double sum = 0, squares = 0;
    assert(n >= 1);
    for (int i = 0; i < n; i++)
        sum += values[i];
    const double mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    const double sd = n > 1 ? sqrt(squares / (n - 1)) : 0;
    const double half = n > 1 ? gsl_cdf_tdist_Pinv(0.975, n - 1) * sd / sqrt(n) : 0;
    return (struct rb_mean){.n = n, .mean = mean, .sd = sd, .low = mean - half, .high = mean + half};
}

// gsl_cdf_beta_Pinv does not converge for some (8 of the shares of 1,024 runs), and then ends the process.
static double beta_quantile(double u, double a, double b)
{
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (gsl_cdf_beta_P(middle, a, b) < u)
            low = middle;
        else
            high = middle;
    }
    return high;
}

struct rb_share rb_share_of(int hits, int n)
{
    assert(n >= 1 && hits >= 0 && hits <= n);
    return (struct rb_share){
        .share = (double)hits / n,
        .low = hits == 0 ? 0 : beta_quantile(0.025, hits, n - hits + 1),
        .high = hits == n ? 1 : beta_quantile(0.975, hits + 1, n - hits),
    };
}

// Differences that are all equal have no spread: then the p-value is 1 only if they are all 0.
static double t_test(const struct rb_mean *d)
{
    if (d->n < 2)
        return 1;
    if (!(d->sd > 0))
        return fabs(d->mean) > 0 ? 0 : 1;
    return 2 * gsl_cdf_tdist_Q(fabs(d->mean) / (d->sd / sqrt(d->n)), d->n - 1);
}

static double sign_test(int n_above, int n_below)
{
    const unsigned n = (unsigned)(n_above + n_below), fewer = (unsigned)(n_above < n_below ? n_above : n_below);
    return n == 0 ? 1 : fmin(1, 2 * gsl_cdf_binomial_P(fewer, 0.5, n));
}

struct rb_paired rb_paired_of(const double *a, const double *b, int n)
{
    RB_AUTO(rb_auto_free) double *differences = rb_xcalloc((size_t)n, sizeof *differences);
    struct rb_paired out = {0};
    for (int i = 0; i < n; i++) {
        differences[i] = a[i] - b[i];
        out.n_above += a[i] > b[i];
        out.n_below += a[i] < b[i];
    }
    out.difference = rb_mean_of(differences, n);
    out.p_t = t_test(&out.difference);
    out.p_sign = sign_test(out.n_above, out.n_below);
    return out;
}
