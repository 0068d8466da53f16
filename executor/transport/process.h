// Runs child processes on the libuv loop: argv arrays only, never a shell; input from memory or a file, output by
// callback.
#ifndef RB_EXECUTOR_PROCESS_H
#define RB_EXECUTOR_PROCESS_H

#include "base/errors/err.h"
#include "base/loop.h"

#include <stddef.h>

struct rb_process;

// code: exit status, or 128 + signal. stderr_tail: the last bytes of stderr, control characters replaced, never NULL.
typedef void rb_process_exit_fn(void *arg, int code, const char *stderr_tail);

struct rb_process_options {
    const char *const *argv;      // NULL-terminated; argv[0] is looked up in PATH
    const char *cwd;              // NULL: ours
    char *const *env;             // NULL: a tool's (providers/wire/child.h), never all of ours
    const void *input;            // copied; wiped after it was written (it may hold secrets)
    size_t input_len;
    int input_fd;                 // instead of input; -1: none. Borrowed: may be closed once spawn returns
    bool own_session;             // kill and abandon reach all that it starts; no signal of our terminal does
    int output_fd;                // receives stdout; -1: `output` does
    void (*output)(void *arg, const char *bytes, size_t n); // NULL: discarded
    rb_process_exit_fn *exited;   // exactly once, after both outputs reached their end; NULL: not needed
    void *arg;
};

// Zeroed options with the descriptors set to -1.
struct rb_process_options rb_process_defaults(void);

// The loop must be a libuv one. On success the process frees itself after `exited`. Errors: RB_E_MACHINE_FULL, which
// passes; RB_E_PROCESS_START. Open files: 1 for stderr, 1 for stdout if it goes to `output`, 1 for input until it was
// written.
bool rb_process_spawn(const struct rb_loop *loop, const struct rb_process_options *options, struct rb_process **out,
                      struct rb_err *err);
void rb_process_kill(struct rb_process *p, int signal);
// No callback will come any more; the process is killed and reaped in the background.
void rb_process_abandon(struct rb_process *p); // NULL is fine

#endif
