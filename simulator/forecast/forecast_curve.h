// Extrapolates learning curves: mean and spread of every trial's score at any later resource, from its own reports and
// from all curves of the job. Source: averaging over parametric families of curves (Domhan et al., IJCAI'15), here with
// conjugate priors fitted to the job (empirical Bayes): docs/MODEL.md, "Lookahead".
#ifndef RB_SIMULATOR_FORECAST_CURVE_H
#define RB_SIMULATOR_FORECAST_CURVE_H

#include "base/arena.h"
#include "engine/policies/lookahead_curves.h"

struct rb_curve_model;

struct rb_prospect {
    double mean, sd; // of a score
};

// Lives in `arena`; borrows `seen`. NULL: too little has been reported for a forecast (fewer than two reports).
const struct rb_curve_model *rb_curve_model_fit(const struct rb_seen_curves *seen, struct rb_arena *arena);

// x: rb_curve_shapes_at the resource in question. For a trial that has not reported, the forecast is that of the job's
// curves.
struct rb_prospect rb_curve_prospect(const struct rb_curve_model *m, int trial, const double x[RB_CURVE_SHAPES]);
// Standard deviation of changes beyond the resource that any curve of the job has reached and that its past cannot show
// (such as a drop of the learning rate); 0 within that resource.
double rb_curve_surprise(const struct rb_curve_model *m, double resource);
// Standard deviation of one report around its curve.
double rb_curve_noise(const struct rb_curve_model *m);

#endif
