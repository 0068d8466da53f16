// Which offers may be asked for a node of the plan when its own is sold out: those of the plan's fallback list with
// the same accelerator and GPUs. The plan, its stages and the engine keep the plan's offer; what runs
// is billed and reported by the offer of its launch.
#ifndef RB_EXECUTOR_STAND_IN_H
#define RB_EXECUTOR_STAND_IN_H

#include "engine/plan/plan.h"

// The k-th offer to ask for a node of `offer`: 0 is that one itself, then the same machine type elsewhere or on the
// other market, then other types, each in the order of the list. -1: there are no more. Nodes that one trial is spread
// over stay of the type and in the place of their placement group: for them only the other market stands in.
int rb_stand_in(const struct rb_plan *plan, int offer, int k);

#endif
