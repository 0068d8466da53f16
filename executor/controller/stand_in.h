// Chooses the offers to request for a node of the plan when its own offer is sold out: those of the plan's fallback
// list with the same accelerator and GPUs. The plan, its stages and the engine keep the plan's offer. Billing and
// reports use the offer of the actual launch.
#ifndef RB_EXECUTOR_STAND_IN_H
#define RB_EXECUTOR_STAND_IN_H

#include "engine/plan/plan.h"

// The k-th offer to request for a node of `offer`. 0 is that offer itself; then come the same machine type elsewhere or
// on the other market, then other types, each in the order of the list. -1: there are no more. Nodes over which one
// trial is spread keep the type and place of their placement group: only the other market can stand in for them.
int rb_stand_in(const struct rb_plan *plan, int offer, int k);

#endif
