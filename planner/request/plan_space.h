// The space of plans that one search explores, kept for its next question. Choices and their sampled times depend on
// neither deadline nor budget (planner/questions/pareto.h asks for many).
#ifndef RB_PLANNER_PLAN_SPACE_H
#define RB_PLANNER_PLAN_SPACE_H

#include "planner/request/options.h"

struct rb_plan_space *rb_plan_space_create(void);        // empty
void rb_plan_space_destroy(struct rb_plan_space *space); // NULL is allowed

// The tables of sampled choices for the confidence of the search's request. They are made if there are none or if they
// are already lent. The caller holds them until giving them back; they are then freed unless the search will be asked
// again (search->asked_again).
bool rb_plan_space_take_options(struct rb_search *search, struct rb_options *out, struct rb_err *err);
void rb_plan_space_give_options(struct rb_search *search, struct rb_options *options);

#endif
