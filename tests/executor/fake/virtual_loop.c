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

static uint64_t add_timer(struct virtual_loop *v, int64_t delay_us, bool ours, rb_loop_fn *fn, void *arg)
{
    if (v->n == v->cap) {
        v->cap = v->cap ? 2 * v->cap : 64;
        v->timers = rb_xrealloc(v->timers, (size_t)v->cap, sizeof *v->timers);
    }
    v->timers[v->n++] = (struct virtual_timer){v->next_id, v->now_us + (delay_us > 0 ? delay_us : 0), ours, fn, arg};
    return v->next_id++;
}

static uint64_t timer_start(void *ctx, int64_t delay_us, rb_loop_fn *fn, void *arg)
{
    return add_timer(ctx, delay_us, false, fn, arg);
}

static uint64_t our_timer_start(void *ctx, int64_t delay_us, rb_loop_fn *fn, void *arg)
{
    return add_timer(ctx, delay_us, true, fn, arg);
}

static int64_t attended(void *ctx)
{
    const struct virtual_loop *v = ctx;
    return v->now_us - v->away_us;
}

static int64_t back(void *ctx, int64_t *out_gap_us)
{
    const struct virtual_loop *v = ctx;
    *out_gap_us = v->gap_us;
    return v->back_us;
}

bool virtual_loop_is_stopped(const struct virtual_loop *v)
{
    return v->now_us < v->stopped_until_us;
}

void virtual_loop_stop_for(struct virtual_loop *v, int64_t us)
{
    v->stopped_until_us = v->now_us + us;
    v->away_us += us;
    if (us < RB_LOOP_LONG_GAP_US)
        return;
    v->back_us = v->stopped_until_us - v->away_us;
    v->gap_us = us;
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
        .ours = {v, now, unix_now, our_timer_start, timer_cancel, NULL, attended, back},
        .back_us = INT64_MIN,
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

static int64_t fires_at(const struct virtual_loop *v, const struct virtual_timer *t)
{
    return t->ours && t->at_us < v->stopped_until_us ? v->stopped_until_us : t->at_us;
}

static bool comes_before(const struct virtual_loop *v, const struct virtual_timer *a, const struct virtual_timer *b)
{
    const int64_t a_us = fires_at(v, a), b_us = fires_at(v, b);
    if (a_us != b_us)
        return a_us < b_us;
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->id < b->id;
}

static int earliest(const struct virtual_loop *v)
{
    int first = -1;
    for (int i = 0; i < v->n; i++) {
        if (first < 0 || comes_before(v, &v->timers[i], &v->timers[first]))
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
    v->now_us = fires_at(v, &fired);
    v->timers[first] = v->timers[--v->n];
    fired.fn(fired.arg);
    return true;
}

bool virtual_loop_step_until(struct virtual_loop *v, int64_t at_us)
{
    const int first = earliest(v);
    if (first >= 0 && fires_at(v, &v->timers[first]) <= at_us)
        return virtual_loop_step(v);
    v->now_us = at_us > v->now_us ? at_us : v->now_us;
    return false;
}
