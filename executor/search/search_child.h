// A command of the user as a child that is talked to in lines, on struct rb_loop. It runs in a session of its own, with
// the environment of a command (no credentials, no secrets of the job).
#ifndef RB_EXECUTOR_SEARCH_CHILD_H
#define RB_EXECUTOR_SEARCH_CHILD_H

#include "base/errors/err.h"
#include "base/loop.h"

#include <stddef.h>

struct rb_search_child;

struct rb_search_child_config {
    const struct rb_loop *loop;
    const char *command;         // a line for the shell
    const char *workdir;
    const char *log;             // its stderr is appended to this file; NULL: ours
    const char *const *hidden;   // variables that it does not see, [n_hidden]
    int n_hidden;
    size_t longest_line;
    // Both come from the loop, and may destroy the child.
    void (*line)(void *ctx, const char *line, size_t n); // without its newline, NUL-terminated
    void (*ended)(void *ctx, const char *why);           // it exited, closed its output, or wrote a line too long
    void *ctx;
};

bool rb_search_child_start(const struct rb_search_child_config *config, struct rb_search_child **out,
                           struct rb_err *err);
// Never blocks: what the child does not read yet is kept.
void rb_search_child_write(struct rb_search_child *c, const char *bytes, size_t n);
// Ends the child and all that it started. `patience_us`: how long it may take to end by itself after the end of its
// input. Accepts NULL.
void rb_search_child_destroy(struct rb_search_child *c, int64_t patience_us);

#endif
