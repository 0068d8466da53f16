// Writes the ssh client's command line: host keys always verified against the run's own known_hosts, one multiplexed
// connection per node. Source: ssh_config(5).
#ifndef RB_EXECUTOR_SSH_COMMAND_H
#define RB_EXECUTOR_SSH_COMMAND_H

#include "base/arena.h"
#include "base/errors/err.h"
#include "executor/launcher/launcher.h"

// How nodes of a job are logged in to: RB_SSH_USER and RB_SSH_PORT, else what the job says.
const char *rb_ssh_user(const struct rb_resources *resources);
int rb_ssh_port(const struct rb_resources *resources);

// Directory for the run's control sockets, 0700 and ours, made if it is missing: a cleaner, or the end of a login, may
// take it away at any time, so ask again before every command. The first of these that can be made and leaves room for
// a socket's path (108 bytes):
//   $XDG_RUNTIME_DIR/rb-<8 hex of run_dir>
//   <run_dir>/ssh
//   /tmp/rb-<uid>-<8 hex of run_dir>
enum { RB_SSH_CONTROL_DIR_BYTES = 83 };
bool rb_ssh_control_dir(const char *run_dir, char out[static RB_SSH_CONTROL_DIR_BYTES], struct rb_err *err);

// Removes the directory, wherever there is one: at the end of a run or campaign, and by `rbrun gc` where no process
// executes it. Connections that are still there, as of a process that was killed, are ended first.
void rb_ssh_leave_control_dir(const char *run_dir);

// Adds "<instance-id> <host key>" to <run_dir>/known_hosts unless it is there.
bool rb_ssh_know_host(const char *run_dir, const char *instance_id, const char *host_key, struct rb_err *err);

// argv of `ssh ... user@address -- remote`, NULL-terminated, in the arena. remote is run by the node's login shell:
// quote with rb_buf_shell_quote whatever is not ours. NULL: a command on the master itself (`control`: "exit",
// "check").
const char *const *rb_ssh_argv(const struct rb_launch_node *node, const char *run_dir, const char *control_dir,
                               const char *control, const char *remote, struct rb_arena *arena);

#endif
