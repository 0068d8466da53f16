#include "planner/request/safe_plan.h"

void rb_safe_plan_price(struct rb_plan *plan, uint32_t first, struct rb_arena *arena)
{
    struct rb_plan_spot markets;
    if (plan->deadline_us < 0 || rb_plan_spot_offer(plan) < 0)
        return;
    rb_plan_spot_init(&markets, plan);
    if (markets.policy) {
        struct rb_plan_safe_spot *spot = rb_arena_alloc(arena, sizeof *spot);
        *spot = rb_plan_replay(&markets, plan, first, &plan->estimate);
        plan->spot = spot;
        plan->bound = (struct rb_plan_bound){.why_not = "spot machines are used, and no bound is computed for that",
                                             .nodes_explored = plan->bound.nodes_explored};
    }
    rb_plan_spot_finish(&markets);
}

bool rb_safe_plan_keeps(const struct rb_plan *plan)
{
    return plan->estimate.p_both >= plan->confidence && rb_plan_as_it_stands(plan)->p_both >= plan->confidence;
}

bool rb_safe_plan_is_better(const struct rb_plan *a, const struct rb_plan *b)
{
    return rb_safe_plan_keeps(a) &&
           (!rb_safe_plan_keeps(b) || a->estimate.cost_uusd.mean < b->estimate.cost_uusd.mean);
}

bool rb_plan_is_better(const struct rb_plan *a, const struct rb_plan_result *a_result, const struct rb_plan *b,
                       const struct rb_plan_result *b_result, enum rb_objective objective)
{
    struct rb_candidate x = a_result->best, y = b_result->best;
    x.estimate = a->estimate;
    y.estimate = b->estimate;
    return rb_candidate_compare(&x, &y, objective) < 0;
}
