// The space of plans that one search looks through, kept for its next question: choices and their sampled times depend on
// neither deadline nor budget (planner/questions/pareto.h asks for many).
#ifndef RB_PLANNER_PLAN_SPACE_H
#define RB_PLANNER_PLAN_SPACE_H

#include "planner/request/options.h"

struct rb_plan_space *rb_plan_space_create(void);        // empty
void rb_plan_space_destroy(struct rb_plan_space *space); // NULL is fine

// The tables of sampled choices for the confidence of the search's request; made where there are none, or where they are lent
// already. They are the caller's until they are given back, and freed then if the search is not asked again
// (search->asked_again).
bool rb_plan_space_take_options(struct rb_search *search, struct rb_options *out, struct rb_err *err);
void rb_plan_space_give_options(struct rb_search *search, struct rb_options *options);

#endif
