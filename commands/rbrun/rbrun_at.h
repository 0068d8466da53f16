// Runs whose controller lives on another host.
#ifndef RB_COMMANDS_RBRUN_AT_H
#define RB_COMMANDS_RBRUN_AT_H

#include "commands/rbrun/rbrun.h"
#include "executor/away/place.h"

// --at: starts the run at that place and says how to get back to it. Everything has been asked; f has plan and workdir.
// machine: what is made there, NULL: it is a host. deadline_us -1: none.
bool rb_run_at(struct rb_run_files *f, const struct rb_controller_place *place, const struct rb_machine *machine, int64_t deadline_us,
               const struct rb_args *args, struct rb_err *err);
// Before a command: RUN@PLACE, or a run that was started elsewhere from here, is carried out there. *out_done: it was, or it
// failed.
bool rb_run_divert(const struct rb_args *args, bool *out_done, struct rb_err *err);

// Where the run of an operand is: RUN@PLACE, a run of this machine, or one that was started elsewhere from here.
struct rb_run_location {
    char run_id[128];
    bool is_own;     // this machine has its journal
    bool is_away;    // at host
    bool is_leaving; // on its way to host, and not known to be there
    struct rb_host host;
};
// text "": the newest run. A run that this machine does not know: neither, with its text as the id. Error: RUN_MOVED, where
// only the other side can bring it further; PLACE; RUN_AMBIGUOUS.
bool rb_run_locate(const char *root, const char *text, struct rb_run_location *out, struct rb_err *err);

#endif
