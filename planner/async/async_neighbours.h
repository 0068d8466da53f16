// Neighbours of an asynchronous job's plan: plans that differ from it by one move. A move changes the node count, the
// size or the machine of one phase, or of all phases from one on.
#ifndef RB_PLANNER_ASYNC_NEIGHBOURS_H
#define RB_PLANNER_ASYNC_NEIGHBOURS_H

#include "planner/search/search.h"

struct rb_async_neighbours {
    const struct rb_search *search;
    const struct rb_candidate *from;
    struct rb_candidate *items; // freed by the caller
    int n, cap;
};

// Adds the neighbours of a plan to an empty list that names its search and the plan to start from. All of them fit.
void rb_async_list_neighbours(struct rb_async_neighbours *list);

// True if every phase can hold a trial of its level, within resources.max_nodes and the sizes that fit the offer.
bool rb_async_fits(const struct rb_search *search, const struct rb_candidate *candidate);

// True if the plan is usable and not equivalent to a cheaper one.
bool rb_async_is_worth_owning(const struct rb_search *search, int offer);
// Phases from `first` on own the same number of GPUs of another offer. The result may not fit.
struct rb_candidate rb_async_moved_to(const struct rb_search *search, const struct rb_candidate *from, int first,
                                      int offer);

#endif
