// PATCH of labels and annotations, as `kubectl label`, `annotate` and `patch` send it: merge patches (RFC 7396), strategic
// merge patches, which mean the same for such maps, and JSON patches (RFC 6902). Other members are refused.
// Source: "API Concepts", patch and apply, in the Kubernetes documentation.
#include "providers/mock/k8s/k8s_call.h"

#include <string.h>

enum { MAX_ENTRIES = 256 };

// The maps as they become: texts live in the call's arena.
struct maps {
    struct map {
        const char *name; // member of metadata
        int n;
        struct { const char *key, *value; } entries[MAX_ENTRIES];
    } list[2];
};

static int find(const struct map *m, const char *key)
{
    int at = 0;
    while (at < m->n && strcmp(m->entries[at].key, key) != 0)
        at++;
    return at;
}

// value NULL: takes it out.
static bool set(struct rb_k8s_call *call, struct map *m, const char *key, const char *value)
{
    const int at = find(m, key);
    if (value && at == MAX_ENTRIES)
        return rb_k8s_refuse(call, 422, "Invalid", "metadata.%s: more than %d entries", m->name, MAX_ENTRIES);
    if (value) {
        m->entries[at].key = rb_arena_strdup(call->arena, key);
        m->entries[at].value = rb_arena_strdup(call->arena, value);
        m->n += at == m->n;
    } else if (at < m->n) {
        m->entries[at] = m->entries[--m->n];
    }
    return true;
}

static void fill(struct rb_k8s_call *call, struct map *m, const char *name, const struct rb_node *present)
{
    m->name = name;
    for (const struct rb_node *c = present ? present->first : NULL; c; c = c->next)
        set(call, m, c->key, c->text);
}

static struct map *map_called(struct maps *maps, const char *name, size_t n)
{
    for (int i = 0; i < 2; i++)
        if (strlen(maps->list[i].name) == n && strncmp(maps->list[i].name, name, n) == 0)
            return &maps->list[i];
    return NULL;
}

static bool other_member(struct rb_k8s_call *call, const char *path)
{
    return rb_k8s_refuse(call, 422, "Invalid", "this mock cloud patches labels and annotations alone, not %.200s", path);
}

// --- merging

static bool merge_map(struct rb_k8s_call *call, struct map *m, const struct rb_node *patch)
{
    if (patch->kind == RB_NODE_NULL)
        m->n = 0;
    else if (patch->kind != RB_NODE_MAP)
        return rb_k8s_refuse(call, 400, "BadRequest", "metadata.%s: expected a map", m->name);
    for (const struct rb_node *c = patch->first; c; c = c->next) {
        if (c->kind != RB_NODE_STRING && c->kind != RB_NODE_NULL)
            return rb_k8s_refuse(call, 400, "BadRequest", "metadata.%s.%.100s: expected a string", m->name, c->key);
        if (!set(call, m, c->key, c->kind == RB_NODE_STRING ? c->text : NULL))
            return false;
    }
    return true;
}

static bool merge(struct rb_k8s_call *call, struct maps *maps)
{
    char path[160];
    if (!call->body || call->body->kind != RB_NODE_MAP)
        return rb_k8s_refuse(call, 400, "BadRequest", "error decoding patch: expected an object");
    const struct rb_node *meta = rb_node_member(call->body, "metadata");
    for (const struct rb_node *c = call->body->first; c; c = c->next)
        if (strcmp(c->key, "metadata") != 0 && strcmp(c->key, "apiVersion") != 0 && strcmp(c->key, "kind") != 0)
            return other_member(call, rb_node_path(c, path, sizeof path));
    for (const struct rb_node *c = meta ? meta->first : NULL; c; c = c->next) {
        struct map *m = map_called(maps, c->key, strlen(c->key));
        if (!m)
            return other_member(call, rb_node_path(c, path, sizeof path));
        if (!merge_map(call, m, c))
            return false;
    }
    return true;
}

// --- operations

// "~1" is a slash, "~0" a tilde.
static const char *unescape(struct rb_k8s_call *call, const char *text)
{
    char *out = rb_arena_strdup(call->arena, text), *to = out;
    for (const char *c = text; *c; c++) {
        const bool is_escape = c[0] == '~' && (c[1] == '0' || c[1] == '1');
        *to++ = !is_escape ? *c : c[1] == '1' ? '/' : '~';
        c += is_escape;
    }
    *to = '\0';
    return out;
}

