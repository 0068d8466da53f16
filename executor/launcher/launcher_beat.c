// Sends heartbeats: moves the deadline of a node's dead man's switch and reports the state of the switch.
#include "executor/launcher/launcher_private.h"

#include <string.h>

enum { MAX_TEXT = 4096 }; // bytes of an answer that are kept

static void on_text(void *arg, const char *bytes, size_t n)
{
    struct rb_launcher_node *node = arg;
    const size_t room = MAX_TEXT - node->beat_text.len;
    rb_buf_append(&node->beat_text, bytes, n < room ? n : room);
}

static void report_switch(const struct rb_launcher_node *node, const char *said)
{
    const struct rb_launcher_events *events = &node->l->config.events;
    struct rb_switch_report report;
    rb_node_switch_read(rb_buf_str(&node->beat_text), node->beat_text.len, said, &report);
    if (events->switched)
        events->switched(events->ctx, node->spec.node, &report);
}

// If ssh fails, the state stays unknown until the next heartbeat.
static void on_answered(void *arg, int code, const char *stderr_tail)
{
    struct rb_launcher_node *node = arg;
    node->beating = NULL;
    if (code != 255)
        report_switch(node, stderr_tail);
}

static void send(struct rb_launcher_impl *l, struct rb_launcher_node *node, const char *command,
                 const struct rb_buf *input)
{
    rb_process_abandon(node->beating); // the previous one was not answered in all that time
    node->beating = NULL;
    rb_buf_clear(&node->beat_text);
    struct rb_process_options o = rb_process_defaults();
    o.input = input->data;
    o.input_len = input->len;
    o.output = on_text;
    o.exited = on_answered;
    o.arg = node;
    rb_launcher_remote(l, node, command, &o, &node->beating, NULL);
}

void rb_launcher_heartbeat(struct rb_launcher *base, int number, int64_t shutdown_in_s)
{
    struct rb_launcher_impl *l = (struct rb_launcher_impl *)base;
    struct rb_launcher_node *node = rb_launcher_find_node(l, number);
    if (!node || !(node->prepared || node->fetching || node->kept) || !node->spec.transport->beat)
        return;
    struct rb_buf command RB_AUTO(rb_buf_finish) = RB_BUF_INIT, input RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    node->spec.transport->beat(shutdown_in_s, &command, &input);
    send(l, node, rb_buf_str(&command), &input);
}
