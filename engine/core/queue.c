// The waiting trials: a binary heap of trial ids by their order, so that a trial which lost its node gets its place
// again.
#include "engine/core/engine_state.h"

#include "base/order.h"

#include <assert.h>
#include <stdlib.h>

static int64_t order(const struct rb_engine *e, int trial)
{
    return e->trials[trial].order;
}

// Puts a trial at `at`, or higher if the trials above it come later.
static void sift_up(struct rb_engine *e, int at, int trial)
{
    for (; at > 0 && order(e, trial) < order(e, e->queue[(at - 1) / 2]); at = (at - 1) / 2)
        e->queue[at] = e->queue[(at - 1) / 2];
    e->queue[at] = trial;
}

void rb_engine_enqueue(struct rb_engine *e, int trial)
{
    if (e->n_waiting == e->queue_cap) {
        e->queue_cap = e->queue_cap ? 2 * e->queue_cap : 16;
        e->queue = rb_xrealloc(e->queue, (size_t)e->queue_cap, sizeof *e->queue);
    }
    e->claimed_gpus += e->trials[trial].pub.gpus;
    sift_up(e, e->n_waiting++, trial);
}

int rb_engine_first_waiting(const struct rb_engine *e)
{
    assert(e->n_waiting > 0);
    return e->queue[0];
}

static void remove_at(struct rb_engine *e, int at)
{
    e->claimed_gpus -= e->trials[e->queue[at]].pub.gpus;
    const int last = e->queue[--e->n_waiting];
    if (at == e->n_waiting)
        return;
    for (int child = 2 * at + 1; child < e->n_waiting; child = 2 * at + 1) {
        if (child + 1 < e->n_waiting && order(e, e->queue[child + 1]) < order(e, e->queue[child]))
            child++;
        if (order(e, last) <= order(e, e->queue[child]))
            break;
        e->queue[at] = e->queue[child];
        at = child;
    }
    sift_up(e, at, last); // no further than `at` where the place was the first
}

void rb_engine_dequeue_first(struct rb_engine *e)
{
    assert(e->n_waiting > 0);
    remove_at(e, 0);
}

void rb_engine_dequeue(struct rb_engine *e, int trial)
{
    int at = 0;
    while (e->queue[at] != trial)
        at++;
    remove_at(e, at);
}

void rb_engine_reorder(struct rb_engine *e, const struct rb_resize *list, int n)
{
    RB_AUTO(rb_auto_free) int64_t *orders = rb_xcalloc((size_t)n, sizeof *orders);
    int n_listed = 0, next = 0;
    for (int i = 0; i < n; i++) {
        if (e->trials[list[i].trial].pub.state == RB_TRIAL_WAITING)
            orders[n_listed++] = order(e, list[i].trial);
    }
    qsort(orders, (size_t)n_listed, sizeof *orders, rb_order_int64s);
    for (int i = 0; i < n; i++) {
        if (e->trials[list[i].trial].pub.state == RB_TRIAL_WAITING)
            e->trials[list[i].trial].order = orders[next++];
    }
    for (int i = 0; i < e->n_waiting; i++)
        sift_up(e, i, e->queue[i]);
}
