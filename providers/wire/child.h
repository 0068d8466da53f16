// Starts programs and decides what they see of our environment: never the credentials of a cloud account or a tracker.
#ifndef RB_PROVIDERS_CHILD_H
#define RB_PROVIDERS_CHILD_H

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/errors/err.h"

#include <sys/types.h>

// Does a variable of this name hold a cloud credential, or the way to one? Decided by its prefix (AWS_, GOOGLE_,
// CLOUDSDK_, SLURM_, RB_, MLFLOW_) and a word in it (SECRET, TOKEN, KEY, CREDENTIAL, JWT, PASSWORD, AUTH).
bool rb_child_is_credential(const char *name);

// The environment of a tool (ssh, ssh-keygen, tar, git, nvidia-smi): where programs and home are, language, time zone,
// our own RB_ variables, and nothing else. NULL-terminated, in the arena; values are borrowed from our own environment.
char **rb_child_tool_env(struct rb_arena *arena);
// The environment of the user's own command on this machine: all of ours but cloud credentials and the variables named
// `hidden` ([n_hidden]; a job's secrets, which reach their trial by another way).
char **rb_child_command_env(const char *const *hidden, int n_hidden, struct rb_arena *arena);
// The same with the credentials, for a process of ours that asks clouds.
char **rb_child_cloud_env(const char *const *hidden, int n_hidden, struct rb_arena *arena);

// Starts a program, looked up in PATH, with these for stdin, stdout and stderr (> 2 or its own number; close-on-exec or
// not). 0, or the errno of what failed, exec included.
int rb_child_start(const char *const *argv, char *const *env, const int fds[3], pid_t *out_pid);
// The same in a session of its own: kill(-pid) reaches all that it starts, and no signal of our terminal reaches it.
int rb_child_start_session(const char *const *argv, char *const *env, const int fds[3], pid_t *out_pid);

// Runs a tool to its end: stdin empty, stdout to out (NULL: nowhere), stderr ours unless quiet.
// Errors: IO if it cannot be run, does not exit with 0, or says more than max_output_bytes.
struct rb_child_options {
    struct rb_buf *out;
    size_t max_output_bytes;
    bool quiet;
};
bool rb_child_run(const char *const *argv, const struct rb_child_options *options, struct rb_err *err);

#endif
