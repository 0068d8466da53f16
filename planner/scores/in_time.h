// Can a candidate be in time? Told with as few stage times as that takes: of stages whose law is not made yet a law stands in that
// their time is nowhere below, and one stage after the other is made until the candidate is ruled out or all of them are there.
#ifndef RB_PLANNER_IN_TIME_H
#define RB_PLANNER_IN_TIME_H

#include "planner/search/search.h"

// For searches by laws. *out false: P(time <= deadline) is below the confidence asked, whatever laws err by. The laws of a
// candidate that may be in time are made, but for those that have to be sampled.
bool rb_may_be_in_time(struct rb_search *search, const struct rb_candidate *candidate, bool *out, struct rb_err *err);

#endif
