#include "executor/sinks/sink_cursor.h"

#include "base/document/doc.h"
#include "base/file.h"
#include "base/document/json.h"
#include "base/errors/log.h"
#include "profiles/job/job_sinks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 16384 };

bool rb_sink_cursor_write(const char *run_dir, const char *sink, const struct rb_sink_cursor *c, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, text = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/sinks/%s.cursor", run_dir, sink);
    struct rb_json j = {.out = &text};
    rb_json_put(&j, "{format: 'rb-sink/1' sink: %s target: %s events: %jd error: %s|null}", sink, c->target, c->events,
                c->error[0] ? c->error : NULL);
    rb_buf_putc(&text, '\n');
    return rb_write_file(rb_buf_str(&path), text.data, text.len, err);
}

static void take_text(const struct rb_node *node, char *out, size_t size)
{
    if (node && node->kind == RB_NODE_STRING)
        rb_log_sanitise(node->text, node->text_len, out, size);
}

bool rb_sink_cursor_read(const char *run_dir, const char *sink, struct rb_sink_cursor *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    size_t n;
    *out = (struct rb_sink_cursor){0};
    rb_buf_printf(&path, "%s/sinks/%s.cursor", run_dir, sink);
    if (access(rb_buf_str(&path), R_OK) != 0 || !rb_read_file(rb_buf_str(&path), MOST_BYTES, &bytes, &n, NULL) ||
        !rb_doc_parse_json(&doc, rb_buf_str(&path), bytes, n, NULL))
        return false;
    const struct rb_node *events = rb_node_member(doc.root, "events");
    out->events = events && events->kind == RB_NODE_INT ? events->integer : 0;
    take_text(rb_node_member(doc.root, "target"), out->target, sizeof out->target);
    take_text(rb_node_member(doc.root, "error"), out->error, sizeof out->error);
    return true;
}

int rb_sink_lock(const char *run_dir, const char *sink, int *out_pid)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    char text[32] = "";
    rb_buf_printf(&path, "%s/sinks/%s.lock", run_dir, sink);
    *out_pid = 0;
    const int fd = open(rb_buf_str(&path), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    if (!rb_file_lock(fd)) {
        const int why = errno;
        if (pread(fd, text, sizeof text - 1, 0) > 0)
            *out_pid = atoi(text);
        close(fd);
        errno = why;
        return -1;
    }
    const int n = snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (ftruncate(fd, 0) == 0)
        (void)!pwrite(fd, text, (size_t)n, 0);
    return fd;
}

static bool is_in_job(const struct rb_sink_list *sinks, int kind)
{
    for (int i = 0; i < sinks->n; i++)
        if ((int)sinks->items[i].kind == kind)
            return true;
    return false;
}

void rb_sinks_behind(const struct rb_run_files *f, int64_t n_events, bool at_work, struct rb_buf *out)
{
    for (int kind = 0; rb_sink_names[kind]; kind++) {
        struct rb_sink_cursor c;
        const bool known = rb_sink_cursor_read(f->dir, rb_sink_names[kind], &c);
        if (!known && !is_in_job(&f->plan.job->sinks, kind))
            continue;
        if (!c.error[0] && (at_work || c.events >= n_events))
            continue;
        rb_buf_printf(out, "%s: %" PRId64 " of %" PRId64 " events delivered%s%s%s; %s: rbrun export %s --to %s\n",
                      rb_sink_names[kind], c.events, n_events, c.error[0] ? " (" : "", c.error, c.error[0] ? ")" : "",
                      at_work ? "it is tried again" : "send the rest", f->run_id, rb_sink_names[kind]);
    }
}
