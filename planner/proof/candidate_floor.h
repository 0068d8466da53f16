// What a whole plan costs at least, and whether it can be in time at all, in microseconds of computing: what lists of
// candidates are sorted out by before any stage time is made.
#ifndef RB_PLANNER_CANDIDATE_FLOOR_H
#define RB_PLANNER_CANDIDATE_FLOOR_H

#include "planner/search/search.h"

struct rb_candidate_floor {
    double cost_uusd;  // no mean cost is below it
    double likely_s;   // roughly when it has ended for nearly certain; no bound
    bool may_be_in_time; // false: P(time <= deadline) is below the confidence asked, for certain
};

// For searches by laws (search->by_laws). ahead: nodes that stages gain may have been requested early enough to be ready.
bool rb_candidate_floor(struct rb_search *search, const struct rb_candidate *candidate, bool ahead,
                        struct rb_candidate_floor *out, struct rb_err *err);

// Offers that can be used and that no cheaper one stands for, in the order of what their work alone costs: no plan on one of
// them alone costs less on average. Both arrays [n_offers]. Returns how many; of asynchronous
// jobs, and for another objective, all, in their own order, at 0.
int rb_offers_by_floor(struct rb_search *search, int *out_offers, double *out_uusd);

#endif
