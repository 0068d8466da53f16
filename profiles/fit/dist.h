// Distributions of latencies. They are drawn by inversion, so that one uniform number makes one draw in every family.
// A value type: empirical samples are borrowed from the arena they were read into.
// In every family, cv 0 or mean 0 is a constant.
#ifndef RB_PROFILES_DIST_H
#define RB_PROFILES_DIST_H

#include "base/document/doc.h"
#include "base/document/json.h"
#include "base/stream.h"

enum rb_dist_kind {
    RB_DIST_CONSTANT,
    RB_DIST_NORMAL,      // truncated at 0: mean and cv are those of the untruncated normal
    RB_DIST_LOGNORMAL,   // mean, cv
    RB_DIST_GAMMA,       // mean, cv
    RB_DIST_WEIBULL,     // mean, cv
    RB_DIST_EXPONENTIAL, // mean
    RB_DIST_EMPIRICAL,   // sorted values; quantile by linear interpolation between order statistics
};

// Limits with a reason: a latency of 11 days or ten times its mean is a typing error, and within them every draw is
// finite and fits microseconds.
#define RB_DIST_MAX_MEAN 1e6
#define RB_DIST_MAX_CV   10.0

struct rb_dist {
    enum rb_dist_kind kind;
    double mean;          // of the draws, except NORMAL (see above); seconds or a factor
    double cv;            // standard deviation over mean; 0 for CONSTANT, 1 for EXPONENTIAL
    double a, b, c;       // derived by rb_dist_prepare: normal sd, P(X < 0), -; lognormal mu, sigma, -;
                          // gamma shape, scale, ln Gamma(shape); Weibull shape, scale, -
    const double *values; // EMPIRICAL: sorted, [n_values]
    int n_values;
    double relative_error; // measured: standard error of the mean over the mean, 0 where it is taken as exact. Draws, moments
                           // and CDF ignore it: a prediction draws it once (simulator/model/draws.h)
};

// Fills a, b, c from mean and cv (EMPIRICAL: mean and cv from the values). Errors: mean or cv negative, not finite or
// beyond the limits; empirical without values, or with values unsorted or negative.
bool rb_dist_prepare(struct rb_dist *d, struct rb_err *err);
struct rb_dist rb_dist_constant(double value);

// Inverse CDF, u in (0,1). Result >= 0 and finite; rises with u (to 12 digits for GAMMA).
double rb_dist_quantile(const struct rb_dist *d, double u);
double rb_dist_draw(const struct rb_dist *d, struct rb_stream *s); // exactly one uniform, even for CONSTANT
double rb_dist_mean(const struct rb_dist *d);     // of the draw (truncation included)
double rb_dist_variance(const struct rb_dist *d);
double rb_dist_cdf(const struct rb_dist *d, double x);
double rb_dist_log_density(const struct rb_dist *d, double x); // EMPIRICAL, CONSTANT: assert

const char *rb_dist_kind_name(enum rb_dist_kind kind);

// {distribution: lognormal, mean: 8.0, cv: 0.3} | {distribution: empirical, values: [..]} | 8.0 (constant).
// Families may also be given by their own parameters: lognormal {mu, sigma}, gamma/weibull {shape, scale},
// exponential {rate}. Empirical values may stand in any order; they are copied into `arena`.
bool rb_dist_read(const struct rb_node *node, struct rb_arena *arena, struct rb_dist *out, struct rb_err *err);
void rb_dist_write(const struct rb_dist *d, struct rb_json *j);
// The same, and a map may have `relative_error` (0..1) beside the family's keys.
bool rb_dist_read_measured(const struct rb_node *node, struct rb_arena *arena, struct rb_dist *out, struct rb_err *err);
// The factor by which a measured mean may be wrong: lognormal with mean 1 and relative_error as cv; the constant 1 if
// that is 0.
struct rb_dist rb_dist_error(double relative_error);

#endif
