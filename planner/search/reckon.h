// Estimates a plan's time and cost from mean times alone: a microsecond per plan, no draws. Under a time limit it
// determines which plans to examine first; reported figures always rest on runs.
#ifndef RB_PLANNER_RECKON_H
#define RB_PLANNER_RECKON_H

#include "planner/search/search.h"

// Order in which to examine n candidates, as indices: first those that keep deadline and budget by this estimate, best
// first, then the others, fastest first. out_order [n].
void rb_reckon_order(const struct rb_search *search, const struct rb_candidate *candidates, int n, int *out_order);
// Sorts the candidates into that order.
void rb_reckon_sort(const struct rb_search *search, struct rb_candidate *candidates, int n);

#endif
