// libuv's handles behind the loop's functions: one handle a timer, one a watched descriptor.
#include "executor/transport/loop_uv.h"

#include "base/arena.h"
#include "base/clock.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>

enum {
    ECHO_US = 500000,
    TICK_MS = 250,    // the longest time between two looks at its descriptors
    GAP_US = 1250000, // a pause between two turns of the loop that counts as a gap
};

struct timer {
    struct timer *next;
    uv_timer_t handle;
    struct rb_loop_uv *l;
    uint64_t id;
    int64_t due_us;   // loop time
    uint64_t n_looks; // at descriptors, when it was started
    rb_loop_fn *fn;   // NULL: cancelled or fired, closing
    void *arg;
};

struct watch {
    struct watch *next;
    uv_poll_t handle;
    int fd, flags; // UV_READABLE | UV_WRITABLE
    rb_loop_fd_fn *fn;
    void *arg;
};

struct on_signal {
    struct on_signal *next;
    uv_signal_t handle;
    rb_loop_fn *fn;
    void *arg;
};

struct rb_loop_uv {
    uv_loop_t uv;
    struct rb_loop loop;
    uint64_t last_id;
    struct timer *timers;
    struct watch *watches;
    struct on_signal *signals;
    rb_loop_fn *on_interrupt;
    void *interrupt_arg;
    int64_t interrupted_us; // when on_interrupt was last called
    int64_t (*clock_us)(void);
    uv_timer_t tick;
    uv_check_t after_look;
    uint64_t n_looks; // at all descriptors
    // No timer fires before that many: messages that arrived during a gap are reported before lateness.
    uint64_t look_first;
    int64_t looked_us;       // loop time of the last
    int64_t away_us;         // the length of all gaps so far
    int64_t back_us, gap_us; // of the last long one
};

static int64_t now_us(void *ctx)
{
    return ((struct rb_loop_uv *)ctx)->clock_us();
}

static int64_t unix_us(void *ctx)
{
    (void)ctx;
    return rb_clock_unix_us();
}

// --- gaps

static int64_t attended_us(void *ctx)
{
    const struct rb_loop_uv *l = ctx;
    const int64_t now = l->clock_us();
    return (now - l->looked_us >= GAP_US ? l->looked_us : now) - l->away_us;
}

static int64_t back_us(void *ctx, int64_t *out_gap_us)
{
    const struct rb_loop_uv *l = ctx;
    *out_gap_us = l->gap_us;
    return l->back_us;
}

static void on_timer(uv_timer_t *handle);

// libuv's clock is cut to milliseconds: one more, so that a timer never fires before its time.
static void aim(struct timer *t, int64_t delay_us)
{
    uv_timer_start(&t->handle, on_timer, delay_us <= 0 ? 0 : (uint64_t)(delay_us + 999) / 1000 + 1, 0);
}

// libuv's clock stops while the machine sleeps, ours does not: timers that are due fire.
static void aim_again(struct rb_loop_uv *l)
{
    uv_update_time(&l->uv);
    for (struct timer *t = l->timers; t; t = t->next)
        aim(t, t->due_us - l->looked_us);
}

// Called before any conclusion from the time: was there a gap?
static void notice_gap(struct rb_loop_uv *l)
{
    const int64_t now = l->clock_us(), gap_us = now - l->looked_us;
    l->looked_us = now;
    if (gap_us < GAP_US)
        return;
    l->away_us += gap_us;
    l->look_first = l->n_looks + 1;
    if (gap_us < RB_LOOP_LONG_GAP_US)
        return;
    l->back_us = now - l->away_us;
    l->gap_us = gap_us;
    aim_again(l);
}

static void on_tick(uv_timer_t *handle)
{
    notice_gap(handle->data);
}

static void on_looked(uv_check_t *handle)
{
    struct rb_loop_uv *l = handle->data;
    l->n_looks++;
    notice_gap(l);
}

