// The one placement rule: which GPUs of which nodes the next waiting trial gets. Source: design section 10.
// The nodes trials may be placed on (owned, ready, not leaving) are kept indexed by how many of their GPUs are free, so
// that a placement costs the same on ten nodes and on ten thousand.
#ifndef RB_ENGINE_PLACEMENT_H
#define RB_ENGINE_PLACEMENT_H

#include "base/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct rb_slot {
    int node;
    uint64_t gpus;     // bit mask, lowest free bits first
};

// Zero-initialised is valid and holds no node. Members are placement.c's own.
struct rb_places {
    struct rb_place_node {
        int gpus;      // 0: not held
        uint64_t free; // bit i: GPU i is free
    } *nodes;          // by number, [n_nodes]
    int n_nodes;
    int n_held;
    int gpus_per_node; // of the nodes held; they are all alike
    uint64_t counts;   // bit c - 1: some node has exactly c GPUs free
    struct rb_place_set *sets[RB_LIMIT_GPUS_PER_NODE + 1]; // the nodes with exactly c GPUs free; NULL: never had any
};

void rb_places_finish(struct rb_places *p);
void rb_places_clear(struct rb_places *p); // holds no node any more
// A node that is held, or held from now on, with these GPUs free. number < RB_LIMIT_NODES, gpus as of all others.
void rb_places_set(struct rb_places *p, int node, int gpus, uint64_t free);
void rb_places_give(struct rb_places *p, int node, uint64_t gpus); // free again; no-op if the node is not held
void rb_places_remove(struct rb_places *p, int node); // no-op if it is not held

// g <= G: the node with the fewest GPUs left free that still fits g (ties: lowest number), lowest free GPU numbers.
// g > G: ceil(g/G) wholly free nodes, lowest numbers, held whole.
// On success out_slots [max(1, ceil(g/G))] is filled and those GPUs are no longer free. false: does not fit now.
bool rb_places_take(struct rb_places *p, int g, struct rb_slot *out_slots, int *out_n_slots);
// Would g GPUs fit if those of `given` were free again?
bool rb_places_would_fit(const struct rb_places *p, int g, const struct rb_slot *given, int n_given);
bool rb_places_have_room(const struct rb_places *p); // is any GPU free?

// How many trials of g GPUs run at once on n nodes of G GPUs.
int rb_placement_capacity(int n_nodes, int gpus_per_node, int g);

uint64_t rb_gpu_mask(int n); // the n lowest bits

#endif
