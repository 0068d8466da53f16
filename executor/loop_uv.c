// libuv's handles behind the loop's functions: one handle a timer, one a watched descriptor.
#include "executor/loop_uv.h"

#include "base/arena.h"
#include "base/clock.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>

enum { ECHO_US = 500000 };

struct timer {
    struct timer *next;
    uv_timer_t handle;
    struct rb_loop_uv *l;
    uint64_t id;
    rb_loop_fn *fn; // NULL: cancelled or fired, closing
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
    int64_t interrupted_us; // when on_interrupt was called last
};

static int64_t now_us(void *ctx)
{
    (void)ctx;
    return rb_clock_monotonic_us();
}

static int64_t unix_us(void *ctx)
{
    (void)ctx;
    return rb_clock_unix_us();
}

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
    unlink_timer(t);
    fn(arg);
}

static uint64_t timer_start(void *ctx, int64_t delay_us, rb_loop_fn *fn, void *arg)
{
    struct rb_loop_uv *l = ctx;
    struct timer *t = rb_xcalloc(1, sizeof *t);
    *t = (struct timer){.next = l->timers, .l = l, .id = ++l->last_id, .fn = fn, .arg = arg};
    l->timers = t;
    uv_timer_init(&l->uv, &t->handle);
    t->handle.data = t;
    uv_update_time(&l->uv);
    // libuv's clock is cut to milliseconds: one more, so that a timer never fires before its time.
    uv_timer_start(&t->handle, on_timer, delay_us <= 0 ? 0 : (uint64_t)(delay_us + 999) / 1000 + 1, 0);
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

// An error shows at the next read or write. libuv stops watching then; the loop's contract is to go on until told.
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
    l->loop = (struct rb_loop){l, now_us, unix_us, timer_start, timer_cancel, watch};
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
    // Children being killed or told to leave get a moment to be reaped.
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
    uv_run(&l->uv, UV_RUN_DEFAULT);
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
