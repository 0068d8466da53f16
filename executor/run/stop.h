// Stopping a run that another process carries out: it ends everything itself, we ask and wait.
#ifndef RB_EXECUTOR_STOP_H
#define RB_EXECUTOR_STOP_H

#include "executor/journal/run_files.h"

// The process that carries the run out; 0: none does. Fails where it is one that cannot be asked from here.
bool rb_run_find_process(const struct rb_run_files *f, int *out_pid, struct rb_err *err);
// Asks it to stop, and waits until it lets go of the journal; stderr says what is waited for.
bool rb_run_stop_process(const struct rb_run_files *f, int pid, struct rb_err *err);

#endif
