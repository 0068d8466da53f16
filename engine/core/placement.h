// Places trials: decides which GPUs of which nodes the next waiting trial gets. Source: design section 10. A GPU may be
// shared by trials that have the same share of it, because the cost of sharing is measured for equal shares only.
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

// What one trial holds in a cluster: whole GPUs, or a share of one.
struct rb_width {
    int gpus;          // 1 where it is shared
    int sharers;       // trials that sit on the GPU together, itself included; 1: alone
};

// A GPU that several trials sit on, all with the same share of it.
struct rb_shared_gpu {
    int node, gpu;
    int sharers;       // > 1: each has 1 / sharers of the GPU
    int used;          // places taken, 1..sharers
};

// Zero-initialised is valid and holds no node. Members are placement.c's own.
struct rb_places {
    struct rb_place_node {
        int gpus;      // 0: not held
        int n_free;
        uint64_t free; // bit i: GPU i is free
    } *nodes;          // by number, [n_nodes]
    int n_nodes;
    int n_held;
    int gpus_per_node; // of the nodes held; they are all alike
    uint64_t counts;   // bit c - 1: some node has exactly c GPUs free
    struct rb_place_set *sets[RB_LIMIT_GPUS_PER_NODE + 1]; // the nodes with exactly c GPUs free; NULL: never had any
    struct rb_shared_gpu *shared;                          // of nodes held, in no order, [n_shared]
    int n_shared, shared_cap;
};

void rb_places_finish(struct rb_places *p);
void rb_places_clear(struct rb_places *p); // then holds no node
// A node that is held, now or from now on, with these GPUs free. number < RB_LIMIT_NODES; gpus equal for all nodes.
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

// Takes one place on a GPU for `sharers` trials: on the fullest GPU shared so that has room (ties: lowest node, then
// GPU), else on a free GPU, chosen as for g = 1. sharers 1: a GPU of its own.
bool rb_places_take_share(struct rb_places *p, int sharers, struct rb_slot *out_slot);
bool rb_places_take_width(struct rb_places *p, struct rb_width width, struct rb_slot *out_slots, int *out_n_slots);
bool rb_places_would_fit_share(const struct rb_places *p, int sharers);
// The place is free again; the GPU too, when it was the last. No-op if the node is not held.
void rb_places_give_share(struct rb_places *p, const struct rb_slot *slot);
// Records that a busy GPU of a held node is shared so. For callers that keep account of nodes that appear and
// disappear.
void rb_places_set_shared(struct rb_places *p, const struct rb_shared_gpu *gpu);

// The number of trials of g GPUs that run at once on n nodes of G GPUs.
int rb_placement_capacity(int n_nodes, int gpus_per_node, int g);

uint64_t rb_gpu_mask(int n); // the n lowest bits
uint64_t rb_lowest_gpus(uint64_t mask, int n); // the n lowest of those in the mask, or all where there are fewer

#endif
