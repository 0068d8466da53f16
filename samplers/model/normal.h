// More of the standard normal distribution, and scores by it.
#ifndef RB_SAMPLERS_NORMAL_H
#define RB_SAMPLERS_NORMAL_H

#include "base/arena.h"
#include "base/normal.h"

double rb_normal_quantile(double p); // p in (0, 1)

// A normal truncated to [0,1]: the mass that the whole one has there, and its quantile.
double rb_truncated_mass(double mu, double sd);
double rb_truncated_quantile(double mu, double sd, double p);

// Normal scores Phi^-1((rank - 1/2) / n) of values, where higher is better; equal values share their mean rank, and
// -INFINITY is worst. out [n].
void rb_normal_scores(const double *values, int n, struct rb_arena *arena, double *out);
// Of two lists of normal scores, whose means are 0; 0 where one of them has no spread.
double rb_normal_score_correlation(const double *a, const double *b, int n);

#endif
