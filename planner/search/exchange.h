// Local search: changes one stage's choice, then two at once, until no improvement is found.
#ifndef RB_PLANNER_EXCHANGE_H
#define RB_PLANNER_EXCHANGE_H

#include "planner/search/optimum.h"

// Improves op's best, which must be a path. Stops when no change of one or two stages helps, or the time is up.
bool rb_exchange(struct rb_optimum *op, struct rb_err *err);

#endif
