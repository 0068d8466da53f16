// Who waits: a binary heap of trial ids by their order, so that a trial which lost its node comes back to its place.
#include "engine/engine_state.h"

#include <assert.h>

static int64_t order(const struct rb_engine *e, int trial)
{
    return e->trials[trial].order;
}

void rb_engine_enqueue(struct rb_engine *e, int trial)
{
    if (e->n_waiting == e->queue_cap) {
        e->queue_cap = e->queue_cap ? 2 * e->queue_cap : 16;
        e->queue = rb_xrealloc(e->queue, (size_t)e->queue_cap, sizeof *e->queue);
    }
    e->claimed_gpus += e->trials[trial].pub.gpus;
    int at = e->n_waiting++;
    for (; at > 0 && order(e, trial) < order(e, e->queue[(at - 1) / 2]); at = (at - 1) / 2)
        e->queue[at] = e->queue[(at - 1) / 2];
    e->queue[at] = trial;
}

int rb_engine_first_waiting(const struct rb_engine *e)
{
    assert(e->n_waiting > 0);
    return e->queue[0];
}

void rb_engine_dequeue_first(struct rb_engine *e)
{
    assert(e->n_waiting > 0);
    e->claimed_gpus -= e->trials[e->queue[0]].pub.gpus;
    const int last = e->queue[--e->n_waiting];
    int at = 0;
    for (int child = 1; child < e->n_waiting; child = 2 * at + 1) {
        if (child + 1 < e->n_waiting && order(e, e->queue[child + 1]) < order(e, e->queue[child]))
            child++;
        if (order(e, last) <= order(e, e->queue[child]))
            break;
        e->queue[at] = e->queue[child];
        at = child;
    }
    e->queue[at] = last;
}