static bool operate_on(struct rb_k8s_call *call, struct map *m, const char *key, const char *op, const char *value)
{
    const int at = find(m, key);
    const bool adds = strcmp(op, "add") == 0, tests = strcmp(op, "test") == 0, removes = strcmp(op, "remove") == 0;
    if (!removes && !value)
        return rb_k8s_refuse(call, 400, "BadRequest", "metadata.%s.%.100s: expected a string", m->name, key);
    if (!adds && at == m->n)
        return rb_k8s_refuse(call, 422, "Invalid", "the server rejected our request due to an error in our request");
    if (tests)
        return strcmp(m->entries[at].value, value) == 0 ||
               rb_k8s_refuse(call, 422, "Invalid", "testing value /metadata/%s/%.100s failed: test failed", m->name, key);
    return set(call, m, key, removes ? NULL : value);
}

static bool operate(struct rb_k8s_call *call, struct maps *maps)
{
    static const char *const known[] = {"add", "replace", "remove", "test"}, parent[] = "/metadata/";
    if (!call->body || call->body->kind != RB_NODE_LIST)
        return rb_k8s_refuse(call, 400, "BadRequest", "error decoding patch: expected a list of operations");
    for (const struct rb_node *c = call->body->first; c; c = c->next) {
        const char *op = rb_node_member_text(c, "op"), *path = rb_node_member_text(c, "path");
        const char *name = strncmp(path, parent, sizeof parent - 1) == 0 ? path + sizeof parent - 1 : "";
        const size_t n = strcspn(name, "/");
        struct map *m = map_called(maps, name, n);
        const struct rb_node *value = rb_node_member(c, "value");
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(known[k], op) != 0)
            k++;
        if (k == sizeof known / sizeof *known)
            return rb_k8s_refuse(call, 400, "BadRequest", "Unexpected kind: %.60s", op);
        if (!m || (!name[n] && (strcmp(op, "add") != 0 || !value || value->kind != RB_NODE_MAP)))
            return other_member(call, path);
        if (!name[n])
            m->n = 0; // the whole map
        if (name[n] ? !operate_on(call, m, unescape(call, name + n + 1), op, rb_k8s_text(c, "value"))
                    : !merge_map(call, m, value))
            return false;
    }
    return true;
}

// --- the whole

static bool apply(struct rb_k8s_call *call, struct maps *maps)
{
    static const struct { const char *type; bool (*apply)(struct rb_k8s_call *, struct maps *); } kinds[] = {
        {"application/merge-patch+json", merge},
        {"application/strategic-merge-patch+json", merge},
        {"application/json-patch+json", operate},
    };
    const char *type = rb_exchange_header(call->request, "Content-Type");
    for (size_t i = 0; type && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(type, kinds[i].type) == 0)
            return kinds[i].apply(call, maps);
    return rb_k8s_refuse(call, 415, "UnsupportedMediaType",
                         "the body of the request was in an unknown format - accepted media types include: "
                         "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json");
}

bool rb_k8s_patch(struct rb_k8s_call *call, const char *kind, const struct rb_node *labels,
                  const struct rb_node *annotations, struct rb_doc *out, bool *out_dry_run)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    struct maps *maps = rb_arena_alloc(call->arena, sizeof *maps);
    fill(call, &maps->list[0], "labels", labels);
    fill(call, &maps->list[1], "annotations", annotations);
    rb_k8s_query(call, "fieldValidation");
    rb_k8s_query(call, "force");
    if (!rb_k8s_read_dry_run(call, out_dry_run) || !rb_k8s_checked(call) || !apply(call, maps))
        return false;
    rb_json_init(&j, &text, false);
    rb_json_put(&j, "{name: %s", call->name);
    for (int i = 0; i < 2; i++) {
        rb_json_kobject(&j, maps->list[i].name);
        for (int k = 0; k < maps->list[i].n; k++)
            rb_json_kstring(&j, maps->list[i].entries[k].key, maps->list[i].entries[k].value);
        rb_json_end_object(&j);
    }
    rb_json_put(&j, "}");
    return rb_doc_parse_json(out, "object", text.data, text.len, NULL) && rb_k8s_check_meta(call, out->root, kind);
}