static void watch_for_gaps(struct rb_loop_uv *l)
{
    uv_timer_init(&l->uv, &l->tick);
    uv_check_init(&l->uv, &l->after_look);
    l->tick.data = l->after_look.data = l;
    uv_timer_start(&l->tick, on_tick, TICK_MS, TICK_MS);
    uv_check_start(&l->after_look, on_looked);
    uv_unref((uv_handle_t *)&l->tick);
    uv_unref((uv_handle_t *)&l->after_look);
}

// --- timers

static void free_timer(uv_handle_t *handle)
{
    free(handle->data);
}

static void unlink_timer(struct timer *t)
{
    struct timer **p = &t->l->timers;
    while (*p != t)
        p = &(*p)->next;
    *p = t->next;
    uv_close((uv_handle_t *)&t->handle, free_timer);
}

static void on_timer(uv_timer_t *handle)
{
    struct timer *t = handle->data;
    rb_loop_fn *fn = t->fn;
    void *arg = t->arg;
    notice_gap(t->l);
    if (t->n_looks == t->l->n_looks || t->l->n_looks < t->l->look_first) {
        uv_timer_start(handle, on_timer, 1, 0);
        return;
    }
    unlink_timer(t);
    fn(arg);
}

static uint64_t timer_start(void *ctx, int64_t delay_us, rb_loop_fn *fn, void *arg)
{
    struct rb_loop_uv *l = ctx;
    struct timer *t = rb_xcalloc(1, sizeof *t);
    *t = (struct timer){.next = l->timers,
                        .l = l,
                        .id = ++l->last_id,
                        .due_us = l->clock_us() + delay_us,
                        .n_looks = l->n_looks,
                        .fn = fn,
                        .arg = arg};
    l->timers = t;
    uv_timer_init(&l->uv, &t->handle);
    t->handle.data = t;
    uv_update_time(&l->uv);
    aim(t, delay_us);
    return t->id;
}

static void timer_cancel(void *ctx, uint64_t id)
{
    struct rb_loop_uv *l = ctx;
    for (struct timer *t = l->timers; t; t = t->next)
        if (t->id == id) {
            unlink_timer(t);
            return;
        }
}

static void free_watch(uv_handle_t *handle)
{
    free(handle->data);
}

// An error shows at the next read or write. libuv stops watching then; the loop's contract is to continue until it is
// stopped.
static void on_ready(uv_poll_t *handle, int status, int events)
{
    struct watch *w = handle->data;
    int ready = (events & UV_READABLE ? RB_LOOP_READ : 0) | (events & UV_WRITABLE ? RB_LOOP_WRITE : 0);
    if (status < 0) {
        ready = RB_LOOP_READ | RB_LOOP_WRITE;
        uv_poll_start(handle, w->flags, on_ready);
    }
    w->fn(w->arg, w->fd, ready);
}

static void watch(void *ctx, int fd, int events, rb_loop_fd_fn *fn, void *arg)
{
    struct rb_loop_uv *l = ctx;
    struct watch **p = &l->watches;
    while (*p && (*p)->fd != fd)
        p = &(*p)->next;
    if (events == 0) {
        struct watch *w = *p;
        if (w) {
            *p = w->next;
            uv_close((uv_handle_t *)&w->handle, free_watch);
        }
        return;
    }
    if (!*p) {
        struct watch *w = rb_xcalloc(1, sizeof *w);
        w->fd = fd;
        int r = uv_poll_init(&l->uv, &w->handle, fd);
        assert(r == 0); // not a regular file, not closed while watched
        (void)r;
        w->handle.data = w;
        *p = w;
    }
    (*p)->fn = fn;
    (*p)->arg = arg;
    (*p)->flags = (events & RB_LOOP_READ ? UV_READABLE : 0) | (events & RB_LOOP_WRITE ? UV_WRITABLE : 0);
    uv_poll_start(&(*p)->handle, (*p)->flags, on_ready);
}

static void fire_signal(uv_signal_t *handle, int signal)
{
    (void)signal;
    struct on_signal *s = handle->data;
    s->fn(s->arg);
}

