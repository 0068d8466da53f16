// On the machine that was made for a run's controller: the controller is its heartbeat, and keeps it for a while once the run is
// over. The run's journal says which machine that is; it moves with the run, so the machine itself is known by the file that was
// sent to it (executor/away/machine.h). Anywhere else nothing is done.
//
// A lease is short, and the machine may be kept for days after the process has ended: a helper process, this program with words
// of its own, renews it until the machine ends or another process carries the run on.
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
// The run is over: its lease lasts until the machine ends, as row says; lease_us: of a run's lease, 0: as usual.
bool rb_own_machine_keep(const struct rb_run_files *f, const struct rb_machine_row *row, int64_t lease_us, struct rb_err *err);
// True if argv are the helper's: then this call was its whole life.
bool rb_own_machine_helps(int argc, char **argv);

#endif
