#include "planner/proof/node_counts.h"

#include "planner/request/memory.h"

#include <math.h>

#define CELLS      1500000 // (stage, offer, gpus, nodes, kept) at most
#define CELL_BYTES 97
#define SHARE      0.43 // of the memory limit
#define COARSER    1.05

static int most_nodes(const struct rb_lattice *l, int offer)
{
    if (l->search->sizes[offer].n == 0 || rb_search_is_outbid(l->search, offer))
        return 0;
    return rb_search_useful_nodes(l->search, 0, offer);
}

// Is this the most some stage can use? Such counts are always in the space.
static bool is_most(const struct rb_lattice *l, int offer, int nodes)
{
    for (int stage = 0; stage < l->n_stages; stage++) {
        if (rb_search_useful_nodes(l->search, stage, offer) == nodes)
            return true;
    }
    return false;
}

// Counts of one offer whose steps are at least `ratio`; out may be NULL.
static int list_counts(const struct rb_lattice *l, int offer, double ratio, int *out)
{
    int n = 0, most = most_nodes(l, offer);
    double last = 0;
    for (int nodes = 1; nodes <= most; nodes++) {
        if (nodes < last * ratio && !(ratio > 1 && is_most(l, offer, nodes)))
            continue;
        last = nodes >= last * ratio ? nodes : last;
        if (out)
            out[n] = nodes;
        n++;
    }
    return n;
}

static double count_cells(const struct rb_lattice *l, double ratio)
{
    double cells = 0;
    for (int offer = 0; offer < l->search->scenario->n_offers; offer++) {
        double n = list_counts(l, offer, ratio, NULL);
        cells += l->search->sizes[offer].n * n * (n + 3) / 2;
    }
    return cells * l->n_stages;
}

void rb_node_counts(struct rb_lattice *l)
{
    int n_offers = l->search->scenario->n_offers;
    double ratio = 1;
    const double cells = fmin(CELLS, SHARE * rb_search_memory_limit(l->search) / CELL_BYTES);
    while (count_cells(l, ratio) > cells && ratio < 100)
        ratio *= COARSER;
    l->counts = rb_arena_array(&l->arena, (size_t)n_offers, sizeof *l->counts);
    for (int offer = 0; offer < n_offers; offer++) {
        struct rb_lattice_counts *c = &l->counts[offer];
        int most = most_nodes(l, offer);
        c->nodes = rb_arena_array(&l->arena, (size_t)most + 1, sizeof *c->nodes);
        c->n = list_counts(l, offer, ratio, c->nodes);
        l->most_counts = c->n > l->most_counts ? c->n : l->most_counts;
        l->thinned = l->thinned || c->n < most;
        l->n_outbid += l->search->sizes[offer].n > 0 && rb_search_is_outbid(l->search, offer);
    }
}
