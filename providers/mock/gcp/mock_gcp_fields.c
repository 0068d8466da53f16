// The selection is a tree of names; a name that ends its path selects all there is below it. Lists are looked through.
#include "providers/mock/gcp/mock_gcp_fields.h"
#include "base/document/doc.h"
#include "base/document/json.h"

#include <assert.h>
#include <string.h>

#define MAX_DEPTH 16

struct rb_mock_gcp_fields {
    const char *name; // NULL: the root
    bool whole;       // all there is below it
    struct rb_mock_gcp_fields *first, *next;
};

struct reader {
    const char *at;
    struct rb_arena *arena;
    int depth;
};

static bool read_names(struct reader *r, struct rb_mock_gcp_fields *parent);

static struct rb_mock_gcp_fields *child_of(struct reader *r, struct rb_mock_gcp_fields *parent, const char *name,
                                           size_t n)
{
    for (struct rb_mock_gcp_fields *f = parent->first; f; f = f->next)
        if (strlen(f->name) == n && strncmp(f->name, name, n) == 0)
            return f;
    struct rb_mock_gcp_fields *child = rb_arena_alloc(r->arena, sizeof *child);
    child->name = rb_arena_strndup(r->arena, name, n);
    child->next = parent->first;
    parent->first = child;
    return child;
}

// NAME, NAME/PATH or NAME(NAMES)
static bool read_path(struct reader *r, struct rb_mock_gcp_fields *parent)
{
    size_t n = strcspn(r->at, ",/()");
    if (n == 0 || ++r->depth > MAX_DEPTH)
        return false;
    struct rb_mock_gcp_fields *child = child_of(r, parent, r->at, n);
    bool ok = true;
    r->at += n;
    child->whole |= *r->at != '/' && *r->at != '(';
    if (*r->at == '/') {
        r->at++;
        ok = read_path(r, child);
    } else if (*r->at == '(') {
        r->at++;
        ok = read_names(r, child) && *r->at == ')';
        r->at += ok;
    }
    r->depth--;
    return ok;
}

static bool read_names(struct reader *r, struct rb_mock_gcp_fields *parent)
{
    while (read_path(r, parent)) {
        if (*r->at != ',')
            return true;
        r->at++;
    }
    return false;
}

bool rb_mock_gcp_fields_parse(const char *text, struct rb_arena *arena, struct rb_mock_gcp_fields **out,
                              const char **out_bad)
{
    struct reader r = {.at = text, .arena = arena};
    struct rb_mock_gcp_fields *root = rb_arena_alloc(arena, sizeof *root);
    if (!read_names(&r, root) || *r.at) {
        *out_bad = r.at;
        return false;
    }
    *out = root;
    return true;
}

// --- selecting ---

static const struct rb_mock_gcp_fields *selected(const struct rb_mock_gcp_fields *parent, const char *name)
{
    for (const struct rb_mock_gcp_fields *f = parent->first; f; f = f->next)
        if (strcmp(f->name, "*") == 0 || strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static void write_selected(struct rb_json *j, const struct rb_node *node, const struct rb_mock_gcp_fields *fields)
{
    if (fields->whole || (node->kind != RB_NODE_MAP && node->kind != RB_NODE_LIST)) {
        rb_json_node(j, node);
        return;
    }
    if (node->kind == RB_NODE_LIST) {
        rb_json_begin_array(j);
        for (const struct rb_node *child = node->first; child; child = child->next)
            write_selected(j, child, fields);
        rb_json_end_array(j);
        return;
    }
    rb_json_begin_object(j);
    for (const struct rb_node *child = node->first; child; child = child->next) {
        const struct rb_mock_gcp_fields *f = selected(fields, child->key);
        if (f) {
            rb_json_key(j, child->key);
            write_selected(j, child, f);
        }
    }
    rb_json_end_object(j);
}

void rb_mock_gcp_fields_select(const struct rb_mock_gcp_fields *fields, struct rb_buf *json)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_json j;
    bool ours = rb_doc_parse_json(&doc, "answer", rb_buf_str(json), json->len, NULL);
    assert(ours); // we have just written it
    (void)ours;
    rb_json_init(&j, &out, true);
    write_selected(&j, doc.root, fields);
    rb_buf_putc(&out, '\n');
    rb_buf_clear(json);
    rb_buf_append(json, out.data, out.len);
}
