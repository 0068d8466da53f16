// The frontier with spot machines: what a run under resources.spot: safe costs at each deadline, at the confidence that the
// plans on demand keep there.
#ifndef RB_PLANNER_SPOT_FRONTIER_H
#define RB_PLANNER_SPOT_FRONTIER_H

#include "planner/questions/pareto.h"
#include "planner/questions/sweep.h"

// A plan that ends earlier leaves more time for spot machines, so at each deadline the optimal plans of this one and of
// tighter ones are candidates, as for a single plan (planner/request/plan_request.c). Each is priced by replays, and the
// one is taken with which the run costs least; other replays say what it costs.
// answers: [n], by deadline. Sets what io says of spot; nothing for jobs without spot: safe, and for those whose
// markets the profile does not know.
// Errors: of plans that cannot be assembled.
bool rb_spot_frontier_find(struct rb_sweep *sweep, const struct rb_sweep_answers *answers, int n, struct rb_arena *arena,
                           struct rb_pareto *io, struct rb_err *err);

#endif
