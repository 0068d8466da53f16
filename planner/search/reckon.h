// What a plan takes and costs by mean times alone: a microsecond a plan, no draws. Where time is limited it says which plans to look at
// first; what is promised always rests on runs.
#ifndef RB_PLANNER_RECKON_H
#define RB_PLANNER_RECKON_H

#include "planner/search/search.h"

// The order in which to look at n candidates, as indices: those that keep deadline and budget by reckoning, the best first, then the
// others, the fastest first. out_order [n].
void rb_reckon_order(const struct rb_search *search, const struct rb_candidate *candidates, int n, int *out_order);
// Puts them into that order.
void rb_reckon_sort(const struct rb_search *search, struct rb_candidate *candidates, int n);

#endif
