// Nodes requested before the barrier at which they are needed. Early requests couple stages, so no law of one stage says what
// they are worth: once the search is over they are looked for by exchange. Every exchange is simulated beside the plan it
// would replace, with the same draws, and what is left at the end once more with draws that the exchange has not seen.
#ifndef RB_PLANNER_EARLY_H
#define RB_PLANNER_EARLY_H

#include "planner/search/search.h"

// Moves requests of the result's plan ahead, and with them the choice of one stage at a time, while that makes the plan
// better by more than four standard errors and the constraints hold. Looks at plans only that gain nodes whose delay is a
// part of the plan's time worth the effort; others cost nothing. The bound of the result is left alone: it covers plans
// without early requests.
bool rb_early_improve(struct rb_search *search, struct rb_plan_result *result, struct rb_err *err);

#endif
