// The one placement function: which GPUs of which nodes the next waiting trial gets. Source: design section 10.
#ifndef RB_ENGINE_PLACEMENT_H
#define RB_ENGINE_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

// Free GPUs of the nodes that may be used now (owned, ready, not leaving), in ascending node index.
struct rb_placement_node {
    int node;          // index
    int gpus;          // G, 1..64
    uint64_t free;     // bit i: GPU i is free
};

struct rb_slot {
    int node;
    uint64_t gpus;     // bit mask, lowest free bits first
};

// g <= G: the node with the fewest GPUs left free that still fits g (ties: lowest index), lowest free GPU numbers.
// g > G: ceil(g/G) wholly free nodes, lowest indices, held whole. All nodes have the same G.
// On success out_slots [max(1, ceil(g/G))] is filled and the nodes' `free` is updated. false: does not fit now.
bool rb_place(struct rb_placement_node *nodes, int n_nodes, int g, struct rb_slot *out_slots, int *out_n_slots);

// How many trials of g GPUs run at once on n nodes of G GPUs.
int rb_placement_capacity(int n_nodes, int gpus_per_node, int g);

#endif
