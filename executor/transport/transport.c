#include "executor/transport/transport.h"

#include "base/arena.h"
#include "executor/local_keeper.h" // generated from local_keeper.sh: rb_local_keeper[]
#include "executor/launcher/bootstrap.h"
#include "executor/transport/ssh_command.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

// Without a directory ssh reports what is wrong with it.
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

static bool ssh_prepare(struct rb_birth *birth, struct rb_err *err)
{
    char dir[RB_SSH_CONTROL_DIR_BYTES];
    return rb_ssh_control_dir(birth->run_dir, dir, err) && rb_bootstrap_run_key(birth->run_dir, birth->public_key, err);
}

static bool ssh_user_data(const struct rb_birth *birth, struct rb_buf *out, char host_key[static 128],
                          struct rb_err *err)
{
    struct rb_host_key key;
    if (!rb_bootstrap_host_key(&key, err))
        return false;
    memcpy(host_key, key.public_line, sizeof key.public_line);
    const bool ok = rb_bootstrap_user_data(birth->public_key, &key, birth->hard_limit_min, out, err);
    explicit_bzero(&key, sizeof key);
    return ok;
}

const struct rb_transport rb_transport_ssh = {
    .name = "ssh",
    .argv = ssh_argv,
    .meet = ssh_meet,
    .leave = ssh_leave,
    .beat = rb_node_switch_beat,
    .prepare = ssh_prepare,
    .make_user_data = ssh_user_data,
    .engines = "podman docker",
};

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

enum { LOCAL_LIMIT_S = 1800 }; // where a heartbeat gives none

// This machine is not ours to shut down: its keeper ends the trials of a controller that is gone. Until then this process is
// asked for, and not for heartbeats; they start the keeper, and start it again where it was killed.
static void local_beat(int64_t shutdown_in_s, struct rb_buf *out_command, struct rb_buf *out_input)
{
    const int64_t limit_s = shutdown_in_s > 0 ? shutdown_in_s : LOCAL_LIMIT_S;
    RB_AUTO(rb_buf_finish) struct rb_buf keeper = RB_BUF_INIT;
    (void)out_input; // it ends with this process, and what is begun here must not
    rb_buf_append(&keeper, (const char *)rb_local_keeper, rb_local_keeper_len);
    rb_buf_puts(out_command, "set -e; printf %s ");
    rb_buf_shell_quote(out_command, rb_buf_str(&keeper));
    rb_buf_printf(out_command,
                  " >.keeper.new; mv .keeper.new .keeper; began=0; if s=$(cat /proc/%d/stat 2>/dev/null); then "
                  "set -- ${s##*) }; began=${20}; fi; echo \"%d $began %" PRId64 "\" >.beat.new; mv .beat.new .beat; "
                  "exec 9>.keeper.lock; if flock -n 9; then setsid sh \"$PWD/.keeper\" </dev/null >/dev/null 2>&1 & fi; "
                  "echo 'rb-switch armed %" PRId64 "'",
                  (int)getpid(), (int)getpid(), limit_s, limit_s);
}

const struct rb_transport rb_transport_local = {
    .name = "local",
    .is_users_shell = true,
    .argv = local_argv,
    .beat = local_beat,
    .engines = "podman",
};

void rb_transport_beat_by_file(int64_t shutdown_in_s, struct rb_buf *out_command, struct rb_buf *out_input)
{
    (void)out_input;
    if (shutdown_in_s > 0) // a whole file or none; on a full disk in the place of the old one, which is as long
        rb_buf_printf(out_command,
                      "end=$(($(date +%%s) + %" PRId64 ")); { echo $end >.expires.new && mv .expires.new .expires; } 2>/dev/null || "
                      "echo $end 1<>.expires; ",
                      shutdown_in_s);
    rb_buf_puts(out_command, "end=$(cat .expires) && echo \"rb-switch armed $((end - $(date +%s)))\"");
}

const struct rb_transport *rb_transport_find(const char *name)
{
    static const struct rb_transport *const all[] = {&rb_transport_ssh, &rb_transport_k8s, &rb_transport_local,
                                                    &rb_transport_slurm};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!name || strcmp(all[i]->name, name) == 0)
            return all[i];
    assert(!"a provider names a transport that there is not");
    return NULL;
}
