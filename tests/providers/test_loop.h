// A struct rb_loop for tests, over poll(2). Sockets take real time; where nothing but timers is pending, time jumps to
// the next one, so that a back-off of minutes costs nothing.
#ifndef RB_TESTS_PROVIDERS_TEST_LOOP_H
#define RB_TESTS_PROVIDERS_TEST_LOOP_H

#include "base/loop.h"

#define TEST_LOOP_START_UNIX_US INT64_C(1767225600000000) // 2026-01-01T00:00:00Z

enum { TEST_LOOP_MAX = 64 };

struct test_loop {
    struct rb_loop loop;
    int64_t start_us, skipped_us;
    uint64_t last_id;
    struct { uint64_t id; int64_t due_us; rb_loop_fn *fn; void *arg; } timers[TEST_LOOP_MAX];
    struct { int fd, events; rb_loop_fd_fn *fn; void *arg; } watches[TEST_LOOP_MAX];
    int n_timers, n_watches;
};

void test_loop_init(struct test_loop *l);
// Until *done. False: nothing left to wait for, or ten real seconds have passed.
bool test_loop_run(struct test_loop *l, const bool *done);
int64_t test_loop_elapsed_us(const struct test_loop *l); // since init, jumps included

#endif
