#include "engine/core/placement.h"

#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// ---- a set of node numbers: bits, and bits that mark the words that are not empty

#define N_WORDS     (RB_LIMIT_NODES / 64)
#define N_TOP_WORDS ((N_WORDS + 63) / 64)

struct rb_place_set {
    uint64_t top[N_TOP_WORDS];
    uint64_t words[N_WORDS];
    int n;
};

static void insert(struct rb_place_set *s, int node)
{
    s->words[node / 64] |= UINT64_C(1) << node % 64;
    s->top[node / 4096] |= UINT64_C(1) << node / 64 % 64;
    s->n++;
}

static void erase(struct rb_place_set *s, int node)
{
    s->words[node / 64] &= ~(UINT64_C(1) << node % 64);
    if (s->words[node / 64] == 0)
        s->top[node / 4096] &= ~(UINT64_C(1) << node / 64 % 64);
    s->n--;
}

// The set must not be empty.
static int lowest(const struct rb_place_set *s)
{
    int t = 0;
    while (s->top[t] == 0)
        t++;
    const int word = t * 64 + __builtin_ctzll(s->top[t]);
    return word * 64 + __builtin_ctzll(s->words[word]);
}

// ---- nodes by their number of free GPUs

uint64_t rb_gpu_mask(int n)
{
    return n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static void enter(struct rb_places *p, int node, uint64_t free)
{
    const int n_free = __builtin_popcountll(free);
    p->nodes[node].free = free;
    p->nodes[node].n_free = n_free;
    if (n_free == 0)
        return;
    if (!p->sets[n_free])
        p->sets[n_free] = rb_xcalloc(1, sizeof *p->sets[n_free]);
    insert(p->sets[n_free], node);
    p->counts |= UINT64_C(1) << (n_free - 1);
}

static void leave(struct rb_places *p, int node)
{
    const int n_free = p->nodes[node].n_free;
    if (n_free == 0)
        return;
    erase(p->sets[n_free], node);
    if (p->sets[n_free]->n == 0)
        p->counts &= ~(UINT64_C(1) << (n_free - 1));
}

static void forget_shared(struct rb_places *p, int node)
{
    int kept = 0;
    for (int i = 0; i < p->n_shared; i++) {
        if (p->shared[i].node != node)
            p->shared[kept++] = p->shared[i];
    }
    p->n_shared = kept;
}

void rb_places_finish(struct rb_places *p)
{
    for (int i = 0; i <= RB_LIMIT_GPUS_PER_NODE; i++)
        free(p->sets[i]);
    free(p->nodes);
    free(p->shared);
    *p = (struct rb_places){0};
}

void rb_places_clear(struct rb_places *p)
{
    for (int i = 0; i < p->n_nodes && p->n_held > 0; i++)
        rb_places_remove(p, i);
}

static void reserve(struct rb_places *p, int n)
{
    if (n <= p->n_nodes)
        return;
    const int cap = n > 2 * p->n_nodes ? n : 2 * p->n_nodes;
    p->nodes = rb_xrealloc(p->nodes, (size_t)cap, sizeof *p->nodes);
    memset(p->nodes + p->n_nodes, 0, (size_t)(cap - p->n_nodes) * sizeof *p->nodes);
    p->n_nodes = cap;
}

void rb_places_set(struct rb_places *p, int node, int gpus, uint64_t free)
{
    assert(node >= 0 && node < RB_LIMIT_NODES && gpus > 0 && (free & ~rb_gpu_mask(gpus)) == 0);
    reserve(p, node + 1);
    if (p->nodes[node].gpus > 0)
        leave(p, node);
    else
        p->n_held++;
    assert(p->n_held == 1 || gpus == p->gpus_per_node);
    p->gpus_per_node = gpus;
    p->nodes[node].gpus = gpus;
    enter(p, node, free);
}

void rb_places_remove(struct rb_places *p, int node)
{
    if (node >= p->n_nodes || p->nodes[node].gpus == 0)
        return;
    leave(p, node);
    forget_shared(p, node);
    p->nodes[node] = (struct rb_place_node){0};
    p->n_held--;
}

void rb_places_give(struct rb_places *p, int node, uint64_t gpus)
{
    if (node < p->n_nodes && p->nodes[node].gpus > 0)
        rb_places_set(p, node, p->nodes[node].gpus, p->nodes[node].free | gpus);
}

// ---- taking

static void take(struct rb_places *p, int node, uint64_t gpus, struct rb_slot *out)
{
    const uint64_t left = p->nodes[node].free & ~gpus;
    leave(p, node);
    enter(p, node, left);
    *out = (struct rb_slot){.node = node, .gpus = gpus};
}

static bool take_within_node(struct rb_places *p, int g, struct rb_slot *out)
{
    const uint64_t fitting = p->counts & ~rb_gpu_mask(g - 1);
    if (fitting == 0)
        return false;
    const int node = lowest(p->sets[__builtin_ctzll(fitting) + 1]);
    take(p, node, rb_lowest_gpus(p->nodes[node].free, g), out);
    return true;
}

static bool take_gang(struct rb_places *p, int n_wanted, struct rb_slot *out)
{
    const struct rb_place_set *whole = p->sets[p->gpus_per_node];
    if (!whole || whole->n < n_wanted)
        return false;
    for (int i = 0; i < n_wanted; i++) {
        const int node = lowest(whole);
        take(p, node, p->nodes[node].free, &out[i]);
    }
    return true;
}

bool rb_places_take(struct rb_places *p, int g, struct rb_slot *out_slots, int *out_n_slots)
{
    assert(g > 0);
    if (p->n_held == 0)
        return false;
    const int n_wanted = (g + p->gpus_per_node - 1) / p->gpus_per_node;
    const bool taken = n_wanted == 1 ? take_within_node(p, g, out_slots) : take_gang(p, n_wanted, out_slots);
    if (taken)
        *out_n_slots = n_wanted;
    return taken;
}

static uint64_t free_with(const struct rb_places *p, const struct rb_slot *given)
{
    const bool held = given->node < p->n_nodes && p->nodes[given->node].gpus > 0;
    return held ? p->nodes[given->node].free | given->gpus : 0;
}

bool rb_places_would_fit(const struct rb_places *p, int g, const struct rb_slot *given, int n_given)
{
    if (p->n_held == 0)
        return false;
    const int n_wanted = (g + p->gpus_per_node - 1) / p->gpus_per_node;
    if (n_wanted == 1) {
        bool fits = (p->counts & ~rb_gpu_mask(g - 1)) != 0;
        for (int i = 0; i < n_given && !fits; i++)
            fits = __builtin_popcountll(free_with(p, &given[i])) >= g;
        return fits;
    }
    const struct rb_place_set *whole = p->sets[p->gpus_per_node];
    int n = whole ? whole->n : 0;
    for (int i = 0; i < n_given; i++)
        n += free_with(p, &given[i]) == rb_gpu_mask(p->gpus_per_node);
    return n >= n_wanted;
}

bool rb_places_have_room(const struct rb_places *p)
{
    return p->counts != 0;
}

// ---- GPUs that are shared

static struct rb_shared_gpu *find_shared(const struct rb_places *p, int node, int gpu)
{
    for (int i = 0; i < p->n_shared; i++) {
        if (p->shared[i].node == node && p->shared[i].gpu == gpu)
            return &p->shared[i];
    }
    return NULL;
}

static bool comes_first(const struct rb_shared_gpu *a, const struct rb_shared_gpu *b)
{
    if (a->used != b->used)
        return a->used > b->used;
    return a->node != b->node ? a->node < b->node : a->gpu < b->gpu;
}

static struct rb_shared_gpu *with_room(const struct rb_places *p, int sharers)
{
    struct rb_shared_gpu *best = NULL;
    for (int i = 0; i < p->n_shared; i++) {
        struct rb_shared_gpu *s = &p->shared[i];
        if (s->sharers == sharers && s->used < sharers && (!best || comes_first(s, best)))
            best = s;
    }
    return best;
}

void rb_places_set_shared(struct rb_places *p, const struct rb_shared_gpu *gpu)
{
    assert(gpu->sharers > 1 && gpu->used > 0 && gpu->used <= gpu->sharers);
    assert((p->nodes[gpu->node].free >> gpu->gpu & 1) == 0);
    struct rb_shared_gpu *known = find_shared(p, gpu->node, gpu->gpu);
    if (known) {
        *known = *gpu;
        return;
    }
    if (p->n_shared == p->shared_cap) {
        p->shared_cap = p->shared_cap ? 2 * p->shared_cap : 16;
        p->shared = rb_xrealloc(p->shared, (size_t)p->shared_cap, sizeof *p->shared);
    }
    p->shared[p->n_shared++] = *gpu;
}

bool rb_places_take_share(struct rb_places *p, int sharers, struct rb_slot *out_slot)
{
    int n_slots;
    struct rb_shared_gpu *shared = sharers > 1 ? with_room(p, sharers) : NULL;
    if (shared) {
        shared->used++;
        *out_slot = (struct rb_slot){.node = shared->node, .gpus = UINT64_C(1) << shared->gpu};
        return true;
    }
    if (!rb_places_take(p, 1, out_slot, &n_slots))
        return false;
    if (sharers > 1)
        rb_places_set_shared(
            p, &(struct rb_shared_gpu){
                   .node = out_slot->node, .gpu = __builtin_ctzll(out_slot->gpus), .sharers = sharers, .used = 1});
    return true;
}

bool rb_places_take_width(struct rb_places *p, struct rb_width width, struct rb_slot *out_slots, int *out_n_slots)
{
    if (width.sharers == 1)
        return rb_places_take(p, width.gpus, out_slots, out_n_slots);
    *out_n_slots = 1;
    return rb_places_take_share(p, width.sharers, out_slots);
}

bool rb_places_would_fit_share(const struct rb_places *p, int sharers)
{
    return rb_places_have_room(p) || (sharers > 1 && with_room(p, sharers));
}

void rb_places_give_share(struct rb_places *p, const struct rb_slot *slot)
{
    struct rb_shared_gpu *shared = find_shared(p, slot->node, __builtin_ctzll(slot->gpus));
    if (shared && --shared->used > 0)
        return;
    if (shared)
        *shared = p->shared[--p->n_shared];
    rb_places_give(p, slot->node, slot->gpus);
}

int rb_placement_capacity(int n_nodes, int gpus_per_node, int g)
{
    assert(n_nodes >= 0 && gpus_per_node > 0 && g > 0);
    if (g <= gpus_per_node)
        return n_nodes * (gpus_per_node / g);
    return n_nodes / ((g + gpus_per_node - 1) / gpus_per_node);
}

uint64_t rb_lowest_gpus(uint64_t mask, int n)
{
    uint64_t lowest = 0;
    for (int i = 0; i < n && mask; i++, mask &= mask - 1)
        lowest |= mask & -mask;
    return lowest;
}
