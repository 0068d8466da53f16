// The lock of the process that executes a run: a file beside the run's journal, held by flock. The kernel releases it
// when its holder ends, and it holds between all containers of one kernel that see the same file. The file records
// which process took it last, under which kernel and in which pid namespace. A pid of another namespace is another
// process here. A lock that was taken under another kernel (a shared home directory, or a machine that has booted
// since) may not be seen here at all.
#ifndef RB_EXECUTOR_RUN_LOCK_H
#define RB_EXECUTOR_RUN_LOCK_H

#include "base/errors/err.h"

#include <stdbool.h>

enum rb_run_lock_state {
    RB_RUN_LOCK_FREE,   // no process holds it, and one that did would be seen
    RB_RUN_LOCK_HELD,
    RB_RUN_LOCK_UNSURE, // none is seen, but one might hold it: the file is missing, or was taken under another kernel
};

struct rb_run_lock {
    enum rb_run_lock_state state;
    int pid;       // of the holder, as numbered here; 0: it has no number here, or has not written it yet
    char host[72]; // where it runs, as it wrote; "": unknown
};

// Takes the lock of the journal at `path`, held until *out_fd is closed. INVALID: another process holds it.
bool rb_run_lock_take(const char *path, int *out_fd, struct rb_err *err);
bool rb_run_lock_look(const char *path, struct rb_run_lock *out, struct rb_err *err);
// Names the holder: "process 412", "a process in another container (box)".
const char *rb_run_lock_words(const struct rb_run_lock *lock, char out[static 160]);

#endif
