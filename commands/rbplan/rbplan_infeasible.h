// Explains that no plan keeps the constraints, and which change would help; for rbplan and rbsim.
#ifndef RB_COMMANDS_RBPLAN_INFEASIBLE_H
#define RB_COMMANDS_RBPLAN_INFEASIBLE_H

#include "planner/search/planner.h"

// *err is the planner's error and gains the remedy; json: rb-infeasible/1 goes to stdout, too. Makes about ten more
// plans, and stops after five seconds where the request has no limit of its own. Always false.
bool rb_infeasible_explain(const struct rb_plan_request *req, const char *planner, const struct rb_plan_result *result,
                           bool json, struct rb_arena *arena, struct rb_err *err);

#endif
