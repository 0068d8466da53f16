// Places jobs that move: each gets the fewest nodes, the cheapest of these, in the tightest gaps. To avoid
// interference, no two jobs that span nodes share a node.
#ifndef RB_ENGINE_SHARING_GOODPUT_PLACE_H
#define RB_ENGINE_SHARING_GOODPUT_PLACE_H

#include "base/arena.h"
#include "engine/sharing/sharing.h"

struct rb_gaps {
    int n_nodes;
    const struct rb_rate *rates; // of each node; NULL: alike
    int *free;               // free GPUs of each node
    int *n_spanning;         // jobs that span nodes, on each node
    bool avoid_interference;
};

void rb_gaps_init(struct rb_gaps *g, struct rb_arena *arena, const struct rb_shared_cluster *cluster,
                  bool avoid_interference);

// Takes the row's GPUs if they are free.
bool rb_gaps_take(struct rb_gaps *g, const int *row);

// Finds `gpus` GPUs and takes them; row: zeroed by the caller. Returns the number of nodes; 0: not found, row
// untouched.
int rb_gaps_find(struct rb_gaps *g, int gpus, int *row);

#endif
