// Questions answered beside a plan that was found: what-if scenarios, and the cost at other deadlines.
#ifndef RB_PLANNER_BESIDE_PLAN_H
#define RB_PLANNER_BESIDE_PLAN_H

#include "planner/questions/pareto.h"
#include "planner/questions/what_if.h"

// Notes: why an answer is left out or what qualifies it; NULL: nothing to note. Everything is in the arena.
struct rb_beside_plan {
    const struct rb_pareto *frontier;
    const struct rb_what_if_table *what_if;
    const char *frontier_note, *what_if_note;
};

// Plans like `req`, each with the full time limit. what_ifs: [n] scenarios; n 0: a default set of scenarios that apply
// to the job. Fails only if a given scenario cannot be planned.
bool rb_plan_beside(const struct rb_plan_request *req, const struct rb_plan *plan, const struct rb_plan_result *result,
                    const char *const *what_ifs, int n, struct rb_arena *arena, struct rb_beside_plan *out,
                    struct rb_err *err);

#endif
