// A trust region for many coordinates: candidates stay in a box around the best configuration, which grows after
// successes and shrinks after failures, because a model of few points says nothing about most of a large space.
// Source: Eriksson et al., "Scalable global optimization via local Bayesian optimization", NeurIPS'19 (TuRBO).
#ifndef RB_SAMPLERS_GP_REGION_H
#define RB_SAMPLERS_GP_REGION_H

#include "base/stream.h"
#include "samplers/model/gp_model.h"
#include "samplers/history.h"

#define RB_REGION_LEAST_COORDINATES 11 // with fewer the whole space is searched

// The length of the box's sides before they are scaled, from the first results of trials in their order: a better
// one than all before is a success.
double rb_region_length(const struct rb_history *h);
// A point of the box around `centre`: sides are length * l_j / (geometric mean of l). What does not apply at the
// centre, and choices now and then, are drawn.
void rb_region_draw(const struct rb_coordinates *c, const struct rb_gp_hyper *hyper, const double *centre,
                    double length, struct rb_stream *s, double *u);

#endif
