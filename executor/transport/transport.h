// Runs a command line on a node: over ssh, directly on this machine, or through a mailbox on a filesystem shared with a
// Slurm allocation. The launcher does not depend on which of them it is.
#ifndef RB_EXECUTOR_TRANSPORT_H
#define RB_EXECUTOR_TRANSPORT_H

#include "base/arena.h"
#include "executor/launcher/launcher.h"

struct rb_transport {
    bool is_users_shell; // what argv starts is the user's command on this machine: it sees the user's environment
    // argv that runs `remote` (a POSIX shell command line) in the node's home; NULL-terminated, in the arena.
    const char *const *(*argv)(const struct rb_launcher_config *config, const struct rb_launch_node *node,
                               const char *remote, struct rb_arena *arena);
    // Before the first command to a node. NULL: nothing to do.
    bool (*meet)(const struct rb_launcher_config *config, const struct rb_launch_node *node, struct rb_err *err);
    // argv that closes what is kept open to the node; NULL: nothing is.
    const char *const *(*leave)(const struct rb_launcher_config *config, const struct rb_launch_node *node,
                                struct rb_arena *arena);
    // A command that moves the deadline of the node's dead man's switch (0: leaves it), and its input; it prints the
    // switch's state (rb_node_switch_read). NULL: nodes have no switch.
    void (*beat)(int64_t shutdown_in_s, struct rb_buf *out_command, struct rb_buf *out_input);
};

extern const struct rb_transport rb_transport_ssh, rb_transport_local, rb_transport_slurm;

#endif
