// Stores what trials draw and report in the runs of an asynchronous job. Which run trains which trial how far depends
// on the plan; a trial's draws and its scores do not. For a search that simulates the same runs under hundreds of
// plans.
#ifndef RB_SIMULATOR_KEPT_TRIALS_H
#define RB_SIMULATOR_KEPT_TRIALS_H

#include "simulator/model/draws.h"

// Runs first..first+n-1.
struct rb_run_range {
    uint32_t first;
    int n;
};

// A trial in a stage, from the resource at which it begins there, as far as any run has trained it.
struct rb_kept_trial {
    struct rb_drawn_trial drawn;
    double *metrics; // after each of drawn.cap units
    int n_metrics;   // known
};

struct rb_kept_trials;

// Every run may use the same part of most_bytes; what does not fit is drawn again.
struct rb_kept_trials *rb_kept_trials_create(const struct rb_scenario *s, const struct rb_run_range *ranges,
                                             int n_ranges, size_t most_bytes);
void rb_kept_trials_destroy(struct rb_kept_trials *kept); // NULL is allowed
size_t rb_kept_trials_bytes(const struct rb_kept_trials *kept); // so far; call between runs

// First attempt of a trial in a stage that trains it from resource `start` to `end`. NULL: it is not kept. Borrowed.
// Different threads may ask for different runs at once. kept may be NULL.
struct rb_kept_trial *rb_kept_trials_get(struct rb_kept_trials *kept, int stage, int position, uint32_t replicate,
                                         int64_t start, int64_t end);
// rb_synthetic_curve of the scenario's seed, at most drawn.cap units after `start`.
double rb_kept_trials_metric(const struct rb_kept_trials *kept, struct rb_kept_trial *trial, int position,
                             uint32_t replicate, int64_t start, int64_t resource);

#endif
