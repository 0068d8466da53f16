// Brute force: every plan of a small problem, run replicate by replicate by the exact evaluator. Independent of the
// planner's tables, bounds and choices.
#ifndef RB_TESTS_PLANNER_REPLICATE_ORACLE_H
#define RB_TESTS_PLANNER_REPLICATE_ORACLE_H

#include "case.h"

struct replicate_oracle {
    int n_plans, n_samples;
    int64_t *time_us, *cost_uusd; // [n_plans][n_samples]
    struct rb_candidate *plans;   // [n_plans], estimates not filled
};

// false: more than max_plans. n_samples runs each. Owns: replicate_oracle_finish.
bool replicate_oracle_init(struct replicate_oracle *o, const struct rb_case *c, int max_plans, int n_samples);
void replicate_oracle_finish(struct replicate_oracle *o);

// Best mean of the objective among the plans that keep the constraints with the confidence; -1: none does.
int64_t replicate_oracle_best(const struct replicate_oracle *o, const struct rb_plan_request *req);
// The smallest deadline (budget) at which some plan is feasible, everything else as asked; -1: none.
int64_t replicate_oracle_least_deadline(const struct replicate_oracle *o, const struct rb_plan_request *req);
int64_t replicate_oracle_least_budget(const struct replicate_oracle *o, const struct rb_plan_request *req);

#endif
