// Where the process that carries a run out lives, as the kernel knows it now: nothing is recorded that could be wrong
// later.
#ifndef RB_EXECUTOR_WHEREABOUTS_H
#define RB_EXECUTOR_WHEREABOUTS_H

#include "executor/journal/run_lock.h"

enum { RB_WHEREABOUTS_BYTES = 256 };

// "this terminal", "terminal pts/3", "detached" (it has no terminal), "unit rb-RUN.scope", or "host NAME": another host
// or container. "": no process, or one that cannot be seen from here.
void rb_whereabouts(const struct rb_run_lock *lock, const char *run_id, char out[static RB_WHEREABOUTS_BYTES]);

#endif
