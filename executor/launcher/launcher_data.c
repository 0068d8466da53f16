// The job's data on a node: fetched by data.fetch, or found where data.mount says it is.
#include "executor/launcher/launcher_private.h"

#include "base/limits.h"
#include "base/text/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void rb_launcher_data_words(const struct rb_job *job, struct rb_buf *out)
{
    if (!rb_job_has_data_dir(job))
        return;
    rb_buf_puts(out, "rb_data=");
    rb_buf_shell_quote(out, job->data_mount ? job->data_mount : "");
    rb_buf_putc(out, '\n');
}

static void set_fetching(struct rb_launcher_node *node, bool on)
{
    const struct rb_launcher_events *events = &node->l->config.events;
    if (node->fetching == on || !node->l->config.job->data_fetch)
        return;
    node->fetching = on;
    if (events->fetching)
        events->fetching(events->ctx, node->spec.node, on);
}

// The node script's answer is untrusted: a time, or nothing is reported.
static void report_fetched(const struct rb_launcher_node *node)
{
    const struct rb_launcher_events *events = &node->l->config.events;
    const char *text = rb_buf_str(&node->printed);
    char *end;
    errno = 0;
    const long long us = strtoll(text, &end, 10);
    if (events->fetched && end > text && errno == 0 && us >= 0 && us <= RB_LIMIT_DURATION_S * RB_US_PER_S)
        events->fetched(events->ctx, node->spec.node, us);
}

static void report_failed(struct rb_launcher_node *node, int code, const char *said)
{
    const struct rb_job *job = node->l->config.job;
    struct rb_err err = {0};
    if (job->data_fetch)
        rb_err_set(&err, RB_E_DATA_FETCH, "data.fetch on node %d failed with exit code %d: %s", node->spec.node, code, said);
    else
        rb_err_set(&err, RB_E_DATA_MOUNT, "data.mount: node %d (%s) has no folder %s", node->spec.node,
                   node->spec.instance_id, job->data_mount);
    rb_launcher_report_prepared(node, &err);
}

static void on_brought(void *arg, int code, const char *stderr_tail)
{
    struct rb_launcher_node *node = arg;
    node->process = NULL;
    if (code == 255 && rb_launcher_held_up(node, code, stderr_tail, -1, &node->timer, rb_launcher_bring_data, node))
        return;
    set_fetching(node, false);
    if (code == 255) {
        rb_launcher_retry_connect(node, stderr_tail);
    } else if (code != 0) {
        report_failed(node, code, stderr_tail);
    } else {
        if (node->l->config.job->data_fetch)
            report_fetched(node);
        rb_launcher_report_prepared(node, NULL);
    }
}

static bool ask(struct rb_launcher_node *node, struct rb_err *err)
{
    const struct rb_job *job = node->l->config.job;
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT, input = RB_BUF_INIT;
    rb_launcher_node_command(node, &command, (const char *[]){"data", NULL});
    rb_launcher_env_text(job->envs, job->n_envs, &input);
    rb_launcher_data_words(job, &input);
    rb_launcher_command_text(job->data_fetch, &input);
    rb_buf_clear(&node->printed);
    struct rb_process_options o = rb_process_defaults();
    o.input = input.data;
    o.input_len = input.len;
    o.output = rb_launcher_node_printed;
    o.exited = on_brought;
    o.arg = node;
    return rb_launcher_remote(node->l, node, command.data, &o, &node->process, err);
}

void rb_launcher_bring_data(void *arg)
{
    struct rb_launcher_node *node = arg;
    const struct rb_job *job = node->l->config.job;
    struct rb_err err = {0};
    node->timer = 0;
    if (!rb_job_has_data_dir(job)) {
        rb_launcher_report_prepared(node, NULL);
        return;
    }
    rb_launcher_report_waiting(node, job->data_fetch ? "it is set up, and the job's `data.fetch` has not ended"
                                                     : "it is set up, and has not answered whether `data.mount` is there");
    set_fetching(node, true);
    if (!ask(node, &err) && !rb_launcher_hold_up(node->l, &err, -1, &node->timer, rb_launcher_bring_data, node))
        rb_launcher_report_prepared(node, &err);
}
