// The container of a node, between its first command and the job's set-up.
#include "executor/launcher/launcher_private.h"

#include "base/limits.h"
#include "base/text/units.h"
#include "executor/transport/container.h"
#include "profiles/job/job_image.h"
#include "providers/registry/login.h"

#include <stdlib.h>
#include <string.h>

static const char pull_mark[] = "rb-pull ";

static void make(void *arg);

static void report_trouble(struct rb_launcher_node *node, int code, const char *said)
{
    struct rb_err err = {0};
    if (code == RB_CONTAINER_NO_ENGINE)
        rb_err_set(&err, RB_E_CONTAINER_ENGINE,
                   "node %d: the job's image needs one of these, and none is installed: %s; install it, or boot the "
                   "node from a resources.image_id that has it",
                   node->spec.node, node->spec.transport->engines);
    else
        rb_err_set(&err, RB_E_CONTAINER, "node %d: the container of %s is not ready (exit code %d): %s",
                   node->spec.node, node->image, code, said);
    rb_launcher_report_prepared(node, &err);
}

// What the node prints is untrusted.
static void report_pulled(const struct rb_launcher_node *node)
{
    const struct rb_launcher_events *events = &node->l->config.events;
    const char *pull = strstr(rb_buf_str(&node->printed), pull_mark);
    const int s = pull ? atoi(pull + strlen(pull_mark)) : 0;
    if (events->pulled && s > 0 && s <= RB_LIMIT_DURATION_S)
        events->pulled(events->ctx, node->spec.node, s * RB_US_PER_S);
}

static void on_made(void *arg, int code, const char *stderr_tail)
{
    struct rb_launcher_node *node = arg;
    node->process = NULL;
    if (rb_launcher_held_up(node, code, stderr_tail, -1, &node->timer, make, node))
        return;
    if (code == 0)
        report_pulled(node);
    if (code == 0)
        rb_launcher_set_up(node);
    else if (code == 255)
        rb_launcher_retry_connect(node, stderr_tail);
    else
        report_trouble(node, code, stderr_tail);
}

static bool ask_to_make(struct rb_launcher_node *node, struct rb_err *err)
{
    struct rb_launcher_impl *l = node->l;
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT, login = RB_BUF_INIT;
    if (!rb_registry_login(l->config.job, node->image, &login, err))
        return false;
    rb_container_ready(&(struct rb_container){.run_id = l->config.run_id,
                                              .node = node->spec.node,
                                              .image = node->image,
                                              .gpus = node->spec.gpus,
                                              .data = l->config.job->data_mount,
                                              .engines = node->spec.transport->engines},
                       &command);
    struct rb_process_options o = rb_process_defaults();
    o.input = login.data;
    o.input_len = login.len;
    o.output = rb_launcher_node_printed;
    o.exited = on_made;
    o.arg = node;
    rb_buf_clear(&node->printed);
    const bool ok = rb_launcher_remote(l, node, rb_buf_str(&command), &o, &node->process, err);
    if (login.data)
        explicit_bzero(login.data, login.len);
    return ok;
}

// Clouds' nodes have had their switch since they booted. This machine goes on without us, and the container with it.
static void keep_this_machine(struct rb_launcher_node *node)
{
    if (!node->spec.transport->is_users_shell || node->kept)
        return;
    node->kept = true;
    rb_launcher_heartbeat(&node->l->base, node->spec.node, 0);
}

static void make(void *arg)
{
    struct rb_launcher_node *node = arg;
    struct rb_err err = {0};
    node->timer = 0;
    keep_this_machine(node);
    rb_launcher_report_waiting(node, "it is reached, and its container is not ready: the image is being pulled");
    if (!ask_to_make(node, &err) && !rb_launcher_hold_up(node->l, &err, -1, &node->timer, make, node))
        rb_launcher_report_prepared(node, &err);
}

void rb_launcher_make_container(struct rb_launcher_node *node)
{
    struct rb_err err = {0};
    if (!node->image) {
        rb_launcher_set_up(node);
    } else if (node->spec.transport->engines) {
        make(node);
    } else { // lent by a pool
        rb_err_set(&err, RB_E_CONTAINER,
                   "node %d is a pod of its pool, whose image is the pool's: remove `image` from this job",
                   node->spec.node);
        rb_launcher_report_prepared(node, &err);
    }
}
