// The record of a machine: JSON, read again by this program only.
#include "executor/away/machine.h"

#include "base/document/doc.h"
#include "base/document/json.h"
#include "base/file.h"

#include <stdio.h>
#include <unistd.h>

static void path_in(const char *dir, struct rb_buf *out)
{
    rb_buf_printf(out, "%s/" RB_MACHINE_FILE, dir);
}

static const char *known(const char *text)
{
    return text[0] ? text : NULL;
}

bool rb_machine_write(const char *dir, const struct rb_machine *m, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, text = RB_BUF_INIT;
    struct rb_json j = {.out = &text};
    path_in(dir, &path);
    rb_json_put(&j, "{infra: %s instance_type: %s image: %s|null user: %s port: %d uusd_per_hour: %jd", m->infra,
                m->instance_type, known(m->image), m->user, m->port, m->uusd_per_hour);
    rb_json_put(&j, "asked_at_us: %jd lifetime_s: %jd host_key: %s shared_dir: %s|null context: %s|null namespace: %s|null instance_id: %s|null "
                   "address: %s|null",
                m->asked_unix_us, m->lifetime_s, m->host_key, known(m->shared_dir), known(m->context), known(m->namespace), known(m->instance_id), known(m->address));
    rb_json_put(&j, "running_at_us: %jd|null}", m->running_unix_us);
    rb_buf_putc(&text, '\n');
    return rb_write_file(rb_buf_str(&path), rb_buf_str(&text), text.len, err);
}

static void take_text(const struct rb_node *from, const char *key, char *out, size_t size)
{
    snprintf(out, size, "%s", rb_node_member_text(from, key));
}

static bool take_number(const struct rb_node *from, const char *key, int64_t *out, struct rb_err *err)
{
    return rb_node_int(rb_node_member(from, key), 0, INT64_MAX, out, err);
}

static bool take(const struct rb_node *from, struct rb_machine *m, struct rb_err *err)
{
    int64_t port = 0;
    const struct rb_node *running = rb_node_member(from, "running_at_us");
    take_text(from, "infra", m->infra, sizeof m->infra);
    take_text(from, "instance_type", m->instance_type, sizeof m->instance_type);
    take_text(from, "image", m->image, sizeof m->image);
    take_text(from, "user", m->user, sizeof m->user);
    take_text(from, "host_key", m->host_key, sizeof m->host_key);
    take_text(from, "shared_dir", m->shared_dir, sizeof m->shared_dir);
    take_text(from, "context", m->context, sizeof m->context);
    take_text(from, "namespace", m->namespace, sizeof m->namespace);
    take_text(from, "instance_id", m->instance_id, sizeof m->instance_id);
    take_text(from, "address", m->address, sizeof m->address);
    if (!take_number(from, "port", &port, err) || !take_number(from, "uusd_per_hour", &m->uusd_per_hour, err) ||
        !take_number(from, "asked_at_us", &m->asked_unix_us, err) ||
        !take_number(from, "lifetime_s", &m->lifetime_s, err) ||
        (running && running->kind != RB_NODE_NULL && !take_number(from, "running_at_us", &m->running_unix_us, err)))
        return false;
    m->port = (int)port;
    return true;
}

bool rb_machine_read(const char *dir, struct rb_machine *out, bool *out_is, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    struct rb_machine m = {.running_unix_us = -1};
    size_t n;
    path_in(dir, &path);
    *out_is = access(rb_buf_str(&path), F_OK) == 0;
    if (!*out_is)
        return true;
    if (!rb_read_file(rb_buf_str(&path), 1 << 16, &bytes, &n, err) ||
        !rb_doc_parse_json(&doc, rb_buf_str(&path), bytes, n, err) || !take(doc.root, &m, err))
        return false;
    *out = m;
    return true;
}
