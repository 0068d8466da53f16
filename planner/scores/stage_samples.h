// Sampled times and costs of single stages. Every choice uses the same replicates, and so the same draws; samples are
// kept for the whole search. Stages couple only through the number of nodes ready at a barrier, so a plan's time is the
// sum of its stages' times, replicate by replicate, and so is its cost except for the rounding of bills.
#ifndef RB_PLANNER_STAGE_SAMPLES_H
#define RB_PLANNER_STAGE_SAMPLES_H

#include "planner/search/search.h"

struct rb_stage_sample {
    double time_mean_us, cost_mean_uusd;
    double time_low_us, cost_low_uusd; // mean of the `need` smallest; sums of these never exceed a limit that is kept
    const double *time_us;             // [n], by replicate
    const double *cost_uusd;           // [n]
};

struct rb_stage_samples;

// Samples runs 0..n-1, from tables if they apply; `need` of them must keep the constraints. 0: no low means are needed.
struct rb_stage_samples *rb_stage_samples_create(const struct rb_search *search, int n, int need);
// From now on only samples that can keep a deadline with the confidence are needed. Runs are cut off after until_us,
// and a choice that is later than the deadline too often gets the estimate of a stage that never ends
// (rb_endless_estimate), whatever its surroundings.
void rb_stage_samples_limit(struct rb_stage_samples *samples, int64_t deadline_us, double confidence, int64_t until_us);
void rb_stage_samples_destroy(struct rb_stage_samples *samples);
int rb_stage_samples_n(const struct rb_stage_samples *samples);

// Stage `stage` carried out by `choice` if `kept` of its nodes are ready at its start and the others are requested
// then. Made at the first request. Borrowed. NULL on error.
const struct rb_stage_sample *rb_stage_samples_get(struct rb_stage_samples *samples, int stage,
                                                   const struct rb_choice *choice, int kept, struct rb_err *err);

// The same, interpolated between two numbers of kept nodes requested before: low < kept < high.
const struct rb_stage_sample *rb_stage_samples_between(struct rb_stage_samples *samples, int stage,
                                                       const struct rb_choice *choice, int kept, int low, int high);

// Number of nodes of `choice` that a stage inherits from the one before it (NULL: there is none).
int rb_choice_kept(const struct rb_choice *before, const struct rb_choice *choice);

// Reorders values so that the n_low smallest come first.
void rb_select_low(double *values, int n, int n_low);

#endif
