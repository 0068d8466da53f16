// Creation, destruction and the small things every part of the launcher uses.
#include "executor/launcher/launcher_private.h"

#include "base/errors/full.h"
#include "base/text/units.h"
#include "executor/transport/container.h"
#include "executor/transport/ssh_command.h"
#include "executor/transport/ssh_trouble.h"
#include "profiles/job/job_notify.h"
#include "providers/wire/child.h"

#include <stdlib.h>
#include <string.h>

static const int64_t HELD_UP_US = RB_US_PER_S; // pause before the next try

struct rb_launcher_node *rb_launcher_find_node(struct rb_launcher_impl *l, int node)
{
    for (struct rb_launcher_node *n = l->nodes; n; n = n->next)
        if (n->spec.node == node)
            return n;
    return NULL;
}

struct rb_launcher_task *rb_launcher_find_task(struct rb_launcher_impl *l, int trial, int attempt)
{
    for (struct rb_launcher_task *t = l->tasks; t; t = t->next)
        if (t->trial == trial && t->attempt == attempt)
            return t;
    return NULL;
}

bool rb_launcher_remote(struct rb_launcher_impl *l, struct rb_launcher_node *node, const char *remote,
                        struct rb_process_options *options, struct rb_process **out, struct rb_err *err)
{
    struct rb_arena arena = {0};
    const struct rb_string_list hidden = rb_job_hidden_variables(l->config.job, &arena);
    options->argv = node->spec.transport->argv(&l->config, &node->spec, remote, &arena);
    options->env = node->spec.transport->is_users_shell ? rb_child_command_env(hidden.items, hidden.n, &arena) : NULL;
    bool ok = rb_process_spawn(l->config.loop, options, out, err);
    rb_arena_finish(&arena);
    return ok;
}

void rb_launcher_node_command(const struct rb_launcher_node *node, struct rb_buf *out, const char *const *words)
{
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
    const char *run_id = node->l->config.run_id;
    rb_buf_printf(&command, "exec sh rb/%s/node", run_id);
    for (; *words; words++) {
        rb_buf_putc(&command, ' ');
        rb_buf_shell_quote(&command, *words);
    }
    if (node->image)
        rb_container_enter(run_id, rb_buf_str(&command), out);
    else
        rb_buf_puts(out, rb_buf_str(&command));
}

void rb_launcher_report_unreachable(const struct rb_rank *r, const char *said)
{
    const struct rb_launcher_events *events = &r->task->l->config.events;
    RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
    rb_ssh_trouble_text(said, &why);
    events->unreachable(events->ctx, r->node->spec.node, rb_buf_str(&why));
}

bool rb_launcher_report_no_room(const struct rb_rank *r, const char *said)
{
    const struct rb_launcher_events *events = &r->task->l->config.events;
    const char *why = rb_says_disk_fails(said);
    if (!r->node || !events->no_room || !why)
        return false;
    events->no_room(events->ctx, r->node->spec.node, r->task->trial, why);
    return true;
}

int64_t rb_launcher_backoff_us(int tries)
{
    int64_t us = 250000;
    while (tries-- > 0 && us < 8 * RB_US_PER_S)
        us *= 2;
    return us;
}

void rb_launcher_env_text(const struct rb_key_value *env, int n, struct rb_buf *out)
{
    for (int i = 0; i < n; i++) {
        rb_buf_printf(out, "export %s=", env[i].key);
        rb_buf_shell_quote(out, env[i].value);
        rb_buf_putc(out, '\n');
    }
}

void rb_launcher_command_text(const char *command, struct rb_buf *out)
{
    if (command) {
        rb_buf_puts(out, "rb_command=");
        rb_buf_shell_quote(out, command);
    }
    rb_buf_puts(out, "\nrb_input=whole\n");
}

static void unlink_event(struct rb_launcher_pending *t)
{
    struct rb_launcher_pending **p = &t->l->events;
    while (*p != t)
        p = &(*p)->next;
    *p = t->next;
}

static void report_event(void *arg)
{
    struct rb_launcher_pending t = *(struct rb_launcher_pending *)arg;
    const struct rb_launcher_events *events = &t.l->config.events;
    unlink_event(arg);
    free(arg);
    switch (t.what) {
    case RB_EVENT_PREPARED:
        events->prepared(events->ctx, t.node, &t.err);
        break;
    case RB_EVENT_EXITED:
        events->exited(events->ctx, t.trial, t.attempt, RB_EXIT_VANISHED); // the script did not cause it
        break;
    case RB_EVENT_SAVED:
        events->saved(events->ctx, t.trial, t.attempt, NULL, &t.err);
        break;
    case RB_EVENT_KEPT:
        if (events->kept)
            events->kept(events->ctx, t.trial, t.attempt, t.resource, NULL, &t.err);
        break;
    case RB_EVENT_KILLED:
        events->killed(events->ctx, t.trial, t.attempt);
        break;
    case RB_EVENT_HELD_UP:
        if (events->held_up)
            events->held_up(events->ctx, t.trial, &t.err);
        break;
    }
}