void rb_loop_uv_on_signal(struct rb_loop_uv *l, int signal, rb_loop_fn *fn, void *arg)
{
    struct on_signal *s = rb_xcalloc(1, sizeof *s);
    *s = (struct on_signal){.next = l->signals, .fn = fn, .arg = arg};
    l->signals = s;
    uv_signal_init(&l->uv, &s->handle);
    s->handle.data = s;
    uv_signal_start(&s->handle, fire_signal, signal);
    uv_unref((uv_handle_t *)&s->handle);
}

static void interrupted(void *arg)
{
    struct rb_loop_uv *l = arg;
    const int64_t at_us = rb_clock_monotonic_us();
    if (at_us - l->interrupted_us < ECHO_US)
        return;
    l->interrupted_us = at_us;
    l->on_interrupt(l->interrupt_arg);
}

void rb_loop_uv_on_interrupt(struct rb_loop_uv *l, rb_loop_fn *fn, void *arg)
{
    l->on_interrupt = fn;
    l->interrupt_arg = arg;
    l->interrupted_us = rb_clock_monotonic_us() - ECHO_US;
    rb_loop_uv_on_signal(l, SIGINT, interrupted, l);
    rb_loop_uv_on_signal(l, SIGTERM, interrupted, l);
    rb_loop_uv_on_signal(l, SIGHUP, interrupted, l);
}

static void free_signal(uv_handle_t *handle)
{
    free(handle->data);
}

struct rb_loop_uv *rb_loop_uv_create(void)
{
    struct rb_loop_uv *l = rb_xcalloc(1, sizeof *l);
    int r = uv_loop_init(&l->uv);
    assert(r == 0);
    (void)r;
    l->loop = (struct rb_loop){l, now_us, unix_us, timer_start, timer_cancel, watch, attended_us, back_us};
    l->clock_us = rb_clock_monotonic_us;
    l->looked_us = l->clock_us();
    l->back_us = INT64_MIN;
    watch_for_gaps(l);
    return l;
}

static void close_rest(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void rb_loop_uv_destroy(struct rb_loop_uv *l)
{
    if (!l)
        return;
    while (l->timers)
        unlink_timer(l->timers);
    while (l->watches)
        watch(l, l->watches->fd, 0, NULL, NULL);
    for (struct on_signal *s = l->signals, *next; s; s = next) {
        next = s->next;
        uv_close((uv_handle_t *)&s->handle, free_signal);
    }
    uv_close((uv_handle_t *)&l->tick, NULL);
    uv_close((uv_handle_t *)&l->after_look, NULL);
    // Children that were killed or asked to exit get a moment to be reaped.
    uint64_t until = uv_now(&l->uv) + 2000;
    while (uv_run(&l->uv, UV_RUN_NOWAIT) && (uv_update_time(&l->uv), uv_now(&l->uv) < until))
        uv_sleep(1);
    uv_walk(&l->uv, close_rest, NULL);
    while (uv_loop_close(&l->uv) == UV_EBUSY)
        uv_run(&l->uv, UV_RUN_DEFAULT);
    free(l);
}

const struct rb_loop *rb_loop_uv_loop(struct rb_loop_uv *l)
{
    return &l->loop;
}

void rb_loop_uv_run(struct rb_loop_uv *l)
{
    l->looked_us = l->clock_us(); // work before the loop ran is no gap
    uv_run(&l->uv, UV_RUN_DEFAULT);
}

void rb_loop_uv_set_clock(struct rb_loop_uv *l, int64_t (*clock_us)(void))
{
    l->clock_us = clock_us;
    l->looked_us = clock_us();
}

void rb_loop_uv_stop(struct rb_loop_uv *l)
{
    uv_stop(&l->uv);
}

uv_loop_t *rb_loop_uv_handle(const struct rb_loop *loop)
{
    struct rb_loop_uv *l = loop->ctx;
    assert(loop->now_us == now_us);
    return &l->uv;
}
