// The law of a duration in numbers: its distribution function on an even grid, with P(X <= x) and P(X > x) stored
// separately so that both tails have a small relative error. The closed forms compute with it. A value; its arrays live
// in an arena.
// Source of the method: order statistics (David and Nagaraja, "Order Statistics", chapter 2); characteristic functions
// by the trapezoid rule, which is spectrally accurate for smooth integrands (Trefethen and Weideman, SIAM Review 56,
// 2014).
#ifndef RB_SIMULATOR_LAW_H
#define RB_SIMULATOR_LAW_H

#include "base/arena.h"
#include "profiles/fit/dist.h"

#define RB_LAW_POINTS       512  // of a usual grid: 25 standard deviations at a twentieth each
#define RB_LAW_POINTS_HEAVY 2048 // most points: a law with a heavy tail needs them

struct rb_law {
    double low_s, step_s;       // point i lies at low_s + i * step_s
    int n;                      // points; 1: a constant at low_s
    const double *below;        // [n] P(X <= x_i), never falls; last 1 to 1e-12
    const double *above;        // [n] P(X > x_i), 1 - below but accurate where it is tiny
    double mean_s, variance_s2; // of the exact law, not of the grid, if a formula exists
    double error;               // bound on the error of every P(X <= x): numerics, and sampling at 99.9 %
    double tail_error;          // the part that does not shrink in the tails: the largest of k inherits k times this
    double jump;                // largest step of the distribution function (atoms); 0: smooth
};

// No function below fails; what cannot be represented exactly increases `error`.
struct rb_law rb_law_constant(double seconds);
struct rb_law rb_law_of_dist(const struct rb_dist *d, struct rb_arena *arena);
// Sum and product of independent durations; a times a factor >= 0.
struct rb_law rb_law_plus(const struct rb_law *a, const struct rb_law *b, struct rb_arena *arena);
struct rb_law rb_law_times(const struct rb_law *a, double factor, struct rb_arena *arena);
struct rb_law rb_law_product(const struct rb_law *a, const struct rb_law *b, struct rb_arena *arena); // X * Y, independent
// Sum of k independent copies, k >= 1 and possibly many thousands.
struct rb_law rb_law_sum_of(const struct rb_law *a, int64_t k, struct rb_arena *arena);

double rb_law_below(const struct rb_law *law, double seconds);    // P(X <= x), cubic between points, monotone

// Reads quantiles in sequence, each near the previous: bit-identical results in a few steps.
struct rb_law_reader {
    const struct rb_law *law;
    int cell; // cell between two points that contained the last one; -1: below the first
    double slope_from, slope_to;
};
struct rb_law_reader rb_law_read_from(const struct rb_law *law, double u); // the first one will be near u
double rb_law_read_quantile(struct rb_law_reader *r, double u);

#endif
