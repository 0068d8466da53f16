// rbrun status --watch: a run on the whole screen, until it is over or somebody has seen enough.
#ifndef RB_VIEWS_WATCH_H
#define RB_VIEWS_WATCH_H

#include "views/run/following.h"

// On a terminal: the alternate screen, redrawn every second; q, ^C and SIGTERM leave. What stood there before comes back
// on every way out, a crash of this process included. Prints where the run stands at last.
bool rb_watch_screen(struct rb_following *f, struct rb_err *err);
// Anywhere else: where the run stands, printed each time something has happened.
bool rb_watch_lines(struct rb_following *f, bool json, struct rb_err *err);

#endif
