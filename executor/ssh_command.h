// The ssh client's command line: host keys always verified against the run's own known_hosts, one multiplexed connection
// per node. Source: ssh_config(5).
#ifndef RB_EXECUTOR_SSH_COMMAND_H
#define RB_EXECUTOR_SSH_COMMAND_H

#include "base/arena.h"
#include "base/err.h"
#include "executor/launcher.h"

// Directory for control sockets, short enough for a socket path (108 bytes): /tmp/rb-<uid>-<8 hex of run_dir>, 0700 and
// ours, or an error.
bool rb_ssh_control_dir(const char *run_dir, char *out, size_t size, struct rb_err *err);

// Removes the directory, if there is one: at the end of a run or campaign, and by `rbrun gc` where nobody carries it out.
// Connections that are still there, as of a process that was killed, are ended first.
void rb_ssh_leave_control_dir(const char *run_dir);

// Adds "<instance-id> <host key>" to <run_dir>/known_hosts unless it is there.
bool rb_ssh_know_host(const char *run_dir, const char *instance_id, const char *host_key, struct rb_err *err);

// argv of `ssh ... user@address -- remote`, NULL-terminated, in the arena. remote is run by the node's login shell:
// quote with rb_buf_shell_quote whatever is not ours. NULL: a command on the master itself (`control`: "exit", "check").
const char *const *rb_ssh_argv(const struct rb_launch_node *node, const char *run_dir, const char *control_dir,
                               const char *control, const char *remote, struct rb_arena *arena);

#endif
