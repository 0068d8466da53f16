// The lease of the machine that was made for a run's controller, once the run is over. A lease is short, and the machine may be
// kept for days after the process has ended: a helper process, this program with words of its own, renews it until the machine
// ends or another process carries the run on.
#ifndef RB_EXECUTOR_MACHINE_KEEPER_H
#define RB_EXECUTOR_MACHINE_KEEPER_H

#include "executor/journal/machine_row.h"
#include "executor/journal/run_files.h"

// On that machine: its lease lasts until it ends, as row says. lease_us: the length of a run's lease, 0: as usual. Blocks until
// the cloud has answered.
bool rb_machine_keeper_begin(const struct rb_run_files *f, const struct rb_machine_row *row, int64_t lease_us, struct rb_err *err);
// True if argv are the helper's: then this call was its whole life.
bool rb_machine_keeper_is(int argc, char **argv);

#endif
