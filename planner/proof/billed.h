// What a plan is billed on average, where that is more than the sum of its stages: a node that comes after the stage that asked
// for it has ended makes the next one longer, and a node is billed for 60 s at least. Both can only add, so sums stay lower
// bounds; by how much they add no law of one stage says. Runs of the whole plan do, wherever it could be seen.
#ifndef RB_PLANNER_BILLED_H
#define RB_PLANNER_BILLED_H

#include "planner/scores/score.h"

#define RB_BILLED_FEW   256
#define RB_BILLED_SIGMA 5.0 // a plan is not billed less than its mean of runs says, less so many standard errors

struct rb_billed {
    double mean_uusd, error_uusd; // one standard error
    int n;                        // runs it is from; 0: it is the sum of the stages
};

// At most what the first n stages of a plan may add to the sum, whatever follows them. times [n]. Up to what laws err by.
double rb_billed_above_sum_uusd(const struct rb_scenario *s, const struct rb_candidate *candidate,
                                const struct rb_stage_time *const *times, int n);
// Could anybody see it?
bool rb_billed_may_differ(const struct rb_score *score);
// Of the first n draws (planner/scores/draws.h). What they cost beyond their own stages' sum, added to the mean of sums: where nothing is
// added that errs by nothing but the rounding of bills. Or their plain mean, where that errs less: short lives are all billed the
// same.
bool rb_billed_by_runs(struct rb_search *search, const struct rb_candidate *candidate, const struct rb_score *score,
                       int n, struct rb_billed *out, struct rb_err *err);
// The sum where nothing more could be seen, else by all runs that the request has.
bool rb_billed_mean(struct rb_search *search, const struct rb_candidate *candidate, const struct rb_score *score,
                    struct rb_billed *out, struct rb_err *err);
// Nowhere above the mean.
double rb_billed_at_least_uusd(const struct rb_billed *billed, const struct rb_score *score);

#endif
