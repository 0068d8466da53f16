// Nodes: from an address to "reachable, work directory there, set up", and back.
#include "executor/launcher/launcher_private.h"

#include "base/errors/full.h"
#include "executor/launcher/bundle.h"
#include "executor/transport/container.h"
#include "executor/transport/ssh_trouble.h"
#include "profiles/job/job_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void connect_node(void *arg);

void rb_launcher_free_node(struct rb_launcher_node *node)
{
    rb_process_abandon(node->process);
    rb_process_abandon(node->beating);
    rb_buf_finish(&node->beat_text);
    rb_buf_finish(&node->printed);
    node->l->config.loop->timer_cancel(node->l->config.loop->ctx, node->timer);
    for (size_t i = 0; i < sizeof node->names / sizeof *node->names; i++)
        free(node->names[i]);
    free(node);
}

// This machine goes on when it is no node of ours any more.
static void drop_container(const struct rb_launcher_node *node)
{
    if (node->image && node->spec.transport->is_users_shell)
        rb_container_drop_here(node->l->config.run_dir, node->l->config.run_id);
}

void rb_launcher_report_prepared(struct rb_launcher_node *node, const struct rb_err *err)
{
    if (err)
        drop_container(node);
    node->prepared = err == NULL;
    const struct rb_launcher_events *events = &node->l->config.events;
    events->prepared(events->ctx, node->spec.node, err);
}

void rb_launcher_report_waiting(const struct rb_launcher_node *node, const char *why)
{
    const struct rb_launcher_events *events = &node->l->config.events;
    events->waiting(events->ctx, node->spec.node, why);
}

void rb_launcher_retry_connect(struct rb_launcher_node *node, const char *said)
{
    RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
    rb_ssh_trouble_text(said, &why);
    rb_launcher_report_waiting(node, rb_buf_str(&why));
    const struct rb_loop *loop = node->l->config.loop;
    // A booting node refuses at once: retry soon, so that its first second is not wasted.
    int64_t delay = node->tries < 40 ? 150000 : 1000000;
    node->tries++;
    node->timer = loop->timer_start(loop->ctx, delay, connect_node, node);
}

enum { MAX_PRINTED = 4096 }; // bytes

void rb_launcher_node_printed(void *arg, const char *bytes, size_t n)
{
    struct rb_launcher_node *node = arg;
    const size_t room = MAX_PRINTED - node->printed.len;
    rb_buf_append(&node->printed, bytes, n < room ? n : room);
}

static void on_set_up(void *arg, int code, const char *stderr_tail)
{
    struct rb_launcher_node *node = arg;
    node->process = NULL;
    if (code == 255 && rb_launcher_held_up(node, code, stderr_tail, -1, &node->timer, rb_launcher_set_up, node))
        return;
    if (code == 0) {
        rb_launcher_bring_data(node);
    } else if (code == 255) {
        rb_launcher_retry_connect(node, stderr_tail);
    } else {
        struct rb_err err = {0};
        rb_err_set(&err, RB_E_NODE_SETUP, "set-up on node %d failed with exit code %d: %s", node->spec.node, code,
                   stderr_tail);
        rb_launcher_report_prepared(node, &err);
    }
}

void rb_launcher_set_up(void *arg)
{
    struct rb_launcher_node *node = arg;
    struct rb_launcher_impl *l = node->l;
    node->timer = 0;
    if (!l->config.job->setup) {
        rb_launcher_bring_data(node);
        return;
    }
    rb_launcher_report_waiting(node, "it is reached, and the job's `setup` command has not ended");
    struct rb_buf command RB_AUTO(rb_buf_finish) = RB_BUF_INIT, input RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    rb_launcher_node_command(node, &command, (const char *[]){"setup", NULL});
    rb_launcher_env_text(l->config.job->envs, l->config.job->n_envs, &input);
    rb_launcher_command_text(l->config.job->setup, &input);
    struct rb_process_options o = rb_process_defaults();
    o.input = input.data;
    o.input_len = input.len;
    o.exited = on_set_up;
    o.arg = node;
    struct rb_err err = {0};
    if (!rb_launcher_remote(l, node, command.data, &o, &node->process, &err) &&
        !rb_launcher_hold_up(l, &err, -1, &node->timer, rb_launcher_set_up, node))
        rb_launcher_report_prepared(node, &err);
}

