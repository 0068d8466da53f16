#include "executor/approval/approval.h"

#include "base/document/doc.h"
#include "base/document/json.h"
#include "base/limits.h"
#include "base/text/units.h"
#include "providers/wire/digest.h"

#include <stdio.h>
#include <string.h>

#define FORMAT "rb-approval/1"
#define DOMAIN "rubberband-approval-v1\n"

static const char *const kinds[] = {"hmac-sha256", "ed25519-ssh"};

// --- reading

// A member of one line without control characters.
static bool read_text(struct rb_map *m, const char *key, char *out, size_t size, struct rb_err *err)
{
    const struct rb_node *node;
    const char *text;
    if (!rb_map_need(m, key, &node, err) || !rb_node_string(node, &text, err))
        return false;
    const size_t n = strlen(text);
    if (n == 0 || n >= size)
        return rb_node_refuse(node, err, RB_E_TEXT_FORM, "expected 1 to %zu characters, got %zu", size - 1, n);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return rb_node_refuse(node, err, RB_E_TEXT_FORM, "expected one line without control characters");
    memcpy(out, text, n + 1);
    return true;
}

static bool read_hex(struct rb_map *m, const char *key, char *out, size_t digits, struct rb_err *err)
{
    char text[65];
    if (!read_text(m, key, text, sizeof text, err))
        return false;
    if (strlen(text) != digits || strspn(text, "0123456789abcdef") != digits)
        return rb_node_refuse(rb_node_member(m->node, key), err, RB_E_TEXT_FORM,
                              "expected %zu hexadecimal digits in lower case", digits);
    memcpy(out, text, digits + 1);
    return true;
}

static bool read_instant(struct rb_map *m, const char *key, int64_t *out_us, struct rb_err *err)
{
    char text[64];
    struct rb_err why;
    if (!read_text(m, key, text, sizeof text, err))
        return false;
    if (!rb_parse_instant(text, out_us, &why))
        return rb_node_refuse(rb_node_member(m->node, key), err, rb_err_number(&why), "%s", why.message);
    return *out_us % RB_US_PER_S == 0 || rb_node_refuse(rb_node_member(m->node, key), err, RB_E_TEXT_FORM,
                                                        "expected an instant of whole seconds, got \"%s\"", text);
}

static bool read_infra(struct rb_map *m, struct rb_approval *a, struct rb_err *err)
{
    const struct rb_node *list;
    if (!rb_map_need_list(m, "infra", &list, err))
        return false;
    if (list->n_children < 1 || list->n_children > RB_APPROVAL_INFRAS)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected 1 to %d places", RB_APPROVAL_INFRAS);
    for (const struct rb_node *child = list->first; child; child = child->next) {
        const char *text;
        if (!rb_node_string(child, &text, err))
            return false;
        if (strlen(text) >= sizeof a->infra[0])
            return rb_node_refuse(child, err, RB_E_TEXT_FORM, "expected at most %zu characters",
                                  sizeof a->infra[0] - 1);
        strcpy(a->infra[a->n_infra++], text);
    }
    return true;
}

static bool read_signature(struct rb_map *m, struct rb_approval *a, struct rb_err *err)
{
    struct rb_map s;
    const struct rb_node *node, *value;
    const char *text;
    int kind;
    if (!rb_map_need(m, "signature", &node, err) || !rb_map_begin(&s, node, err) ||
        !rb_map_need_choice(&s, "kind", kinds, 2, &kind, err) || !rb_map_need(&s, "value", &value, err) ||
        !rb_node_string(value, &text, err) || !rb_map_end(&s, err))
        return false;
    if (strlen(text) >= sizeof a->signature)
        return rb_node_refuse(value, err, RB_E_TEXT_FORM, "expected at most %zu characters", sizeof a->signature - 1);
    a->kind = (enum rb_approval_kind)kind;
    strcpy(a->signature, text);
    return true;
}

