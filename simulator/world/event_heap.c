#include "simulator/world/event_heap.h"

#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>

#define CHILDREN 4 // two cache lines of events are compared at once, and the heap is half as deep as with two

// Branch-free: which of two events comes first is unpredictable.
static bool before(const struct rb_sim_event *a, const struct rb_sim_event *b)
{
    const uint64_t in_instant_a = (uint64_t)a->order << 32 | (uint32_t)a->index;
    const uint64_t in_instant_b = (uint64_t)b->order << 32 | (uint32_t)b->index;
    return (a->time_us < b->time_us) | ((a->time_us == b->time_us) & (in_instant_a < in_instant_b));
}

void rb_event_heap_finish(struct rb_event_heap *h)
{
    free(h->items);
    *h = (struct rb_event_heap){0};
}

void rb_event_heap_push(struct rb_event_heap *h, const struct rb_sim_event *event)
{
    if (h->n == h->cap) {
        h->cap = h->cap ? 2 * h->cap : 64;
        h->items = rb_xrealloc(h->items, (size_t)h->cap, sizeof *h->items);
    }
    int at = h->n++;
    for (; at > 0 && before(event, &h->items[(at - 1) / CHILDREN]); at = (at - 1) / CHILDREN)
        h->items[at] = h->items[(at - 1) / CHILDREN];
    h->items[at] = *event;
}

// The first of a node's children.
static int first_child(const struct rb_event_heap *h, int at)
{
    const int begin = CHILDREN * at + 1, end = begin + CHILDREN < h->n ? begin + CHILDREN : h->n;
    int first = begin;
    for (int i = begin + 1; i < end; i++) {
        if (before(&h->items[i], &h->items[first]))
            first = i;
    }
    return first;
}

struct rb_sim_event rb_event_heap_pop(struct rb_event_heap *h)
{
    assert(h->n > 0);
    const struct rb_sim_event first = h->items[0], last = h->items[--h->n];
    int at = 0;
    while (CHILDREN * at + 1 < h->n) {
        const int child = first_child(h, at);
        if (!before(&h->items[child], &last))
            break;
        h->items[at] = h->items[child];
        at = child;
    }
    h->items[at] = last;
    return first;
}
