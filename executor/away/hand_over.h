// Two hosts and a run that moves between them: asks both sides for the steps of executor/away/move.h, over ssh, and may be
// repeated after it was killed anywhere. This process is on one of them.
#ifndef RB_EXECUTOR_HAND_OVER_H
#define RB_EXECUTOR_HAND_OVER_H

#include "executor/away/host.h"
#include "executor/away/move.h"

// Moves a run of this host to the other one. Errors: MOVE_UNKNOWN, which says how to ask again; those of the run, of the host.
// A refusal is no error: the run goes on here.
bool rb_hand_over(const char *root, const char *run_id, const struct rb_host *to, struct rb_move_answer *out,
                  struct rb_err *err);
// The run is on this host: a process goes on with it, unless it is over.
bool rb_hand_nowhere(const char *root, const char *run_id, struct rb_move_answer *out, struct rb_err *err);
// Takes a run back that is on its way to the other host. *out accepted: it has arrived there before.
bool rb_hand_back(const char *root, const char *run_id, const struct rb_host *from, struct rb_move_answer *out,
                  struct rb_err *err);
// Moves a run of the other host to this one.
bool rb_hand_fetch(const char *root, const char *run_id, const struct rb_host *from, struct rb_move_answer *out,
                   struct rb_err *err);

#endif
