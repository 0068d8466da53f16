#include "engine/placement.h"

#include <assert.h>

static uint64_t all_gpus(int n)
{
    return n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static uint64_t take_lowest(uint64_t *free, int n)
{
    uint64_t taken = 0;
    for (int i = 0; i < n; i++) {
        const uint64_t lowest = *free & -*free;
        taken |= lowest;
        *free ^= lowest;
    }
    return taken;
}

static bool place_within_node(struct rb_placement_node *nodes, int n_nodes, int g, struct rb_slot *out)
{
    struct rb_placement_node *best = 0;
    int best_free = 0;
    for (int i = 0; i < n_nodes; i++) {
        const int n_free = __builtin_popcountll(nodes[i].free);
        if (n_free >= g && (!best || n_free < best_free)) {
            best = &nodes[i];
            best_free = n_free;
        }
    }
    if (!best)
        return false;
    *out = (struct rb_slot){.node = best->node, .gpus = take_lowest(&best->free, g)};
    return true;
}

static bool place_gang(struct rb_placement_node *nodes, int n_nodes, int n_wanted, struct rb_slot *out)
{
    int n_free = 0;
    for (int i = 0; i < n_nodes && n_free < n_wanted; i++)
        n_free += nodes[i].free == all_gpus(nodes[i].gpus);
    if (n_free < n_wanted)
        return false;
    for (int i = 0, n = 0; n < n_wanted; i++) {
        if (nodes[i].free != all_gpus(nodes[i].gpus))
            continue;
        out[n++] = (struct rb_slot){.node = nodes[i].node, .gpus = nodes[i].free};
        nodes[i].free = 0;
    }
    return true;
}

bool rb_place(struct rb_placement_node *nodes, int n_nodes, int g, struct rb_slot *out_slots, int *out_n_slots)
{
    assert(g > 0);
    if (n_nodes == 0)
        return false;
    const int per_node = nodes[0].gpus;
    const int n_wanted = g <= per_node ? 1 : (g + per_node - 1) / per_node;
    const bool placed = g <= per_node ? place_within_node(nodes, n_nodes, g, out_slots)
                                      : place_gang(nodes, n_nodes, n_wanted, out_slots);
    if (placed)
        *out_n_slots = n_wanted;
    return placed;
}

int rb_placement_capacity(int n_nodes, int gpus_per_node, int g)
{
    assert(n_nodes >= 0 && gpus_per_node > 0 && g > 0);
    if (g <= gpus_per_node)
        return n_nodes * (gpus_per_node / g);
    return n_nodes / ((g + gpus_per_node - 1) / gpus_per_node);
}
