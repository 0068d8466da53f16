// Construction of laws: an even grid to fill in, and the quantities derived from it. Private to simulator/laws/.
#ifndef RB_SIMULATOR_LAW_GRID_H
#define RB_SIMULATOR_LAW_GRID_H

#include "simulator/laws/law.h"

#define RB_LAW_LEAST_POINTS 16
#define RB_LAW_BELOW        1e-13 // what is cut off at the lower end ...
#define RB_LAW_ABOVE        1e-12 // ... and at the upper one

struct rb_law_grid {
    double low_s, step_s;
    int n;
    double *below, *above; // to be filled in, [n]
};

// At most RB_LAW_POINTS_HEAVY points from low to high, at least RB_LAW_LEAST_POINTS; step_s is adjusted accordingly.
struct rb_law_grid rb_law_grid_make(double low_s, double high_s, double step_s, struct rb_arena *arena);
// Trims empty ends, makes the function monotone, and estimates the error between points. Mean and variance NAN:
// computed from the grid. `error` and `tail_error`: those of the points.
struct rb_law rb_law_grid_finish(struct rb_law_grid *grid, double mean_s, double variance_s2, double jump, double error,
                                 double tail_error);

// Mean and variance computed from the grid.
void rb_law_grid_moments(const struct rb_law *law, double *out_mean_s, double *out_variance_s2);
// Density times step at point i, from five points (fourth order), limited so that the cubic between points is monotone.
double rb_law_slope(const struct rb_law *law, int i);

// A law with its slopes, for evaluation at many points.
struct rb_law_curve {
    const struct rb_law *law;
    double *slope; // [n]
};
struct rb_law_curve rb_law_curve_make(const struct rb_law *law, struct rb_arena *scratch);
double rb_law_curve_below(const struct rb_law_curve *curve, double seconds);
double rb_law_curve_above(const struct rb_law_curve *curve, double seconds);

// Characteristic function E exp(i j omega X), j = from .. from + n - 1, into re and im. omega in 1/s.
void rb_law_transform_from(const struct rb_law *law, double omega, int from, int n, double *out_re, double *out_im);

#endif
