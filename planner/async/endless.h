// Machines that the market takes back so soon that a trial would practically never end on them. A stage's progress is lost with
// its node, so that it needs a stretch as long as itself without a loss. They are left out and named, and fail nothing else.
#ifndef RB_PLANNER_ENDLESS_H
#define RB_PLANNER_ENDLESS_H

#include "planner/search/search.h"

// Is a trial of this stage with this many GPUs expected to start more than a hundred times, or the stage to lose more nodes than
// one run may request?
bool rb_is_endless(const struct rb_search *search, int stage, int offer, int gpus);
// Is any of a candidate's stages?
bool rb_has_endless_stage(const struct rb_search *search, const struct rb_candidate *candidate);

// Of a candidate that does not come to an end: infeasible whatever is asked, and later and more expensive than any other.
struct rb_estimate rb_endless_estimate(int samples);

// INFEASIBLE: a stage that ends on no offer, which is named with its reason.
bool rb_endless_check(const struct rb_search *search, struct rb_err *err);

// First stage that the offer carries out with no size at all; -1: there is none.
int rb_endless_stage(const struct rb_search *search, int offer);

#endif
