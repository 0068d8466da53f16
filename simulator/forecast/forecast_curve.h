// Where learning curves are going: every trial's score at any later resource, mean and spread, from its own reports and
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

// Lives in `arena`; borrows `seen`. NULL: too little has been reported to say anything (fewer than two reports).
const struct rb_curve_model *rb_curve_model_fit(const struct rb_seen_curves *seen, struct rb_arena *arena);

// x: rb_curve_shapes_at the resource in question. Of a trial that has not reported: what the job's curves say.
struct rb_prospect rb_curve_prospect(const struct rb_curve_model *m, int trial, const double x[RB_CURVE_SHAPES]);
// Beyond what any curve of the job has been trained to, more may come than its past says (a learning rate that drops, say):
// standard deviation of that at so much resource; 0 within.
double rb_curve_surprise(const struct rb_curve_model *m, double resource);
// Standard deviation of one report about its curve.
double rb_curve_noise(const struct rb_curve_model *m);

#endif
