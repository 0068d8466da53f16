// Nodes requested before the barrier at which they are needed. Early requests couple stages, so the law of a single
// stage does not give their value. They are found by exchange once the search is over. Every exchange is simulated
// beside the plan it would replace, with the same draws; the plan left at the end is simulated once more with draws
// that the exchange has not used.
#ifndef RB_PLANNER_EARLY_H
#define RB_PLANNER_EARLY_H

#include "planner/search/search.h"

// Moves requests of the result's plan earlier, and changes the choice of one stage at a time along with them, while
// that improves the plan by more than four standard errors and the constraints hold. Only considers plans that gain
// nodes whose delay is a significant part of the plan's time; for others it costs nothing. The result's bound is
// unchanged: it covers plans without early requests.
bool rb_early_improve(struct rb_search *search, struct rb_plan_result *result, struct rb_err *err);

#endif
