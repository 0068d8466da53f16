// What an infeasible request would need, without sampling where only time matters: the surest plan, and the deadline,
// budget and confidence nearest to those asked.
#ifndef RB_PLANNER_FASTEST_H
#define RB_PLANNER_FASTEST_H

#include "planner/proof/exact.h"

// The plan that keeps the deadline most surely, whatever it costs.
bool rb_fastest_surest(struct rb_exact *x, struct rb_candidate *out, struct rb_err *err);

// With a budget that no plan at a price of time keeps: the plans that would be best without it, at confidences that leave it
// more and more room. They are offered, and remembered for the nearest constraints.
bool rb_fastest_with_room(struct rb_exact *x, struct rb_err *err);

// Into an infeasible result.
bool rb_fastest_nearest(struct rb_exact *x, struct rb_plan_result *out, struct rb_err *err);

#endif
