// Implements struct rb_loop with libuv, for real runs.
#ifndef RB_EXECUTOR_LOOP_UV_H
#define RB_EXECUTOR_LOOP_UV_H

#include "base/loop.h"

#include <uv.h>

struct rb_loop_uv;

struct rb_loop_uv *rb_loop_uv_create(void);
void rb_loop_uv_destroy(struct rb_loop_uv *l); // pending timers and watches end without callback; NULL is fine
const struct rb_loop *rb_loop_uv_loop(struct rb_loop_uv *l);
void rb_loop_uv_run(struct rb_loop_uv *l);  // until rb_loop_uv_stop
void rb_loop_uv_stop(struct rb_loop_uv *l);
// For tests: another clock than the host's, which may jump as the host's does over a suspend. Before any timer is
// started.
void rb_loop_uv_set_clock(struct rb_loop_uv *l, int64_t (*clock_us)(void));

// fn is called from the loop each time the signal comes, instead of its default, until destroy. Does not keep the loop
// going.
void rb_loop_uv_on_signal(struct rb_loop_uv *l, int signal, rb_loop_fn *fn, void *arg);
// Calls fn from the loop at SIGINT, SIGTERM and SIGHUP, once for all that come within half a second: a terminal that is
// closed, `timeout` and wrappers send several and mean one. One fn for a loop.
void rb_loop_uv_on_interrupt(struct rb_loop_uv *l, rb_loop_fn *fn, void *arg);

// The libuv loop behind a struct rb_loop made here (processes and signals need it). Any other loop: assert.
uv_loop_t *rb_loop_uv_handle(const struct rb_loop *loop);

#endif
