// What rbrun does with `on_drift: replan`, in the virtual world: decides at every barrier and 50 times a deadline, but not
// twice in 30 seconds. rbrun decides as often as it has predicted, at most once a second.
#ifndef RB_EXECUTOR_REHEARSAL_H
#define RB_EXECUTOR_REHEARSAL_H

#include "simulator/world/world.h"

// For one run of the plan. It believes the plan's profile, whatever the world's is. The plan is borrowed.
struct rb_reactor *rb_rehearsal_begin(const struct rb_plan *plan);

// CPU time of its last prediction and of the search after it, 0: there was none.
struct rb_rehearsal_times {
    int64_t check_us, search_us;
};
// Is called after every check, for programs that measure. NULL: nothing is called.
typedef void rb_rehearsal_look_fn(void *ctx, int64_t now_us, const struct rb_rehearsal_times *took, const char *words);
void rb_rehearsal_look(struct rb_reactor *r, rb_rehearsal_look_fn *look, void *ctx);

#endif