static void report_refused(struct rb_launcher_node *node, const char *said)
{
    RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
    struct rb_err err = {0};
    rb_ssh_trouble_text(said, &why);
    rb_err_set(&err, RB_E_SSH_DENIED, "node %d (%s), ssh to %s@%s port %d: %s", node->spec.node, node->spec.instance_id,
               node->spec.user, node->spec.address, node->spec.port, rb_buf_str(&why));
    rb_launcher_report_prepared(node, &err);
}

static void on_connected(void *arg, int code, const char *stderr_tail)
{
    struct rb_launcher_node *node = arg;
    node->process = NULL;
    if (rb_launcher_held_up(node, code, stderr_tail, -1, &node->timer, connect_node, node))
        return;
    if (code == 0) {
        rb_launcher_make_container(node);
    } else if (code == 255) { // ssh itself: not up yet, or gone; the controller knows when to give up
        if (rb_ssh_trouble_passes(stderr_tail))
            rb_launcher_retry_connect(node, stderr_tail);
        else
            report_refused(node, stderr_tail);
    } else {
        struct rb_err err = {0};
        rb_err_set(&err, RB_E_NODE_SETUP, "node %d (%s) could not be prepared (exit code %d): %s", node->spec.node,
                   node->spec.instance_id, code, stderr_tail);
        rb_launcher_report_prepared(node, &err);
    }
}

// One command: waits until the node reports that it is ready, counts its GPUs, and takes the bundle unless it is there.
static void prepare_command(const struct rb_launcher_impl *l, const struct rb_launcher_node *node, struct rb_buf *out)
{
    rb_buf_puts(out, "set -e; umask 077; ");
    if (node->spec.transport == &rb_transport_ssh)
        rb_buf_puts(
            out, "i=0; until [ -e \"${RB_RUN_DIR:-/run/rb}/ready\" ]; do i=$((i+1)); "
                 "[ $i -lt 1200 ] || { echo 'user data did not finish in 2 minutes' >&2; exit 3; }; sleep 0.1; done; ");
    rb_buf_printf(
        out,
        "if [ -n \"${RB_NODE_DEVICES:-}\" ]; then n=$(echo \"$RB_NODE_DEVICES\" | tr , '\\n' | grep -c .); "
        "[ \"$n\" -ge %d ] || { echo \"node lends $n GPUs, %d expected: do the prices count them right?\" >&2; "
        "exit 4; }; fi; ",
        node->spec.gpus, node->spec.gpus);
    rb_buf_printf(out,
                  "if command -v nvidia-smi >/dev/null 2>&1; then n=$(nvidia-smi -L | grep -c ^GPU) || n=0; "
                  "[ \"$n\" -ge %d ] || { echo \"node has $n GPUs, %d expected\" >&2; exit 4; }; fi; ",
                  node->spec.gpus, node->spec.gpus);
    rb_buf_printf(out, "d=rb/%s; mkdir -p $d; if [ \"$(cat $d/digest 2>/dev/null)\" = %s ]; then cat >/dev/null; else ",
                  l->config.run_id, l->bundle_digest);
    // The transfer of a killed controller may still be on its way: each has a file of its own.
    rb_buf_printf(out,
                  "b=$d/bundle.$$.tar; cat >$b; echo '%s  '$b | sha256sum -c --quiet -; tar -C $d -xf $b; rm $b; "
                  "echo %s >$d/digest; fi",
                  l->bundle_digest, l->bundle_digest);
}

static bool make_bundle(struct rb_launcher_impl *l, struct rb_err *err)
{
    if (l->bundle_path)
        return true;
    char path[4096];
    if (!rb_bundle_make(l->config.run_dir, l->config.workdir, path, sizeof path, l->bundle_digest, err))
        return false;
    l->bundle_path = rb_xstrdup(path);
    return true;
}

