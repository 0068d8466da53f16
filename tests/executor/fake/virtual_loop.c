#include "virtual_loop.h"

#include "base/arena.h"

#include <stdlib.h>

static int64_t now(void *ctx)
{
    return ((struct virtual_loop *)ctx)->now_us;
}

int64_t virtual_loop_unix_us(const struct virtual_loop *v)
{
    return v->unix_base_us + v->now_us;
}

static int64_t unix_now(void *ctx)
{
    return virtual_loop_unix_us(ctx);
}

static uint64_t timer_start(void *ctx, int64_t delay_us, rb_loop_fn *fn, void *arg)
{
    struct virtual_loop *v = ctx;
    if (v->n == v->cap) {
        v->cap = v->cap ? 2 * v->cap : 64;
        v->timers = rb_xrealloc(v->timers, (size_t)v->cap, sizeof *v->timers);
    }
    v->timers[v->n++] = (struct virtual_timer){v->next_id, v->now_us + (delay_us > 0 ? delay_us : 0), fn, arg};
    return v->next_id++;
}

static void timer_cancel(void *ctx, uint64_t id)
{
    struct virtual_loop *v = ctx;
    for (int i = 0; i < v->n; i++) {
        if (v->timers[i].id == id) {
            v->timers[i] = v->timers[--v->n];
            return;
        }
    }
}

void virtual_loop_init(struct virtual_loop *v)
{
    *v = (struct virtual_loop){
        .loop =
            {.ctx = v, .now_us = now, .unix_us = unix_now, .timer_start = timer_start, .timer_cancel = timer_cancel},
        .now_us = 1000000,
        .unix_base_us = INT64_C(1800000000000000),
        .next_id = 1,
    };
}

void virtual_loop_finish(struct virtual_loop *v)
{
    free(v->timers);
    v->timers = NULL;
    v->n = v->cap = 0;
}

static int earliest(const struct virtual_loop *v)
{
    int first = -1;
    for (int i = 0; i < v->n; i++) {
        const struct virtual_timer *t = &v->timers[i];
        if (first < 0 || t->at_us < v->timers[first].at_us ||
            (t->at_us == v->timers[first].at_us && t->id < v->timers[first].id))
            first = i;
    }
    return first;
}

bool virtual_loop_step(struct virtual_loop *v)
{
    const int first = earliest(v);
    if (first < 0)
        return false;
    const struct virtual_timer fired = v->timers[first];
    v->timers[first] = v->timers[--v->n];
    v->now_us = fired.at_us;
    fired.fn(fired.arg);
    return true;
}

bool virtual_loop_step_until(struct virtual_loop *v, int64_t at_us)
{
    const int first = earliest(v);
    if (first >= 0 && v->timers[first].at_us <= at_us)
        return virtual_loop_step(v);
    v->now_us = at_us > v->now_us ? at_us : v->now_us;
    return false;
}
