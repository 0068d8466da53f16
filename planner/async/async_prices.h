// Plans of an asynchronous job that no sequence of small moves reaches. Changing the choice of one phase has an effect
// that is nearly additive over phases, run by run. So every choice for one phase is run alone beside a given plan, and
// at each of many prices of time the cheapest choice of each phase is combined into a plan.
#ifndef RB_PLANNER_ASYNC_PRICES_H
#define RB_PLANNER_ASYNC_PRICES_H

#include "planner/async/async_runs.h"

#define RB_ASYNC_PRICED 4

// Writes the most promising plans to out [RB_ASYNC_PRICED], best predicted first. Each phase keeps the offer it has in
// `beside`. Plans predicted to hardly keep the constraints are left out. *out_n may be 0.
bool rb_async_priced(struct rb_search *search, const struct rb_candidate *beside, struct rb_candidate *out, int *out_n,
                     struct rb_err *err);

#endif
