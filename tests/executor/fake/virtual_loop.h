// Two struct rb_loop over one virtual clock: the world's, and that of a process which can be stopped. One earliest timer at a
// time, nothing ever waits.
#ifndef RB_TESTS_VIRTUAL_LOOP_H
#define RB_TESTS_VIRTUAL_LOOP_H

#include "base/loop.h"

struct virtual_timer {
    uint64_t id;
    int64_t at_us;
    bool ours; // of the process: held while it is stopped
    rb_loop_fn *fn;
    void *arg;
};

struct virtual_loop {
    struct rb_loop loop; // the world's
    struct rb_loop ours; // the process's, which may be stopped
    int64_t now_us;
    int64_t stopped_until_us;
    int64_t away_us, back_us, gap_us; // base/loop.h
    int64_t unix_base_us;
    uint64_t next_id;
    struct virtual_timer *timers; // unordered
    int n, cap;
};

void virtual_loop_init(struct virtual_loop *v);
void virtual_loop_finish(struct virtual_loop *v);
// Fires the earliest timer, ties by order of registration. false: there is none.
bool virtual_loop_step(struct virtual_loop *v);
// Likewise, if it is due by then; false: it is not, and it is that late now.
bool virtual_loop_step_until(struct virtual_loop *v, int64_t at_us);
// The process is stopped from now on for that long. The world goes on; then all that is late comes at once, timers first.
void virtual_loop_stop_for(struct virtual_loop *v, int64_t us);
bool virtual_loop_is_stopped(const struct virtual_loop *v);
int64_t virtual_loop_unix_us(const struct virtual_loop *v);

#endif
