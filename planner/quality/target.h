// Dollars until a trial first reports the job's metric.target, which ends the run.
#ifndef RB_PLANNER_QUALITY_TARGET_H
#define RB_PLANNER_QUALITY_TARGET_H

#include "planner/quality/law.h"

#include "engine/plan/plan.h"

struct rb_to_target {
    double reached;                 // share of the draws in which a trial reports it
    struct rb_quantiles cost_uusd;  // over those draws; meaningless where reached is 0
    int draws;
};

// The draws of rb_best_expect; the first report at the end of a rung with at least the target, in the order in which
// trials began, ends the run. What was spent until then: of the plan's mean costs, those of the stages before, and of
// its own stage the share of trials up to this one; where stages overlap, the largest share of the whole cost that
// every level's trials allow. So the spread is that of what the search finds, not that of machines; and a report
// between two ends of rungs counts at the later one.
// The job has a target and the law has scores. Errors: as rb_search_shape_of.
bool rb_target_expect(const struct rb_quality_law *law, const struct rb_plan *plan, int draws, struct rb_to_target *out,
                      struct rb_err *err);

#endif
