// How a command line reaches a node: over ssh, or straight on this machine. The launcher knows no more of either.
#ifndef RB_EXECUTOR_TRANSPORT_H
#define RB_EXECUTOR_TRANSPORT_H

#include "base/arena.h"
#include "executor/launcher.h"

struct rb_transport {
    const char *name;  // "ssh", "local"
    // argv that runs `remote` (a POSIX shell command line) in the node's home; NULL-terminated, in the arena.
    const char *const *(*argv)(const struct rb_launcher_config *config, const char *control_dir,
                               const struct rb_launch_node *node, const char *remote, struct rb_arena *arena);
    // Before the first command to a node. NULL: nothing to do.
    bool (*meet)(const struct rb_launcher_config *config, const struct rb_launch_node *node, struct rb_err *err);
    // argv that closes what is kept open to the node; NULL: nothing is.
    const char *const *(*leave)(const struct rb_launcher_config *config, const char *control_dir,
                                const struct rb_launch_node *node, struct rb_arena *arena);
};

extern const struct rb_transport rb_transport_ssh, rb_transport_local;

#endif
