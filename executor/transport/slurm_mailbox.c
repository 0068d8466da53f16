#include "executor/transport/slurm_mailbox.h"

#include "base/arena.h"
#include "executor/slurm_agent.h" // generated from slurm_agent.sh: rb_slurm_agent[]
#include "executor/slurm_relay.h" // generated from slurm_relay.sh: rb_slurm_relay[]
#include "executor/transport/transport.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool rb_slurm_mailbox_make(const char *shared_dir, const char *run_id, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    struct stat st;
    rb_buf_printf(&path, "%s/%s", shared_dir, run_id);
    if (mkdir(rb_buf_str(&path), 0700) != 0 && errno != EEXIST)
        return rb_err_set(err, RB_E_SLURM_MAILBOX,
                          "resources.slurm.shared_dir: %s: %s; expected a directory in which you may write",
                          rb_buf_str(&path), strerror(errno));
    if (lstat(rb_buf_str(&path), &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != getuid() || (st.st_mode & 077) != 0)
        return rb_err_set(err, RB_E_SLURM_MAILBOX_OPEN,
                          "resources.slurm.shared_dir: %s: expected a directory of yours that is closed to others",
                          rb_buf_str(&path));
    return true;
}

void rb_slurm_mailbox_script(const char *shared_dir, const char *run_id, int64_t hard_limit_s, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/%s", shared_dir, run_id);
    rb_buf_puts(out, "#!/bin/sh\nrb_mailboxes=");
    rb_buf_shell_quote(out, rb_buf_str(&path));
    rb_buf_printf(out, "\nrb_hard_limit_s=%" PRId64 "\n", hard_limit_s);
    rb_buf_append(out, rb_slurm_agent, rb_slurm_agent_len);
}

static const char *const *slurm_argv(const struct rb_launcher_config *config, const struct rb_launch_node *node,
                                     const char *remote, struct rb_arena *arena)
{
    const char **argv = rb_arena_array(arena, 7, sizeof *argv);
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = rb_arena_strndup(arena, (const char *)rb_slurm_relay, rb_slurm_relay_len);
    argv[3] = "slurm-relay";
    argv[4] =
        rb_arena_printf(arena, "%s/%s/%s", config->job->resources.slurm.shared_dir, config->run_id, node->instance_id);
    argv[5] = rb_arena_strdup(arena, remote);
    return argv;
}

static bool slurm_prepare(struct rb_birth *birth, struct rb_err *err)
{
    if (!birth->job->resources.slurm.shared_dir)
        return rb_err_set(err, RB_E_SHARED_DIRECTORY,
                          "resources.slurm.shared_dir: expected a directory shared with the nodes");
    return rb_slurm_mailbox_make(birth->job->resources.slurm.shared_dir, birth->run_id, err);
}

static bool slurm_user_data(const struct rb_birth *birth, struct rb_buf *out, char host_key[static 128],
                            struct rb_err *err)
{
    (void)err;
    host_key[0] = '\0'; // the filesystem controls who may write into the mailbox
    rb_slurm_mailbox_script(birth->job->resources.slurm.shared_dir, birth->run_id, birth->hard_limit_min * 60, out);
    return true;
}

const struct rb_transport rb_transport_slurm = {
    .name = "slurm",
    .argv = slurm_argv,
    .beat = rb_transport_beat_by_file,
    .prepare = slurm_prepare,
    .make_user_data = slurm_user_data,
    .engines = "apptainer",
    .by_shared_dir = true,
};
