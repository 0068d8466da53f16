// Lower bounds of stage times in microseconds of computing, from the laws of one trial and one arrival: no trial outlasts
// its stage, no more work is done than there are nodes, and nothing runs before enough nodes are there. In numbers only:
// means, and tilts -ln E exp(-theta T) / theta, which add up over independent parts.
#ifndef RB_PLANNER_FLOORS_H
#define RB_PLANNER_FLOORS_H

#include "planner/search/search.h"

#define RB_N_TILTS 4

// Every theta is so many times one of its own, so that one exponential serves all of them.
static const int rb_tilts[RB_N_TILTS] = {3, 7, 16, 40};

struct rb_times { // of one law, in seconds
    double mean_s, variance_s2, tilted_s[RB_N_TILTS];
};

// Of any law.
struct rb_times rb_times_of(const struct rb_law *law, const double *theta);

struct rb_floors;

// theta [RB_N_TILTS], 1/s.
struct rb_floors *rb_floors_create(const struct rb_search *search, const double *theta);
void rb_floors_destroy(struct rb_floors *floors); // NULL is fine

// Bounds of one stage carried out by a choice: out[i] when kept[i] of its nodes are ready at the start. The variance is that
// of the longest of its trials. out_roughly_s[i]: what it takes as if all trials and arrivals took their means and work could be
// split, no bound; NULL: not asked. Error: a layout that may not be asked of the profile.
bool rb_floors_get(struct rb_floors *floors, int stage, const struct rb_choice *choice, const int *kept, int n,
                   struct rb_times *out, double *out_roughly_s, struct rb_err *err);

// The longest of the stage's trials by itself.
const struct rb_law *rb_floors_longest(struct rb_floors *floors, int stage, int offer, int gpus, struct rb_err *err);

// From the request of one node to its being ready.
const struct rb_law *rb_floors_arrival(struct rb_floors *floors, int offer);

#endif
