#include "executor/transport/transport_k8s.h"

#include "base/arena.h"
#include "executor/k8s_keeper.h" // generated from k8s_keeper.sh: rb_kube_keeper[]
#include "executor/transport/ssh_command.h"
#include "executor/transport/transport.h"
#include "providers/k8s/k8s_door.h"
#include "providers/k8s/k8s_exec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char helper_word[] = "--in-pod", alone_word[] = "--to-pod";
enum {
    HELPER_WORDS = 6, // program, word, socket, cluster, pod, command
    ALONE_WORDS = 7,  // program, word, context, namespace, cluster, pod, command; "": not said
};

static void door_path(const char *run_dir, char out[static RB_KUBE_DOOR_PATH_BYTES])
{
    char dir[RB_SSH_CONTROL_DIR_BYTES];
    const bool made = rb_ssh_control_dir(run_dir, dir, NULL);
    snprintf(out, RB_KUBE_DOOR_PATH_BYTES, "%s/node-door", made ? dir : "/nonexistent");
}

static bool k8s_open(struct rb_launcher_config *config, struct rb_err *err)
{
    char dir[RB_SSH_CONTROL_DIR_BYTES], path[RB_KUBE_DOOR_PATH_BYTES];
    struct rb_kube_door *door;
    if (!rb_ssh_control_dir(config->run_dir, dir, err))
        return false;
    door_path(config->run_dir, path);
    if (!rb_kube_door_open(config->loop, path, &config->job->resources.kubernetes, &door, err))
        return false;
    config->way = door;
    return true;
}

static void k8s_close(struct rb_launcher_config *config)
{
    rb_kube_door_close(config->way);
    config->way = NULL;
}

static const char *cluster_of(const char *infra)
{
    const char *slash = strchr(infra, '/');
    return slash ? slash + 1 : "";
}

static const char *const *k8s_argv(const struct rb_launcher_config *config, const struct rb_launch_node *node,
                                   const char *remote, struct rb_arena *arena)
{
    char path[RB_KUBE_DOOR_PATH_BYTES];
    const char **argv = rb_arena_array(arena, HELPER_WORDS + 1, sizeof *argv);
    door_path(config->run_dir, path);
    rb_kube_door_keep(config->way);
    argv[0] = "/proc/self/exe";
    argv[1] = helper_word;
    argv[2] = rb_arena_strdup(arena, path);
    argv[3] = rb_arena_strdup(arena, cluster_of(node->infra));
    argv[4] = node->address;
    argv[5] = rb_arena_strdup(arena, remote);
    return argv;
}

static const char *const *k8s_argv_alone(const struct rb_resources *resources, const struct rb_launch_node *node,
                                         const char *remote, struct rb_arena *arena)
{
    const struct rb_kubernetes_spec *spec = &resources->kubernetes;
    const char *const words[ALONE_WORDS] = {"/proc/self/exe", alone_word, spec->context ? spec->context : "",
                                            spec->namespace ? spec->namespace : "", cluster_of(node->infra), node->address,
                                            remote};
    const char **argv = rb_arena_array(arena, ALONE_WORDS + 1, sizeof *argv);
    for (int i = 0; i < ALONE_WORDS; i++)
        argv[i] = rb_arena_strdup(arena, words[i]);
    return argv;
}

static const char *given(const char *word)
{
    return word[0] ? word : NULL;
}

bool rb_transport_k8s_helps(int argc, char **argv, int *out_code)
{
    if (argc == ALONE_WORDS && strcmp(argv[1], alone_word) == 0) {
        const struct rb_kubernetes_spec spec = {.context = given(argv[2]), .namespace = given(argv[3])};
        *out_code = rb_kube_exec(&(struct rb_kube_exec){.spec = &spec, .name = argv[4], .pod = argv[5], .remote = argv[6]});
        return true;
    }
    if (argc != HELPER_WORDS || strcmp(argv[1], helper_word) != 0)
        return false;
    *out_code =
        rb_kube_exec(&(struct rb_kube_exec){.door = argv[2], .name = argv[3], .pod = argv[4], .remote = argv[5]});
    return true;
}

static bool k8s_user_data(const struct rb_birth *birth, struct rb_buf *out, char host_key[static 128],
                          struct rb_err *err)
{
    (void)err;
    host_key[0] = '\0'; // the API server vouches for the pod
    rb_buf_printf(out, "rb_hard_limit_s=%" PRId64 "\n", birth->hard_limit_min * 60);
    rb_buf_append(out, rb_kube_keeper, rb_kube_keeper_len);
    return true;
}

const struct rb_transport rb_transport_k8s = {
    .name = "k8s",
    .open = k8s_open,
    .close = k8s_close,
    .argv = k8s_argv,
    .argv_alone = k8s_argv_alone,
    .beat = rb_transport_beat_by_file,
    .make_user_data = k8s_user_data,
};
