#include "planner/async/async_neighbours.h"

#include <stdlib.h>

static bool has_size(const struct rb_sizes *sizes, int gpus)
{
    for (int i = 0; i < sizes->n; i++) {
        if (sizes->gpus[i] == gpus)
            return true;
    }
    return false;
}

bool rb_async_fits(const struct rb_search *search, const struct rb_candidate *c)
{
    for (int i = 0; i < c->n_stages; i++) {
        const struct rb_choice *choice = &c->stages[i];
        const int per_node = rb_search_gpus_per_node(search, choice->offer);
        const int most = rb_planner_max_nodes(search->req->job, &search->scenario->offers[choice->offer]);
        if (choice->nodes < rb_nodes_per_trial(per_node, choice->gpus) || choice->nodes > most ||
            !has_size(&search->sizes[choice->offer], choice->gpus))
            return false;
    }
    return true;
}

static void add(struct rb_async_neighbours *list, const struct rb_candidate *c)
{
    if (!rb_async_fits(list->search, c) || rb_candidate_same_choices(c, list->from))
        return;
    if (list->n == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 64;
        list->items = rb_xrealloc(list->items, (size_t)list->cap, sizeof *list->items);
    }
    list->items[list->n++] = *c;
}

static int moved_count(int nodes, int move)
{
    switch (move) {
    case 0:
        return nodes / 2;
    case 1:
        return nodes - 1;
    case 2:
        return nodes + 1;
    default:
        return 2 * nodes;
    }
}

// Sets another number of nodes for phases first..last.
static void add_counts(struct rb_async_neighbours *list, int first, int last)
{
    for (int move = 0; move < 4; move++) {
        struct rb_candidate c = *list->from;
        for (int i = first; i <= last; i++) {
            const struct rb_choice *choice = &c.stages[i];
            const int least = rb_nodes_per_trial(rb_search_gpus_per_node(list->search, choice->offer), choice->gpus);
            const int nodes = moved_count(choice->nodes, move);
            c.stages[i].nodes = nodes > least ? nodes : least;
        }
        add(list, &c);
    }
}

// The next smaller or larger size; the same size if there is none.
static int next_size(const struct rb_sizes *sizes, int gpus, int step)
{
    for (int i = 0; i < sizes->n; i++) {
        if (sizes->gpus[i] == gpus && i + step >= 0 && i + step < sizes->n)
            return sizes->gpus[i + step];
    }
    return gpus;
}

// Gives trials of levels first..last the next size. A phase that could not hold one gets the nodes that one needs.
static void add_sizes(struct rb_async_neighbours *list, int first, int last)
{
    for (int step = -1; step <= 1; step += 2) {
        struct rb_candidate c = *list->from;
        for (int i = first; i <= last; i++) {
            struct rb_choice *choice = &c.stages[i];
            choice->gpus = next_size(&list->search->sizes[choice->offer], choice->gpus, step);
            const int least = rb_nodes_per_trial(rb_search_gpus_per_node(list->search, choice->offer), choice->gpus);
            choice->nodes = choice->nodes > least ? choice->nodes : least;
        }
        add(list, &c);
    }
}

bool rb_async_is_worth_owning(const struct rb_search *search, int offer)
{
    return search->sizes[offer].n > 0 && !rb_search_is_outbid(search, offer);
}

struct rb_candidate rb_async_moved_to(const struct rb_search *search, const struct rb_candidate *from, int first,
                                       int offer)
{
    struct rb_candidate c = *from;
    const int per_node = rb_search_gpus_per_node(search, offer);
    for (int i = first; i < c.n_stages; i++) {
        const struct rb_choice *old = &from->stages[i];
        const int gpus = old->nodes * rb_search_gpus_per_node(search, old->offer);
        c.stages[i] = (struct rb_choice){offer, old->gpus, (gpus + per_node - 1) / per_node};
    }
    return c;
}

static void add_offers(struct rb_async_neighbours *list, int first)
{
    for (int offer = 0; offer < list->search->scenario->n_offers; offer++) {
        if (!rb_async_is_worth_owning(list->search, offer))
            continue;
        const struct rb_candidate c = rb_async_moved_to(list->search, list->from, first, offer);
        add(list, &c);
    }
}

// The whole tail of phases is changed before single phases: the remaining work decreases with every phase.
void rb_async_list_neighbours(struct rb_async_neighbours *list)
{
    const int last = list->from->n_stages - 1;
    for (int i = last; i >= 0; i--)
        add_counts(list, i, last);
    for (int i = last; i >= 0; i--)
        add_sizes(list, i, last);
    for (int i = 0; i < last; i++) {
        add_counts(list, i, i);
        add_sizes(list, i, i);
    }
    for (int i = 0; i <= last; i++)
        add_offers(list, i);
}
