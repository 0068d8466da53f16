// rbrun browse: serves a page over many runs, the pages of the runs, and comparisons of two, on this machine's
// loopback to those who have the address (views/live/live_server.h). It reads journals and shared reports; nothing
// waits for it.
#ifndef RB_VIEWS_RUN_BROWSE_H
#define RB_VIEWS_RUN_BROWSE_H

#include "executor/browse/run_list.h"

// Serves until the process is asked to end (SIGINT, SIGTERM); prints the address on stderr, once. address:
// "127.0.0.1:PORT", port 0: any that is free.
bool rb_browse_serve(const struct rb_run_sources *sources, const char *address, struct rb_err *err);

// Writes the list as a page into a file. Reports of shared folders are linked where they lie.
bool rb_browse_save(const struct rb_run_sources *sources, const char *path, struct rb_err *err);

#endif
