// Estimates given plans: what given nodes and sizes take and cost, by the same scenario, draws and laws as a search.
#ifndef RB_PLANNER_GIVEN_H
#define RB_PLANNER_GIVEN_H

#include "planner/search/planner.h"

struct rb_given_stage {
    const char *infra, *instance_type; // as in the catalogue
    enum rb_market market;
    int nodes, gpus_per_trial;
};

// Estimates a plan with one stage for each rung of the job. out_stages [n_stages] or NULL: what each stage takes and
// costs; their nodes live in `arena` and refer to no offers. Constraints only affect the probabilities: no plan is
// infeasible here. Errors: INVALID (the number of stages, an offer that the job does not allow, a size or a number of
// nodes that it cannot be trained on), INFEASIBLE (a market that reclaims nodes before a trial ends), and those of
// rb_make_plan.
bool rb_estimate_given(const struct rb_plan_request *req, const struct rb_given_stage *given, int n_stages,
                       struct rb_arena *arena, struct rb_estimate *out, struct rb_plan_stage *out_stages,
                       struct rb_err *err);

#endif
