// The frontier with spot machines and without, at the same confidence. Under resources.spot: safe plans are on demand, and
// the other line is what the run costs at each deadline. Under `allow` plans may have spot machines, and the other line is
// the cheapest plans without them.
#ifndef RB_PLANNER_SPOT_FRONTIER_H
#define RB_PLANNER_SPOT_FRONTIER_H

#include "planner/questions/pareto.h"
#include "planner/questions/sweep.h"

// With spot: a plan that ends earlier leaves more time for spot machines, so at each deadline the optimal plans of this one and of
// tighter ones are candidates, as for a single plan (planner/request/plan_request.c). Each is priced by replays, and the
// one is taken with which the run costs least; other replays say what it costs.
// Without: the same search of the same runs, less the spot offers; baselines are only its hints. A plan that it finds and the
// first line has missed becomes one of that line's.
// io_answers: [n], by deadline. Sets what io says of spot: nothing under `never` and `only`, where the profile does not know the
// markets of `safe`, and where no spot machine, or nothing else, can be planned under `allow`.
// Errors: of plans that cannot be assembled.
bool rb_spot_frontier_find(struct rb_sweep *sweep, struct rb_sweep_answers *io_answers, int n, struct rb_arena *arena,
                           struct rb_pareto *io, struct rb_err *err);

#endif
