// What a run has spent at an instant, and whether its budget pays for more.
#ifndef RB_SIMULATOR_SPENDING_H
#define RB_SIMULATOR_SPENDING_H

#include "engine/core/engine.h"
#include "simulator/model/scenario.h"

// If everything owned were terminated at now_us; a node that is only requested counts with the least it can cost once it
// runs. -1: beyond every number.
int64_t rb_spending_at(const struct rb_scenario *s, const struct rb_engine *e, int64_t now_us);

// Does the budget pay for everything until at_us, nothing else happening before?
bool rb_spending_is_paid(const struct rb_scenario *s, const struct rb_engine *e, int64_t budget_uusd, int64_t at_us);
// Is more than the budget spent before next_us, nothing else happening in between? *out_us: the last instant, from now_us
// on, that the budget pays for (now_us where it pays for none).
bool rb_spending_exceeds(const struct rb_scenario *s, const struct rb_engine *e, int64_t budget_uusd, int64_t now_us,
                         int64_t next_us, int64_t *out_us);

#endif
