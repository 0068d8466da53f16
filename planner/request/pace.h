// How fast runs are made here and now, by the clock of a request with a time limit: what its estimates are sized by.
#ifndef RB_PLANNER_PACE_H
#define RB_PLANNER_PACE_H

#include "planner/search/planner.h"

// Microseconds of its clock that one run of a plan takes, of the slowest kind of offer. Makes a few runs; none where the request has
// no limit (0).
double rb_pace_run_us(const struct rb_plan_request *req, const struct rb_scenario *s);

// If a first plan does not fit into the limit, req->notice says what it takes and what to do.
void rb_pace_check(const struct rb_plan_request *req, double first_us);

// Runs behind every estimate, by req->run_us: few enough that some tens of estimates fit into the limit, but never so few that they
// say nothing about a probability. Checks the limit.
int rb_pace_samples(const struct rb_plan_request *req);

#endif
