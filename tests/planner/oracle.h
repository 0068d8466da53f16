// Brute force: every plan of a small problem, run replicate by replicate by the exact evaluator. Independent of the
// planner's tables, bounds and choices.
#ifndef RB_TESTS_PLANNER_ORACLE_H
#define RB_TESTS_PLANNER_ORACLE_H

#include "case.h"

struct oracle {
    int n_plans, n_samples;
    int64_t *time_us, *cost_uusd; // [n_plans][n_samples]
    struct rb_candidate *plans;   // [n_plans], estimates not filled
};

// false: more than max_plans. Owns: oracle_finish.
bool oracle_init(struct oracle *o, const struct rb_case *c, int max_plans);
void oracle_finish(struct oracle *o);

// Best mean of the objective among the plans that keep the constraints with the confidence; -1: none does.
int64_t oracle_best(const struct oracle *o, const struct rb_plan_request *req);
// The smallest deadline (budget) at which some plan is feasible, everything else as asked; -1: none.
int64_t oracle_least_deadline(const struct oracle *o, const struct rb_plan_request *req);
int64_t oracle_least_budget(const struct oracle *o, const struct rb_plan_request *req);

#endif
