// What is asked beside a plan that was found: what if something were different, and what other deadlines would cost.
#ifndef RB_PLANNER_BESIDE_PLAN_H
#define RB_PLANNER_BESIDE_PLAN_H

#include "planner/questions/pareto.h"
#include "planner/questions/what_if.h"

// Notes: why one is left out (NULL), or what is to be known of it; NULL: nothing. Everything is in the arena.
struct rb_beside_plan {
    const struct rb_pareto *frontier;
    const struct rb_what_if_table *what_if;
    const char *frontier_note, *what_if_note;
};

// Plans as `req`, each time with its time limit. what_ifs: [n] scenarios; n 0: what people ask first and makes sense. Fails
// only where a scenario that was given cannot be planned.
bool rb_plan_beside(const struct rb_plan_request *req, const struct rb_plan *plan, const struct rb_plan_result *result,
                    const char *const *what_ifs, int n, struct rb_arena *arena, struct rb_beside_plan *out,
                    struct rb_err *err);

#endif
