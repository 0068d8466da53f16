// Plans of an asynchronous job that differ from one by a single move: other node counts, sizes or machines, of one phase or all
// from one on.
#ifndef RB_PLANNER_ASYNC_NEIGHBOURS_H
#define RB_PLANNER_ASYNC_NEIGHBOURS_H

#include "planner/search/search.h"

struct rb_async_neighbours {
    const struct rb_search *search;
    const struct rb_candidate *from;
    struct rb_candidate *items; // the caller's to free
    int n, cap;
};

// Into an empty list that names its search and where it starts from. All of them fit.
void rb_async_list_neighbours(struct rb_async_neighbours *list);

// Does every phase hold a trial of its level, within resources.max_nodes and the sizes that fit the offer?
bool rb_async_fits(const struct rb_search *search, const struct rb_candidate *candidate);

// Can it be used, and is it not the same as a cheaper one?
bool rb_async_is_worth_owning(const struct rb_search *search, int offer);
// Phases from `first` on own as many GPUs of another offer. May not fit.
struct rb_candidate rb_async_moved_to(const struct rb_search *search, const struct rb_candidate *from, int first,
                                      int offer);

#endif
