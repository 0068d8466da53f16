// What is printed with --json where no plan keeps the constraints: rb-infeasible/1, of rbplan and rbsim.
#ifndef RB_COMMANDS_RBPLAN_INFEASIBLE_H
#define RB_COMMANDS_RBPLAN_INFEASIBLE_H

#include "planner/planner.h"

// On stdout.
bool rb_infeasible_print(const struct rb_plan_result *result, struct rb_err *err);

#endif
