// rbrun --serve: the running report as a page in a browser, on this machine's loopback, for whoever has its address.
// It reads the journal as any other looker does, in a thread of its own: the run never waits for it, and when it fails the
// run goes on with a warning.
#ifndef RB_COMMANDS_RBRUN_SERVE_H
#define RB_COMMANDS_RBRUN_SERVE_H

#include "commands/rbrun.h"

#define RB_RUN_SERVE_OPTION                                                                                            \
    {"serve", 0, RB_OPT_STRING, false, "127.0.0.1:PORT", "show the run as a page; port 0: any; prints the address",   \
     0,       0}

struct rb_run_serve;

// Before anything is bought: is the address one that may be served on?
bool rb_run_serve_check(const struct rb_args *args, struct rb_err *err);

// Tells the address on stderr, once. NULL: --serve was not given, or a warning said why it cannot be.
struct rb_run_serve *rb_run_serve_begin(const struct rb_args *args, const char *run_id);
// over: the run has ended, not just this process. Whoever looks is let see how, within seconds.
void rb_run_serve_end(struct rb_run_serve *s, bool over);

#endif
