// One controller at work: clouds, launcher, loop, signals, progress, and what is printed when it ends.
#ifndef RB_COMMANDS_RBRUN_SESSION_H
#define RB_COMMANDS_RBRUN_SESSION_H

#include "commands/rbrun.h"
#include "executor/controller.h"

enum { RB_SESSION_HARD_LIMIT_MIN = 60 }; // a node that never hears from us ends itself

struct rb_session_options {
    bool go_on;  // a stopped run goes on
    bool end_it; // the run is stopped as soon as the controller has come back
    bool json;
};

// Takes the open journal. *out_code: 0, 4 or 130; other ends are errors.
bool rb_session_carry_out(struct rb_run_files *files, struct rb_journal *journal,
                          const struct rb_session_options *options, int *out_code, struct rb_err *err);

// Infras of a plan: "aws/us-east-1" without zones, each once. Returns how many were written, at most `max`.
int rb_session_infras(const struct rb_plan *plan, char out[][64], int max);
// Is nothing of this infra bought for real money: this machine, or a cloud on loopback?
bool rb_session_is_harmless(const char *infra);

#endif
