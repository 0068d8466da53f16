// Asks the process that executes a run to stop it, or to leave it, and waits. To stop it ends everything itself. When it
// leaves, it ends nothing: the run goes on by its journal, under another process.
#ifndef RB_EXECUTOR_STOP_H
#define RB_EXECUTOR_STOP_H

#include "executor/journal/run_files.h"

#include <signal.h>

#define RB_LEAVE_SIGNAL SIGUSR1 // a process that has not begun its run yet ends, and has launched nothing

// The process that executes the run; 0: none. Fails if it is one that cannot be asked from here.
bool rb_run_find_process(const struct rb_run_files *f, int *out_pid, struct rb_err *err);
// Asks it to stop, and waits until it releases the journal; stderr reports what it waits for.
bool rb_run_stop_process(const struct rb_run_files *f, int pid, struct rb_err *err);
// Asks it to leave. True: no process executes the run any more, or the run was ending and the process has ended it. A
// process that is stopped has not left, and is waited for only for a while: LEAVE_SILENT. It leaves when it continues.
bool rb_run_leave_process(const struct rb_run_files *f, int pid, struct rb_err *err);

#endif
