// What is said where no plan keeps the constraints, with the way out that there is: of rbplan and rbsim.
#ifndef RB_COMMANDS_RBPLAN_INFEASIBLE_H
#define RB_COMMANDS_RBPLAN_INFEASIBLE_H

#include "planner/search/planner.h"

// *err is the planner's and gains the way out; json: rb-infeasible/1 goes to stdout, too. Takes some ten plans more, and stops
// looking after five seconds where the request has no limit of its own. Always false.
bool rb_infeasible_explain(const struct rb_plan_request *req, const char *planner, const struct rb_plan_result *result,
                           bool json, struct rb_arena *arena, struct rb_err *err);

#endif
