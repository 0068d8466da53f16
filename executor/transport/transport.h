// Runs a command line on a node: over ssh, directly on this machine, by exec in a pod, or through a mailbox on a filesystem
// shared with a Slurm allocation. The launcher does not depend on which of them it uses.
#ifndef RB_EXECUTOR_TRANSPORT_H
#define RB_EXECUTOR_TRANSPORT_H

#include "base/arena.h"
#include "base/text/buf.h"
#include "executor/launcher/launcher.h"

enum { RB_BIRTH_HARD_LIMIT_MIN = 60 }; // of a run's nodes

// How the nodes of a run or of a campaign are set up at launch, so that they can be reached.
struct rb_birth {
    const struct rb_job *job;
    const char *run_id, *run_dir;
    int64_t hard_limit_min; // until a node that never receives a heartbeat ends itself
    char public_key[256];   // of the run; made by prepare where nodes know one
};

struct rb_transport {
    const char *name; // as providers name it
    bool is_users_shell; // what argv starts is the user's command on this machine: it sees the user's environment
    // What serves all commands from the first node on, kept in config->way. NULL, both: nothing.
    bool (*open)(struct rb_launcher_config *config, struct rb_err *err);
    void (*close)(struct rb_launcher_config *config);
    // argv that runs `remote` (a POSIX shell command line) in the node's home; NULL-terminated, in the arena.
    const char *const *(*argv)(const struct rb_launcher_config *config, const struct rb_launch_node *node,
                               const char *remote, struct rb_arena *arena);
    // The same for a process that has opened nothing; what it starts sees its environment. NULL: argv is good for that.
    const char *const *(*argv_alone)(const struct rb_resources *resources, const struct rb_launch_node *node,
                                     const char *remote, struct rb_arena *arena);
    // Called before the first command to a node. NULL: nothing to do.
    bool (*meet)(const struct rb_launcher_config *config, const struct rb_launch_node *node, struct rb_err *err);
    // argv that closes what is kept open to the node; NULL: nothing is.
    const char *const *(*leave)(const struct rb_launcher_config *config, const struct rb_launch_node *node,
                                struct rb_arena *arena);
    // A command that moves the deadline of the node's dead man's switch (0: leaves it), and its input; it prints the
    // switch's state (rb_node_switch_read). NULL: nodes have no switch.
    void (*beat)(int64_t shutdown_in_s, struct rb_buf *out_command, struct rb_buf *out_input);
    // Before the first launch: keys, mailboxes. NULL: nothing to do.
    bool (*prepare)(struct rb_birth *birth, struct rb_err *err);
    // User data of one node, and the host key that it will have ("": it needs none). NULL: nodes are launched with none.
    bool (*make_user_data)(const struct rb_birth *birth, struct rb_buf *out, char host_key[static 128],
                           struct rb_err *err);
    const char *engines; // that may run the container of a node, in order; NULL: its nodes are containers
    bool by_shared_dir; // nodes are reached through resources.slurm.shared_dir
};

// `beat` of nodes that end themselves once the time in their file .expires has come, by their own clock. The answer shows
// that they watch it.
void rb_transport_beat_by_file(int64_t shutdown_in_s, struct rb_buf *out_command, struct rb_buf *out_input);

extern const struct rb_transport rb_transport_ssh, rb_transport_k8s, rb_transport_local, rb_transport_slurm;
// Finds the transport of a provider's nodes (rb_provider_ops.transport); NULL: ssh.
const struct rb_transport *rb_transport_find(const char *name);

#endif
