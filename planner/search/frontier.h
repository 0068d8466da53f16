// Shortest paths over the tables: the plans on the lower convex hull of mean cost against mean time, and a lower bound
// on what the remaining stages add to a partial plan.
#ifndef RB_PLANNER_FRONTIER_H
#define RB_PLANNER_FRONTIER_H

#include "planner/search/optimum.h"

// Contribution of one stage: a weighted sum of its sampled means.
struct rb_weights {
    double cost_mean, time_mean, cost_low, time_low;
};

double rb_weigh(const struct rb_weights *w, const struct rb_stage_sample *sample);

// out_togo[stage][entry]: the least weighted sum of the stages after `stage` when `entry` carries out `stage`.
// Allocated here: free with rb_rest_free.
double **rb_rest_create(const struct rb_options *o, const struct rb_weights *w);
void rb_rest_free(const struct rb_options *o, double **togo);

// The path with the least weighted sum; ties by the earlier entry. Returns the sum.
double rb_frontier_path(const struct rb_options *o, const struct rb_weights *w, struct rb_path *out);

// Plans on the hull between the cheapest and the fastest, at most `cap`. Returns their number; out_slopes[i] is the
// price of time (micro-dollars per microsecond) at which out[i] is best.
int rb_frontier(const struct rb_options *o, struct rb_path *out, double *out_slopes, int cap);

#endif
