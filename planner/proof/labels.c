#include "planner/proof/labels.h"

#include "base/arena.h"

#include <stdlib.h>

#define TOLERANCE 1e-9 // of a probability: numerics of one dot product
#define MOST      4096 // labels of one list; what comes later is not compared

struct list {
    struct rb_label *items;
    int n, cap;
};

struct rb_labels {
    struct list *lists;
    int n_lists;
};

struct rb_labels *rb_labels_create(int n_lists)
{
    struct rb_labels *l = rb_xcalloc(1, sizeof *l);
    l->lists = rb_xcalloc((size_t)n_lists + 1, sizeof *l->lists);
    l->n_lists = n_lists;
    return l;
}

void rb_labels_destroy(struct rb_labels *l)
{
    if (!l)
        return;
    for (int i = 0; i < l->n_lists; i++)
        free(l->lists[i].items);
    free(l->lists);
    free(l);
}

// With its error in its favour and without, b is nowhere above a.
static bool dominates(const struct rb_label *a, const struct rb_label *b)
{
    if (a->most_uusd > b->cost_uusd || a->error < b->error - TOLERANCE)
        return false;
    for (int i = 0; i < RB_LABEL_TIMES; i++) {
        if (a->below[i] - a->unready < b->below[i] - TOLERANCE)
            return false;
    }
    return true;
}

bool rb_labels_dominated(struct rb_labels *labels, int index, const struct rb_label *label)
{
    struct list *list = &labels->lists[index];
    for (int i = 0; i < list->n; i++) {
        if (dominates(&list->items[i], label))
            return true;
    }
    int kept = 0;
    for (int i = 0; i < list->n; i++) {
        if (!dominates(label, &list->items[i]))
            list->items[kept++] = list->items[i];
    }
    list->n = kept;
    if (list->n == MOST)
        return false;
    if (list->n == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 8;
        list->items = rb_xrealloc(list->items, (size_t)list->cap, sizeof *list->items);
    }
    list->items[list->n++] = *label;
    return false;
}
