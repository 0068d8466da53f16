// Runs whose controller lives on another host.
#ifndef RB_COMMANDS_RBRUN_AT_H
#define RB_COMMANDS_RBRUN_AT_H

#include "commands/rbrun/rbrun.h"
#include "executor/away/host.h"

// --at: starts the run on that host and says how to get back to it. Everything has been asked; f has plan and workdir.
bool rb_run_at(struct rb_run_files *f, const struct rb_host *host, const struct rb_args *args, struct rb_err *err);
// Before a command: RUN@PLACE, or a run that was started elsewhere from here, is carried out there. *out_done: it was, or it
// failed.
bool rb_run_divert(const struct rb_args *args, bool *out_done, struct rb_err *err);

#endif
