// The expected best of a search: the rungs of its shape are drawn under a law of quality, and the best final normal
// score among the trials that reach R is what the search finds.
#ifndef RB_PLANNER_QUALITY_BEST_H
#define RB_PLANNER_QUALITY_BEST_H

#include "planner/quality/law.h"
#include "planner/quality/shape.h"

#define RB_BEST_DRAWS 10000

// Over the draws, in the order of quality: `low` is worse than `high`, whatever the goal. Quantiles 5, 50, 95 %.
struct rb_band {
    double mean, low, median, high;
};

struct rb_best {
    struct rb_band z;           // final normal score
    struct rb_band better_than; // share of random configurations that it beats, 0..1
    struct rb_band metric;      // NAN: which metric a score is, is unknown. mean and high NAN: more than 5 % of draws are
                                // better than the best that earlier runs know; low and median then mean: or better
};

// Each draw is keyed by (seed, trial, draw): two shapes with the same trials share them, so the best of n trained to R
// never falls with n. draws > 0; fewer for shapes with very many trials (RB_BEST_MOST).
#define RB_BEST_MOST 20000000 // drawn trials
void rb_best_expect(const struct rb_quality_law *law, const struct rb_search_shape *shape, uint64_t seed, int draws,
                    struct rb_best *out);

#endif
