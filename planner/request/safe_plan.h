// What a plan costs whose stages are on demand and whose run uses spot machines while it cannot be late for that
// (resources.spot: safe).
#ifndef RB_PLANNER_SAFE_PLAN_H
#define RB_PLANNER_SAFE_PLAN_H

#include "base/arena.h"
#include "planner/search/planner.h"
#include "simulator/spot/plan_replay.h"

// Makes `estimate` that of the run and keeps the stages' own in `spot`; no bound is claimed, since none was computed for
// such runs. Leaves the plan as it is where the cost is unknown: no deadline, no spot machine among the fallbacks, a market
// without spells in the profile, an asynchronous job. first: of the RB_PLAN_REPLAYS replays, which it does not repeat.
void rb_safe_plan_price(struct rb_plan *plan, uint32_t first, struct rb_arena *arena);

// Does the run that the plan describes keep both limits with the plan's confidence, with its spot machines and without?
bool rb_safe_plan_keeps(const struct rb_plan *plan);
// Is plan a, found as a_result, better than b by the objective? What a run is expected to cost and take is what counts: with its
// spot machines, where that is known, and not that of the candidate on demand.
bool rb_plan_is_better(const struct rb_plan *a, const struct rb_plan_result *a_result, const struct rb_plan *b,
                       const struct rb_plan_result *b_result, enum rb_objective objective);
bool rb_safe_plan_is_better(const struct rb_plan *a, const struct rb_plan *b); // it keeps them, and b does not or costs more

#endif
