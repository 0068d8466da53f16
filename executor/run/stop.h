// Stops a run that another process executes: that process ends everything itself; we ask it and wait.
#ifndef RB_EXECUTOR_STOP_H
#define RB_EXECUTOR_STOP_H

#include "executor/journal/run_files.h"

// The process that executes the run; 0: none. Fails if it is one that cannot be asked from here.
bool rb_run_find_process(const struct rb_run_files *f, int *out_pid, struct rb_err *err);
// Asks it to stop, and waits until it releases the journal; stderr reports what it waits for.
bool rb_run_stop_process(const struct rb_run_files *f, int pid, struct rb_err *err);

#endif
