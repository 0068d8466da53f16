// The law of quality of a job that ran before, from what its runs left in the profile store.
//
// Which configurations were compared at a rung is known, and so is who went on from it: what is missing at later rungs
// is missing because of results that are known. So each rung is taken given the one before, and selection biases
// nothing. Only trials count whose configurations were drawn from the space: everybody starts alike, and the first
// result of n has the normal score of its rank.
//
// rho: of those that reach a rung, the correlation of normal scores with the rung before is compared with what the
// prior to the power e^u predicts for the spread that they had left (Pearson's correction for restricted range), by
// Fisher's z with variance 1/(n - 3). The step from rung to rung is not the whole way to R: u = t + N(0, tau^2), where
// e^t is the power on the whole way, and t ~ N(0, spread^2) of the prior. The posterior mean of t goes into rho, its
// standard deviation is the new spread: at least .62 of the prior's.
//
// Metrics: scores of all results are drawn RB_RUNS_MAPS times, rung by rung: N(0, 1) at a trial's first one, then
// N(c y, 1 - c^2) with c = rho(s)/rho(t); at each rung they are put into the order of the metrics there. What the
// trials at R got are the scores of final metrics. Above the best of them no metric is known; below the worst, results
// at the rung before stand for final ones, as if training on would not make configurations worse. docs/MODEL.md.
#ifndef RB_PLANNER_QUALITY_RUNS_H
#define RB_PLANNER_QUALITY_RUNS_H

#include "planner/quality/law.h"

#include "profiles/store/found.h"

#define RB_RUNS_MAPS 100
#define RB_RUNS_TAU  0.4 // from tables of LCBench and TaskSet (bench/results/quality.md)

// found: of the job's training; store: its path, for the source. Nothing found: the prior. *out lives in `arena`.
void rb_quality_law_of_runs(const struct rb_found_metrics *found, const struct rb_job *job, const char *store,
                            struct rb_arena *arena, struct rb_quality_law *out);

#endif
