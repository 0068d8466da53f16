// On the machine that was made for a run's controller: the controller is its heartbeat, and keeps it for a while once the run is
// over. The run's journal says which machine that is; it moves with the run, so the machine itself is known by the file that was
// sent to it (executor/away/machine.h). Anywhere else nothing is done.
#ifndef RB_EXECUTOR_OWN_MACHINE_H
#define RB_EXECUTOR_OWN_MACHINE_H

#include "executor/away/machine.h"
#include "executor/journal/machine_row.h"
#include "executor/journal/run_files.h"

// Of a run that begins on it, into its journal.
bool rb_own_machine_record(const struct rb_machine *m, struct rb_journal *j, struct rb_err *err);
// Is this it?
bool rb_own_machine_is_here(const struct rb_run_files *f, const struct rb_machine_row *row);
// Moves its switch: it ends itself in that time. Error: SWITCH_NOT_ARMED.
bool rb_own_machine_beat(int64_t seconds, struct rb_err *err);

#endif
