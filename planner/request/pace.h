// Measures how fast runs are made on this machine, for a request with a time limit; its estimates are sized
// accordingly.
#ifndef RB_PLANNER_PACE_H
#define RB_PLANNER_PACE_H

#include "planner/search/planner.h"

// A plan whose runs take as long as any plan's: the smallest trials of the job on the nodes that hold them all. false:
// the offer has none.
bool rb_pace_pilot(const struct rb_plan_request *req, const struct rb_scenario *s, int offer, struct rb_candidate *out);
// Microseconds of the limit that are used up. The request has a clock.
double rb_pace_used_us(const struct rb_plan_request *req);

// Microseconds of the request's clock for one run of a plan, on the slowest kind of offer. Makes a few runs; none if
// the request has no limit (0).
double rb_pace_run_us(const struct rb_plan_request *req, const struct rb_scenario *s);

// If a first plan does not fit into the limit, req->notice reports how long it takes and what to do.
void rb_pace_check(const struct rb_plan_request *req, double first_us);

// Number of runs per estimate, from req->run_us: few enough that some tens of estimates fit into the limit, but always
// enough to estimate a probability. Checks the limit.
int rb_pace_samples(const struct rb_plan_request *req);

#endif
