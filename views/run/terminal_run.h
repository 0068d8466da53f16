// Shows a run on the terminal: a line with its state, or a line for every event, and the report at its end.
#ifndef RB_VIEWS_TERMINAL_RUN_H
#define RB_VIEWS_TERMINAL_RUN_H

#include "executor/run/session.h"

// Begins a session on the open journal, runs it to its end and closes it. *out_code: as rb_session_close sets it.
bool rb_terminal_run(struct rb_run_files *files, struct rb_journal *journal, const struct rb_session_options *options,
                     int *out_code, struct rb_err *err);

// For struct rb_run_show: writes an event and the actions that followed from it, one per line.
void rb_terminal_run_event(void *ctx, const char *label, const struct rb_plan *plan, const struct rb_event *event,
                           const struct rb_actions *actions);

#endif
