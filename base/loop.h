// The interface of an event loop, as a table of functions. The executor implements it with libuv, tests with a virtual clock.
// It is single-threaded; callbacks run from the loop, never from inside the call that registers them.
#ifndef RB_BASE_LOOP_H
#define RB_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

enum { RB_LOOP_READ = 1, RB_LOOP_WRITE = 2 };

// A gap this long may have cost connections: silences begin again in full after it.
#define RB_LOOP_LONG_GAP_US INT64_C(10000000)

typedef void rb_loop_fn(void *arg);
typedef void rb_loop_fd_fn(void *arg, int fd, int ready);

struct rb_loop {
    void *ctx;
    int64_t (*now_us)(void *ctx);   // monotonic
    int64_t (*unix_us)(void *ctx);  // wall clock
    // One-shot timer; returns an id, never 0. Cancelling a fired or unknown id does nothing.
    uint64_t (*timer_start)(void *ctx, int64_t delay_us, rb_loop_fn *fn, void *arg);
    void (*timer_cancel)(void *ctx, uint64_t id);
    // Replaces the watch of fd; events 0 removes it.
    void (*watch)(void *ctx, int fd, int events, rb_loop_fd_fn *fn, void *arg);
    // For conclusions from silence (base/silence.h): the loop's time without its gaps. It stands still while the loop
    // does not look at its descriptors because the process was stopped, the machine was suspended, or either was too
    // busy. NULL: no gaps.
    int64_t (*attended_us)(void *ctx);
    // Attended time at the end of the last gap of RB_LOOP_LONG_GAP_US or more, INT64_MIN: none; *out_gap_us its length.
    int64_t (*back_us)(void *ctx, int64_t *out_gap_us);
};

#endif
