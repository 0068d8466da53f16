#include "executor/transport/transport.h"

#include "base/arena.h"
#include "executor/transport/ssh_command.h"

// Without a directory ssh says what is wrong with it.
static const char *const *command(const struct rb_launcher_config *config, const struct rb_launch_node *node,
                                  const char *control, const char *remote, struct rb_arena *arena)
{
    char dir[RB_SSH_CONTROL_DIR_BYTES];
    const bool made = rb_ssh_control_dir(config->run_dir, dir, NULL);
    return rb_ssh_argv(node, config->run_dir, made ? dir : config->run_dir, control, remote, arena);
}

static const char *const *ssh_argv(const struct rb_launcher_config *config, const struct rb_launch_node *node,
                                   const char *remote, struct rb_arena *arena)
{
    return command(config, node, NULL, remote, arena);
}

static bool ssh_meet(const struct rb_launcher_config *config, const struct rb_launch_node *node, struct rb_err *err)
{
    return rb_ssh_know_host(config->run_dir, node->instance_id, node->host_key, err);
}

static const char *const *ssh_leave(const struct rb_launcher_config *config, const struct rb_launch_node *node,
                                    struct rb_arena *arena)
{
    return command(config, node, "exit", NULL, arena);
}

const struct rb_transport rb_transport_ssh = {false, ssh_argv, ssh_meet, ssh_leave, rb_node_switch_beat};

// This machine is the node: its home is a directory of the run.
static const char *const *local_argv(const struct rb_launcher_config *config, const struct rb_launch_node *node,
                                     const char *remote, struct rb_arena *arena)
{
    const char **argv = rb_arena_array(arena, 6, sizeof *argv);
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = "umask 077 && mkdir -p \"$0\" && cd \"$0\" && export RB_NODE_HOME=\"$0\" && eval \"$1\"";
    argv[3] = rb_arena_printf(arena, "%s/local/node-%d", config->run_dir, node->node);
    argv[4] = rb_arena_strdup(arena, remote);
    return argv;
}

// This machine is not ours to shut down.
const struct rb_transport rb_transport_local = {true, local_argv, NULL, NULL, NULL};
