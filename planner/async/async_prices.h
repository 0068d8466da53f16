// Plans of an asynchronous job that no small step leads to. What the choices of single phases change adds up over phases,
// nearly, run by run. So beside one plan every choice for one phase is run alone, and at each of many prices of time the phases'
// cheapest choices make a plan.
#ifndef RB_PLANNER_ASYNC_PRICES_H
#define RB_PLANNER_ASYNC_PRICES_H

#include "planner/async/async_runs.h"

#define RB_ASYNC_PRICED 4

// The most promising of them, each phase on the offer that it has in `beside`, into out [RB_ASYNC_PRICED]: best first by what is
// predicted of them, and none that hardly keeps the constraints as predicted. *out_n may be 0.
bool rb_async_priced(struct rb_search *search, const struct rb_candidate *beside, struct rb_candidate *out, int *out_n,
                     struct rb_err *err);

#endif
