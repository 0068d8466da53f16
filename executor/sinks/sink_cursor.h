// How far a sink is, in a file of its own: RUN/sinks/NAME.cursor (rb-sink/1), written after the sink has acknowledged. It is
// for people and for `rbrun status`: what is sent again is decided by asking the sink, never by this file.
#ifndef RB_EXECUTOR_SINK_CURSOR_H
#define RB_EXECUTOR_SINK_CURSOR_H

#include "base/text/buf.h"
#include "executor/journal/run_files.h"

struct rb_sink_cursor {
    char target[4200];
    int64_t events;  // of the journal, from the first one on, that were delivered
    char error[500]; // why there are no more; "": nothing went wrong
};

bool rb_sink_cursor_write(const char *run_dir, const char *sink, const struct rb_sink_cursor *c, struct rb_err *err);
bool rb_sink_cursor_read(const char *run_dir, const char *sink, struct rb_sink_cursor *out); // false: none that can be read

// One process at a time sends to a sink of a run. -1: another one does (errno EWOULDBLOCK; *out_pid: its number, 0: unknown),
// or there is no lock to be had. Released by closing it, and by dying.
int rb_sink_lock(const char *run_dir, const char *sink, int *out_pid);

// A line for each sink that is behind, and how to send the rest: "mlflow: 3 of 40 events delivered (...)". n_events: in the
// journal. at_work: some process carries the run on; a sink that merely follows it is not behind.
void rb_sinks_behind(const struct rb_run_files *f, int64_t n_events, bool at_work, struct rb_buf *out);

#endif
