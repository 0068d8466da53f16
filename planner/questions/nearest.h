// What a candidate would need to be feasible, each constraint changed alone; and the nearest over many candidates.
#ifndef RB_PLANNER_NEAREST_H
#define RB_PLANNER_NEAREST_H

#include "planner/search/planner.h"

struct rb_needs {
    int64_t deadline_us; // smallest deadline that would do; -1: none would
    int64_t budget_uusd; // likewise
    double confidence;   // share of replicates that meet both constraints
};

// From the replicates themselves, no rounding. Sorts nothing in place; scratch [n] is overwritten.
struct rb_needs rb_needs_of(const int64_t *time_us, const int64_t *cost_uusd, int n, int64_t deadline_us,
                            int64_t budget_uusd, double confidence, int64_t *scratch);

// Keeps the nearer of each in *nearest. Start from rb_needs_none.
struct rb_needs rb_needs_none(void);
void rb_needs_merge(struct rb_needs *nearest, const struct rb_needs *other);

// Into a result: deadline up to 1 s, budget up to 1 cent, confidence down to 0.001; a constraint that was not asked
// for stays -1.
void rb_needs_round(const struct rb_needs *needs, const struct rb_plan_request *req, struct rb_plan_result *out);

// rb_search_nearest_of where stages are sampled.
bool rb_stages_nearest_of(struct rb_search *search, const struct rb_candidate *candidates, int n,
                          struct rb_plan_result *out, struct rb_err *err);

// The nearest constraints of an infeasible result as a member `nearest`: {deadline_us, budget_uusd, confidence}, null
// where no value of that one alone would do.
void rb_nearest_write(const struct rb_plan_result *result, struct rb_json *j);

#endif
