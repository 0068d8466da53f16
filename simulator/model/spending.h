// The money a run has spent at an instant, and whether its budget pays for more.
#ifndef RB_SIMULATOR_SPENDING_H
#define RB_SIMULATOR_SPENDING_H

#include "engine/core/engine.h"
#include "simulator/model/scenario.h"

// Spending if everything owned were terminated at now_us; a node that is only requested counts with its minimum cost
// once it runs. -1: overflow.
int64_t rb_spending_at(const struct rb_scenario *s, const struct rb_engine *e, int64_t now_us);

// True if the budget pays for everything until at_us, with no event before.
bool rb_spending_is_paid(const struct rb_scenario *s, const struct rb_engine *e, int64_t budget_uusd, int64_t at_us);
// True if more than the budget is spent before next_us, with no event in between. *out_us: the last instant, from
// now_us on, that the budget pays for (now_us if it pays for none).
bool rb_spending_exceeds(const struct rb_scenario *s, const struct rb_engine *e, int64_t budget_uusd, int64_t now_us,
                         int64_t next_us, int64_t *out_us);

#endif
