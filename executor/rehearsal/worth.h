// What a plan is worth with the freedom to leave it, and which of several plans to begin with.
#ifndef RB_EXECUTOR_WORTH_H
#define RB_EXECUTOR_WORTH_H

#include "engine/plan/plan.h"
#include "simulator/stage/compare.h"

enum {
    RB_WORTH_RANKED = 128, // runs that plans are compared by
    RB_WORTH_STATED = 1024,  // others, which had no part in the choice
    RB_WORTH_OTHERS = 4,
};

// Confidences of the plans that are tried beside the one that keeps its limits by itself (bench/results/replan.md).
extern const double rb_worth_confidences[RB_WORTH_OTHERS];

struct rb_worth {
    struct rb_share kept;     // of both limits
    struct rb_mean cost_uusd; // of a run
};

// Runs first..first+n-1 of the plan in virtual time, each re-planned as rbrun would (rehearsal.h): a tenth of a second and
// more of CPU time each. n >= 1; no result depends on the number of threads.
bool rb_worth_of(const struct rb_plan *plan, uint32_t first, int n, int threads, struct rb_worth *out,
                 struct rb_err *err);

// The first of these plans [n], n >= 1, keeps the confidence by itself. Chooses the one that costs least when its runs
// are re-planned, among those that then keep their limits with that confidence; out: what is said of it, by runs that have
// not chosen it. The more runs, ranked and stated, the surer.
bool rb_worth_choose(const struct rb_plan *const *plans, int n, int ranked, int stated, int threads, int *out_chosen,
                     struct rb_worth *out, struct rb_err *err);

#endif
