#include "engine/sharing/goodput_place.h"

#include <string.h>

void rb_gaps_init(struct rb_gaps *g, struct rb_arena *arena, const struct rb_shared_cluster *cluster,
                  bool avoid_interference)
{
    const size_t n = (size_t)cluster->n_nodes;
    *g = (struct rb_gaps){
        .n_nodes = cluster->n_nodes,
        .rates = cluster->rates,
        .free = rb_arena_array(arena, n, sizeof *g->free),
        .n_spanning = rb_arena_array(arena, n, sizeof *g->n_spanning),
        .avoid_interference = avoid_interference,
    };
    memcpy(g->free, cluster->gpus, n * sizeof *g->free);
}

static int nodes_in(const int *row, int n_nodes)
{
    int n = 0;
    for (int i = 0; i < n_nodes; i++)
        n += row[i] > 0;
    return n;
}

static void add(struct rb_gaps *g, const int *row)
{
    const bool spans = nodes_in(row, g->n_nodes) > 1;
    for (int n = 0; n < g->n_nodes; n++) {
        g->free[n] -= row[n];
        g->n_spanning[n] += spans && row[n] > 0;
    }
}

static bool open_to_spanning(const struct rb_gaps *g, int node)
{
    return !g->avoid_interference || g->n_spanning[node] == 0;
}

bool rb_gaps_take(struct rb_gaps *g, const int *row)
{
    const bool spans = nodes_in(row, g->n_nodes) > 1;
    for (int n = 0; n < g->n_nodes; n++) {
        if (row[n] > g->free[n] || (row[n] > 0 && spans && !open_to_spanning(g, n)))
            return false;
    }
    add(g, row);
    return true;
}

// < 0: node a is cheaper.
static int compare_rates(const struct rb_gaps *g, int a, int b)
{
    if (!g->rates)
        return 0;
    return (g->rates[a].uusd_per_hour > g->rates[b].uusd_per_hour) -
           (g->rates[a].uusd_per_hour < g->rates[b].uusd_per_hour);
}

static bool is_tighter(const struct rb_gaps *g, int a, int b)
{
    const int by_rate = compare_rates(g, a, b);
    return by_rate != 0 ? by_rate < 0 : g->free[a] < g->free[b];
}

static bool is_freer(const struct rb_gaps *g, int a, int b)
{
    return g->free[a] != g->free[b] ? g->free[a] > g->free[b] : compare_rates(g, a, b) < 0;
}

// The cheapest nodes that still have `gpus` free GPUs; among them the one with the fewest.
static int tightest(const struct rb_gaps *g, int gpus, bool spans, const int *row)
{
    int best = -1;
    for (int n = 0; n < g->n_nodes; n++) {
        if (g->free[n] >= gpus && row[n] == 0 && (!spans || open_to_spanning(g, n)) &&
            (best < 0 || is_tighter(g, n, best)))
            best = n;
    }
    return best;
}

static int freest(const struct rb_gaps *g, const int *row)
{
    int best = -1;
    for (int n = 0; n < g->n_nodes; n++) {
        if (g->free[n] > 0 && row[n] == 0 && open_to_spanning(g, n) && (best < 0 || is_freer(g, n, best)))
            best = n;
    }
    return best;
}

// The freest nodes whole, the rest in the tightest gap: few nodes matter more than cheap ones.
static int span(struct rb_gaps *g, int gpus, int *row)
{
    int n_nodes = 0;
    while (gpus > 0) {
        int node = n_nodes > 0 ? tightest(g, gpus, true, row) : -1;
        if (node < 0)
            node = freest(g, row);
        if (node < 0) {
            memset(row, 0, (size_t)g->n_nodes * sizeof *row);
            return 0;
        }
        row[node] = gpus < g->free[node] ? gpus : g->free[node];
        gpus -= row[node];
        n_nodes++;
    }
    add(g, row);
    return n_nodes;
}

int rb_gaps_find(struct rb_gaps *g, int gpus, int *row)
{
    const int node = tightest(g, gpus, false, row);
    if (node < 0)
        return span(g, gpus, row);
    row[node] = gpus;
    g->free[node] -= gpus;
    return 1;
}
