#include "engine/packing/certificate.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

// ---- orders

struct ranked {
    int64_t parts, height_us;
    int trial;
};

static int wider_first(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    if (a->parts != b->parts)
        return a->parts > b->parts ? -1 : 1;
    if (a->height_us != b->height_us)
        return a->height_us > b->height_us ? -1 : 1;
    return (a->trial > b->trial) - (a->trial < b->trial);
}

static void widest_first(const struct rb_pack_group *g, const int *widths, int *out_order)
{
    RB_AUTO(rb_auto_free) struct ranked *list = rb_xcalloc((size_t)g->n_trials, sizeof *list);
    for (int i = 0; i < g->n_trials; i++)
        list[i] = (struct ranked){rb_pack_parts(g, widths[i]), rb_pack_height_us(g, i, widths[i]), i};
    qsort(list, (size_t)g->n_trials, sizeof *list, wider_first);
    for (int i = 0; i < g->n_trials; i++)
        out_order[i] = list[i].trial;
}

// ---- sets of admitted widths

// Admits all whole GPUs, and shares of 1 / sharers; sharers 1: no shares.
static void admit_one_share(const struct rb_pack_group *g, int sharers, bool *allowed)
{
    for (int w = 0; w < g->n_widths; w++)
        allowed[w] = g->widths[w].sharers == 1 || g->widths[w].sharers == sharers;
}

// From narrow to wide, drops widths that break the chain. Gangs hold whole nodes: then their numbers of nodes must
// divide each other too, and divide the number of nodes.
static void keep_chain(const struct rb_pack_group *g, bool *allowed)
{
    const int64_t node_parts = (int64_t)g->node_gpus * RB_PACK_PARTS, all_parts = node_parts * g->n_nodes;
    int64_t last = 0;
    for (int w = 0; w < g->n_widths; w++) {
        const int64_t parts = rb_pack_parts(g, w);
        if (!allowed[w] || !rb_pack_fits(g, w))
            continue;
        const bool divides = parts <= node_parts ? node_parts % parts == 0 : all_parts % parts == 0;
        allowed[w] = divides && (last == 0 || parts % last == 0);
        last = allowed[w] ? parts : last;
    }
}

// ---- the best theorem

struct attempt {
    bool *allowed;
    int *widths;
    struct rb_certificate *best;
};

static void try_theorem(const struct rb_pack_group *g, struct attempt *a, int factor, enum rb_list_rule rule,
                        const char *how)
{
    const int64_t bound_us = rb_pack_allotment_bound_us(g, a->allowed, a->widths), delay_us = rb_pack_last_free_us(g);
    if (bound_us > (a->best->within_us - delay_us) / factor)
        return;
    a->best->within_us = factor * bound_us + delay_us;
    a->best->how = how;
    a->best->rule = rule;
    memcpy(a->best->widths, a->widths, (size_t)g->n_trials * sizeof *a->widths);
}

static void try_sharers(const struct rb_pack_group *g, struct attempt *a, int sharers)
{
    admit_one_share(g, sharers, a->allowed);
    try_theorem(g, a, 3, RB_LIST_IN_TURN, "lists in turn, the widest first: 3 max(load, longest)");
    keep_chain(g, a->allowed);
    try_theorem(g, a, 2, RB_LIST_IN_TURN, "lists in turn, widths that divide each other: 2 max(load, longest)");
}

void rb_certificate_make(const struct rb_pack_group *g, struct rb_certificate *out)
{
    RB_AUTO(rb_auto_free) bool *allowed = rb_xcalloc((size_t)g->n_widths, sizeof *allowed);
    RB_AUTO(rb_auto_free) int *widths = rb_xcalloc((size_t)g->n_trials, sizeof *widths);
    struct attempt a = {.allowed = allowed, .widths = widths, .best = out};
    *out = (struct rb_certificate){.within_us = INT64_MAX - 1};
    out->widths = rb_xcalloc((size_t)g->n_trials, sizeof *out->widths);
    out->order = rb_xcalloc((size_t)g->n_trials, sizeof *out->order);
    try_sharers(g, &a, 1);
    for (int w = 0; w < g->n_widths; w++) {
        if (g->widths[w].sharers > 1)
            try_sharers(g, &a, g->widths[w].sharers);
    }
    if (g->n_nodes == 1 && !g->tail_us && !g->free_us) {
        admit_one_share(g, 1, allowed);
        try_theorem(g, &a, 2, RB_LIST_GREEDY, "greedy lists on one node: 2 max(load, longest)");
    }
    if (!out->how) { // trials that can only share, and not with each other
        out->within_us = INT64_MAX;
        rb_pack_allotment_bound_us(g, NULL, out->widths);
    }
    widest_first(g, out->widths, out->order);
}

void rb_certificate_finish(struct rb_certificate *c)
{
    free(c->widths);
    free(c->order);
}
