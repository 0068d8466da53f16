// Finds the shortest packing of a small group, by branch and bound over which trial starts next, how wide and where.
//
// Complete: of an optimal packing in which no trial could start earlier, taking the trials by (start, index) and starting each as
// soon as its place is free gives the same packing; wholly free GPUs are alike; equal trials may start in order of index.
// A branch is cut where the areas that are left, each trial at its least area that would still end in time, do not fit
// below the best known end (the allotment bound again, at every node).
// Nodes are not seen: n_nodes of node_gpus count as one row of GPUs, so the result bounds a packing on nodes from below, and
// is one if a list in the same order attains it there.
#ifndef RB_ENGINE_PACKING_BRANCH_H
#define RB_ENGINE_PACKING_BRANCH_H

#include "engine/packing/group.h"

#define RB_BRANCH_MOST_TRIALS 10 // beyond, the search would rarely end within any limit worth waiting for
#define RB_BRANCH_MOST_GPUS   64

struct rb_branching {
    int64_t best_us;       // the shortest found, or the bound it was given where nothing shorter was found
    bool improved;         // widths and order are of one that ends at best_us; else nothing is shorter than the bound given
    bool complete;         // the whole tree was seen: nothing is shorter than best_us
    int64_t n_explored;
    int widths[RB_BRANCH_MOST_TRIALS], order[RB_BRANCH_MOST_TRIALS];
};

// within_us: only shorter packings are looked for. enough_us: the search ends when it has one of this length (a lower bound).
// false: the group is too large to be tried, out untouched.
bool rb_pack_branch(const struct rb_pack_group *g, int64_t within_us, int64_t enough_us, int64_t most_nodes,
                   struct rb_branching *out);

#endif
