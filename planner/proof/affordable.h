// What a plan may cost on average where a budget limits its quantile: the value to beat before any plan that keeps the
// constraints is known, so that a budget far too small is told in milliseconds and not after a search through everything.
#ifndef RB_PLANNER_AFFORDABLE_H
#define RB_PLANNER_AFFORDABLE_H

#include "planner/proof/togo.h"

// No plan of the lattice whose mean cost is above this keeps the request's budget with the confidence asked. `cheapest`: at
// no price of time, computed. INFINITY: no budget. Error: a layout that may not be asked of the profile.
bool rb_affordable_uusd(struct rb_search *search, struct rb_togo *cheapest, double *out_uusd, struct rb_err *err);

#endif