// What is needed here before the first command to the node.
static bool make_ready(struct rb_launcher_node *node, struct rb_err *err)
{
    struct rb_launcher_impl *l = node->l;
    const struct rb_transport *transport = node->spec.transport;
    if (!make_bundle(l, err))
        return false;
    if (transport->open && !l->opened) {
        if (!transport->open(&l->config, err))
            return false;
        l->opened = transport;
    }
    node->met = node->met || !transport->meet || transport->meet(&l->config, &node->spec, err);
    return node->met;
}

static bool ask_to_prepare(struct rb_launcher_node *node, struct rb_err *err)
{
    struct rb_launcher_impl *l = node->l;
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
    prepare_command(l, node, &command);
    struct rb_process_options o = rb_process_defaults();
    o.input_fd = open(l->bundle_path, O_RDONLY | O_CLOEXEC);
    o.exited = on_connected;
    o.arg = node;
    if (o.input_fd < 0)
        return rb_is_full(errno) ? rb_err_set_full(err, errno, l->bundle_path)
                                 : rb_err_set(err, RB_E_FILE_READ, "cannot read %s", l->bundle_path);
    const bool ok = rb_launcher_remote(l, node, command.data, &o, &node->process, err);
    close(o.input_fd);
    return ok;
}

static void connect_node(void *arg)
{
    struct rb_launcher_node *node = arg;
    struct rb_err err = {0};
    node->timer = 0;
    if (!(make_ready(node, &err) && ask_to_prepare(node, &err)) &&
        !rb_launcher_hold_up(node->l, &err, -1, &node->timer, connect_node, node))
        rb_launcher_report_prepared(node, &err);
}

static char *copy_or_empty(const char *text)
{
    return rb_xstrdup(text ? text : "");
}

void rb_launcher_prepare(struct rb_launcher *base, const struct rb_launch_node *wanted)
{
    struct rb_launcher_impl *l = (struct rb_launcher_impl *)base;
    const struct rb_loop *loop = l->config.loop;
    struct rb_launch_node spec = *wanted;
    if (rb_launcher_find_node(l, spec.node))
        return; // under way or prepared: a repeated call
    const char *place = spec.infra ? spec.infra : ""; // of a lent node as the plan knows it, not of the machine
    if (!spec.transport)
        spec.transport = l->config.transport;
    if (l->config.find_machine)
        l->config.find_machine(l->config.machine_ctx, &spec);
    struct rb_launcher_node *node = rb_xcalloc(1, sizeof *node);
    node->l = l;
    node->spec = spec;
    node->spec.infra = node->names[4] = copy_or_empty(spec.infra);
    node->spec.instance_id = node->names[0] = copy_or_empty(spec.instance_id);
    node->spec.address = node->names[1] = copy_or_empty(spec.address);
    node->spec.user = node->names[2] = copy_or_empty(spec.user);
    node->spec.host_key = node->names[3] = copy_or_empty(spec.host_key);
    node->image = rb_image_for(l->config.containers, l->config.n_containers, place);
    node->next = l->nodes;
    l->nodes = node;
    node->timer = loop->timer_start(loop->ctx, 0, connect_node, node);
}

void rb_launcher_forget(struct rb_launcher *base, int number)
{
    struct rb_launcher_impl *l = (struct rb_launcher_impl *)base;
    for (struct rb_launcher_node **p = &l->nodes; *p; p = &(*p)->next) {
        struct rb_launcher_node *node = *p;
        if (node->spec.node != number)
            continue;
        rb_launcher_drop_tasks_on(l, node);
        if (!l->destroyed)
            drop_container(node);
        if (node->spec.transport->leave) {
            struct rb_arena arena = {0};
            struct rb_process_options o = rb_process_defaults();
            o.argv = node->spec.transport->leave(&l->config, &node->spec, &arena);
            struct rb_process *ignored;
            rb_process_spawn(l->config.loop, &o, &ignored, NULL);
            rb_arena_finish(&arena);
        }
        *p = node->next;
        rb_launcher_free_node(node);
        return;
    }
}
