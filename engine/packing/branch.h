// Finds the shortest packing of a small group, by branch and bound over the next trial to start, its width and its
// place.
//
// The search is complete: an optimal packing in which no trial could start earlier results from taking the trials by
// (start, index) and starting each as soon as its place is free; wholly free GPUs are alike; equal trials may start in
// order of index. A branch is cut when the remaining areas, each trial at the least area with which it would still end
// in time, do not fit below the best known end (the allotment bound again, at every node). The search ignores nodes:
// n_nodes of node_gpus count as one row of GPUs. So the result is a lower bound for a packing on nodes, and is such a
// packing if a list in the same order attains it there.
#ifndef RB_ENGINE_PACKING_BRANCH_H
#define RB_ENGINE_PACKING_BRANCH_H

#include "engine/packing/group.h"

#define RB_BRANCH_MOST_TRIALS 10 // beyond, the search would rarely end within a useful time
#define RB_BRANCH_MOST_GPUS   64

struct rb_branching {
    int64_t best_us;       // the shortest found, or the given bound if nothing shorter was found
    // widths and order are of one that ends at best_us; else nothing is shorter than the given bound.
    bool improved;
    bool complete;         // the whole tree was searched: nothing is shorter than best_us
    int64_t n_explored;
    int widths[RB_BRANCH_MOST_TRIALS], order[RB_BRANCH_MOST_TRIALS];
};

// within_us: only shorter packings are searched. enough_us: the search ends when it has one of this length (a lower
// bound). false: the group is too large; out is untouched.
bool rb_pack_branch(const struct rb_pack_group *g, int64_t within_us, int64_t enough_us, int64_t most_nodes,
                   struct rb_branching *out);

#endif
