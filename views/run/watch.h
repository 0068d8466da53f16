// rbrun status --watch: shows a run on the whole screen, until it is over or the user leaves.
#ifndef RB_VIEWS_WATCH_H
#define RB_VIEWS_WATCH_H

#include "views/run/following.h"

// On a terminal: the alternate screen, redrawn every second; q, ^C and SIGTERM leave. The earlier contents come back on
// every way out, a crash of this process included. Finally prints where the run stands.
bool rb_watch_screen(struct rb_following *f, struct rb_err *err);
// Anywhere else: prints where the run stands each time something happens.
bool rb_watch_lines(struct rb_following *f, bool json, struct rb_err *err);

#endif
