// Detects machines whose spot market reclaims them so soon that a trial would practically never finish. A stage's
// progress since its last save is lost with its node, so the stage needs an uninterrupted stretch until the next save, or as long as
// itself where scripts do not save. Such machines are left
// out and named; they do not make anything else fail.
#ifndef RB_PLANNER_ENDLESS_H
#define RB_PLANNER_ENDLESS_H

#include "planner/search/search.h"

// What a trial of the stage must train on nodes that it keeps, its start-up and its save included, and how many times: all of
// the stage once, or from one save to the next. By mean times; saves are at the ends of units.
struct rb_stretch {
    double s;
    double n;
};
// false: the layout is not allowed.
bool rb_stretch_of(const struct rb_search *search, int stage, int offer, int gpus, struct rb_stretch *out);

// True if a trial of this stage with this many GPUs is expected to start more than a hundred times from one save, or the stage to
// lose more nodes than one run may request, or if the offer's reservation is closed to the stage.
bool rb_is_endless(const struct rb_search *search, int stage, int offer, int gpus);
// True if any stage of the candidate is endless.
bool rb_has_endless_stage(const struct rb_search *search, const struct rb_candidate *candidate);

// The estimate of a candidate that does not finish: infeasible under any constraints, and later and more expensive than
// any other.
struct rb_estimate rb_endless_estimate(int samples);

// INFEASIBLE if a stage finishes on no offer; the error names the stage and the reason.
bool rb_endless_check(const struct rb_search *search, struct rb_err *err);

// First stage that does not finish on the offer with any size; -1: there is none.
int rb_endless_stage(const struct rb_search *search, int offer);

#endif
