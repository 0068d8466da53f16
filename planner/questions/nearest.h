// What a candidate would need to be feasible, each constraint changed alone, and the minimum over many candidates.
#ifndef RB_PLANNER_NEAREST_H
#define RB_PLANNER_NEAREST_H

#include "planner/search/planner.h"

struct rb_needs {
    int64_t deadline_us; // smallest deadline that suffices; -1: none does
    int64_t budget_uusd; // the same for the budget
    double confidence;   // share of replicates that meet both constraints
};

// Computed from the replicates themselves without rounding. Does not sort in place; scratch [n] is overwritten.
struct rb_needs rb_needs_of(const int64_t *time_us, const int64_t *cost_uusd, int n, int64_t deadline_us,
                            int64_t budget_uusd, double confidence, int64_t *scratch);

// Keeps the smaller of each need in *nearest. Start from rb_needs_none.
struct rb_needs rb_needs_none(void);
void rb_needs_merge(struct rb_needs *nearest, const struct rb_needs *other);

// What the request's run costs beside its nodes.
int64_t rb_beside_uusd(const struct rb_plan_request *req);

// Writes the needs to a result: deadline rounded up to 1 s, budget up to 1 cent, confidence down to 0.001. A constraint
// that was not asked for stays -1.
void rb_needs_round(const struct rb_needs *needs, const struct rb_plan_request *req, struct rb_plan_result *out);

// rb_search_nearest_of for jobs whose stages are sampled.
bool rb_stages_nearest_of(struct rb_search *search, const struct rb_candidate *candidates, int n,
                          struct rb_plan_result *out, struct rb_err *err);

// Writes the nearest constraints of an infeasible result as a member `nearest`: {deadline_us, budget_uusd, confidence}.
// A value is null if changing that constraint alone does not suffice.
void rb_nearest_write(const struct rb_plan_result *result, struct rb_json *j);

#endif