static bool read_format(struct rb_map *m, struct rb_err *err)
{
    const struct rb_node *node;
    const char *format;
    if (!rb_map_need(m, "format", &node, err) || !rb_node_string(node, &format, err))
        return false;
    return strcmp(format, FORMAT) == 0 ||
           rb_node_refuse(node, err, RB_E_FORMAT_WRONG, "expected an approval (%s), got \"%.60s\"", FORMAT, format);
}

static bool read_root(const struct rb_node *root, struct rb_approval *a, struct rb_err *err)
{
    struct rb_map m;
    return rb_map_begin(&m, root, err) && read_format(&m, err) &&
           read_hex(&m, "plan_sha256", a->plan_sha256, 64, err) && read_hex(&m, "job_sha256", a->job_sha256, 64, err) &&
           read_hex(&m, "workdir_sha256", a->workdir_sha256, 64, err) &&
           rb_map_need_int(&m, "max_cost_uusd", 0, RB_LIMIT_NODE_UUSD, &a->max_cost_uusd, err) &&
           read_infra(&m, a, err) && read_text(&m, "controller", a->controller, sizeof a->controller, err) &&
           read_instant(&m, "not_before", &a->not_before_us, err) &&
           read_instant(&m, "not_after", &a->not_after_us, err) &&
           read_hex(&m, "nonce", a->nonce, RB_APPROVAL_NONCE, err) && read_text(&m, "by", a->by, sizeof a->by, err) &&
           read_signature(&m, a, err) && rb_map_end(&m, err);
}

bool rb_approval_parse(const char *name, const char *bytes, size_t n, struct rb_approval *out, struct rb_err *err)
{
    struct rb_doc doc;
    struct rb_approval a = {0};
    if (!rb_doc_parse_json(&doc, name, bytes, n, err))
        return false;
    const bool ok = read_root(doc.root, &a, err);
    rb_doc_finish(&doc);
    if (ok)
        *out = a;
    return ok;
}

bool rb_approval_read(const char *path, struct rb_approval *out, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    size_t n;
    return rb_read_file(path, RB_APPROVAL_BYTES, &bytes, &n, err) && rb_approval_parse(path, bytes, n, out, err);
}

// --- writing

static void write_members(const struct rb_approval *a, struct rb_json *j)
{
    char instant[32];
    rb_json_put(j, "format: %s plan_sha256: %s job_sha256: %s workdir_sha256: %s max_cost_uusd: %jd infra: [", FORMAT,
                a->plan_sha256, a->job_sha256, a->workdir_sha256, a->max_cost_uusd);
    for (int i = 0; i < a->n_infra; i++)
        rb_json_string(j, a->infra[i]);
    rb_json_put(j, "] controller: %s not_before: %s", a->controller, rb_format_instant(a->not_before_us, instant));
    rb_json_put(j, "not_after: %s nonce: %s by: %s", rb_format_instant(a->not_after_us, instant), a->nonce, a->by);
}

void rb_approval_signed_bytes(const struct rb_approval *a, struct rb_buf *out)
{
    rb_buf_puts(out, DOMAIN);
    struct rb_json j = {.out = out};
    rb_json_begin_object(&j);
    write_members(a, &j);
    rb_json_end_object(&j);
}

void rb_approval_write(const struct rb_approval *a, struct rb_buf *out)
{
    struct rb_json j = {.out = out, .pretty = true};
    rb_json_begin_object(&j);
    write_members(a, &j);
    rb_json_put(&j, "signature: {kind: %s value: %s}}", kinds[a->kind], a->signature);
    rb_buf_putc(out, '\n');
}

void rb_approval_make_nonce(char out[static RB_APPROVAL_NONCE + 1])
{
    uint8_t bytes[RB_APPROVAL_NONCE / 2];
    rb_random_bytes(bytes, sizeof bytes);
    rb_digest_hex(bytes, sizeof bytes, out);
}
