#include "test_loop.h"

#include "base/clock.h"

#include <assert.h>
#include <poll.h>

static const int64_t patience_us = 10000000;

static int64_t now_us(void *ctx)
{
    return rb_clock_monotonic_us() + ((struct test_loop *)ctx)->skipped_us;
}

static int64_t unix_us(void *ctx)
{
    return TEST_LOOP_START_UNIX_US + test_loop_elapsed_us(ctx);
}

static uint64_t timer_start(void *ctx, int64_t delay_us, rb_loop_fn *fn, void *arg)
{
    struct test_loop *l = ctx;
    assert(l->n_timers < TEST_LOOP_MAX);
    const int i = l->n_timers++;
    l->timers[i].id = ++l->last_id;
    l->timers[i].due_us = now_us(l) + delay_us;
    l->timers[i].fn = fn;
    l->timers[i].arg = arg;
    return l->last_id;
}

static void timer_cancel(void *ctx, uint64_t id)
{
    struct test_loop *l = ctx;
    for (int i = 0; i < l->n_timers; i++)
        if (l->timers[i].id == id) {
            l->timers[i] = l->timers[--l->n_timers];
            return;
        }
}

static void watch(void *ctx, int fd, int events, rb_loop_fd_fn *fn, void *arg)
{
    struct test_loop *l = ctx;
    int i = 0;
    while (i < l->n_watches && l->watches[i].fd != fd)
        i++;
    if (events == 0) {
        if (i < l->n_watches)
            l->watches[i] = l->watches[--l->n_watches];
        return;
    }
    if (i == l->n_watches)
        l->n_watches++;
    assert(l->n_watches <= TEST_LOOP_MAX);
    l->watches[i].fd = fd;
    l->watches[i].events = events;
    l->watches[i].fn = fn;
    l->watches[i].arg = arg;
}

void test_loop_init(struct test_loop *l)
{
    *l = (struct test_loop){.loop = {l, now_us, unix_us, timer_start, timer_cancel, watch}};
    l->start_us = now_us(l);
}

int64_t test_loop_elapsed_us(const struct test_loop *l)
{
    return rb_clock_monotonic_us() + l->skipped_us - l->start_us;
}

static int earliest_timer(const struct test_loop *l)
{
    int best = -1;
    for (int i = 0; i < l->n_timers; i++)
        if (best < 0 || l->timers[i].due_us < l->timers[best].due_us ||
            (l->timers[i].due_us == l->timers[best].due_us && l->timers[i].id < l->timers[best].id))
            best = i;
    return best;
}

static void fire_timer(struct test_loop *l, int i)
{
    rb_loop_fn *fn = l->timers[i].fn;
    void *arg = l->timers[i].arg;
    l->timers[i] = l->timers[--l->n_timers];
    fn(arg);
}

static void wait_for_sockets(struct test_loop *l)
{
    struct pollfd p[TEST_LOOP_MAX];
    const int n = l->n_watches;
    for (int i = 0; i < n; i++)
        p[i] = (struct pollfd){.fd = l->watches[i].fd,
                               .events = (short)((l->watches[i].events & RB_LOOP_READ ? POLLIN : 0) |
                                                 (l->watches[i].events & RB_LOOP_WRITE ? POLLOUT : 0))};
    if (poll(p, (nfds_t)n, 5) <= 0)
        return;
    for (int i = 0; i < n; i++) {
        const bool broken = p[i].revents & (POLLERR | POLLHUP);
        const int ready = (p[i].revents & POLLIN || broken ? RB_LOOP_READ : 0) |
                          (p[i].revents & POLLOUT || broken ? RB_LOOP_WRITE : 0);
        for (int w = 0; ready && w < l->n_watches; w++)
            if (l->watches[w].fd == p[i].fd) { // still watched after the callbacks before
                l->watches[w].fn(l->watches[w].arg, p[i].fd, ready);
                break;
            }
    }
}

bool test_loop_run(struct test_loop *l, const bool *done)
{
    const int64_t give_up_us = rb_clock_monotonic_us() + patience_us;
    while (!*done && rb_clock_monotonic_us() < give_up_us) {
        const int next = earliest_timer(l);
        if (next >= 0 && l->timers[next].due_us <= now_us(l)) {
            fire_timer(l, next);
        } else if (l->n_watches > 0) {
            wait_for_sockets(l);
        } else if (next >= 0) {
            l->skipped_us += l->timers[next].due_us - now_us(l);
        } else {
            return false;
        }
    }
    return *done;
}