struct rb_launcher_pending *rb_launcher_report(struct rb_launcher_impl *l, int what, int trial, int attempt)
{
    struct rb_launcher_pending *t = rb_xcalloc(1, sizeof *t);
    *t = (struct rb_launcher_pending){.next = l->events, .l = l, .what = what, .trial = trial, .attempt = attempt};
    l->events = t;
    t->timer = l->config.loop->timer_start(l->config.loop->ctx, 0, report_event, t);
    return t;
}

bool rb_launcher_hold_up(struct rb_launcher_impl *l, const struct rb_err *err, int trial, uint64_t *timer,
                         rb_loop_fn *fn, void *arg)
{
    if (rb_err_number(err) != RB_E_MACHINE_FULL)
        return false;
    rb_launcher_report(l, RB_EVENT_HELD_UP, trial, -1)->err = *err;
    *timer = l->config.loop->timer_start(l->config.loop->ctx, HELD_UP_US, fn, arg);
    return true;
}

bool rb_launcher_held_up(const struct rb_launcher_node *node, int code, const char *said, int trial, uint64_t *timer,
                         rb_loop_fn *fn, void *arg)
{
    const bool is_ours =
        // An error from another machine needs no explanation here.
        node && (code == 255 || (code != 0 && node->spec.transport->is_users_shell));
    struct rb_err err = {0};
    if (!is_ours || !rb_says_full(said))
        return false;
    rb_err_set(&err, RB_E_MACHINE_FULL, "this machine has no room for another process or file: %.200s", said);
    return rb_launcher_hold_up(node->l, &err, trial, timer, fn, arg);
}

int64_t rb_launcher_open_files(int64_t n_ranks, int64_t n_nodes)
{
    return RB_LAUNCHER_FILES_OF_RUN + RB_LAUNCHER_FILES_OF_RANK * n_ranks + RB_LAUNCHER_FILES_OF_NODE * n_nodes;
}

static void destroy(struct rb_launcher *base)
{
    struct rb_launcher_impl *l = (struct rb_launcher_impl *)base;
    while (l->tasks) {
        struct rb_launcher_task *t = l->tasks;
        l->tasks = t->next;
        rb_launcher_drop_task(t);
    }
    l->destroyed = true;
    while (l->nodes)
        rb_launcher_forget(base, l->nodes->spec.node);
    while (l->events) {
        struct rb_launcher_pending *t = l->events;
        l->events = t->next;
        l->config.loop->timer_cancel(l->config.loop->ctx, t->timer);
        free(t);
    }
    l->config.loop->timer_cancel(l->config.loop->ctx, l->free_timer);
    rb_launcher_free_dropped(l);
    if (l->opened)
        l->opened->close(&l->config);
    free(l->bundle_path);
    free((char *)l->config.run_id);
    free((char *)l->config.run_dir);
    free((char *)l->config.workdir);
    free(l);
}

static const struct rb_launcher_ops launcher_ops = {
    .prepare = rb_launcher_prepare,
    .start = rb_launcher_start,
    .save = rb_launcher_save,
    .keep = rb_launcher_keep,
    .discard = rb_launcher_discard,
    .yield = rb_launcher_yield,
    .echo = rb_launcher_echo,
    .stop = rb_launcher_stop,
    .end = rb_launcher_end,
    .kill = rb_launcher_kill,
    .forget = rb_launcher_forget,
    .heartbeat = rb_launcher_heartbeat,
    .destroy = destroy,
};

struct rb_launcher *rb_launcher_create(const struct rb_launcher_config *config)
{
    struct rb_launcher_impl *l = rb_xcalloc(1, sizeof *l);
    l->base.ops = &launcher_ops;
    l->config = *config;
    l->config.run_id = rb_xstrdup(config->run_id);
    l->config.run_dir = rb_xstrdup(config->run_dir);
    l->config.workdir = rb_xstrdup(config->workdir);
    if (l->config.reconnects == 0)
        l->config.reconnects = RB_RECONNECTS;
    return &l->base;
}
