// Reads parsed documents strictly: typed values, known keys, errors with their place.
#include "base/document/doc.h"

#include "base/limits.h"
#include "base/text/number.h"
#include "base/text/units.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define N_ASKED (sizeof((struct rb_map *)0)->asked / sizeof((struct rb_map *)0)->asked[0])

// "job.yml" where there is a job.yaml.
static bool suggest_file(const char *path, struct rb_err *err)
{
    char near[512];
    if (err && err->number == RB_E_FILE_MISSING && rb_closest_file(path, near, sizeof near))
        return rb_err_set(err, RB_E_FILE_MISSING, "there is no %.200s; did you mean %s?", path, near);
    return false;
}

bool rb_doc_read(struct rb_doc *out, const char *path, struct rb_err *err)
{
    const bool is_json = rb_has_ending(path, ".json");
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    size_t n;
    if (!rb_read_file(path, is_json ? RB_LIMIT_PLAN_BYTES : RB_LIMIT_DOC_BYTES, &bytes, &n, err))
        return suggest_file(path, err);
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    const size_t mark =
        n >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; // byte order mark: Windows' editors write one
    return is_json ? rb_doc_parse_json(out, name, bytes + mark, n - mark, err)
                   : rb_doc_parse_yaml(out, name, bytes + mark, n - mark, err);
}

void rb_doc_finish(struct rb_doc *doc)
{
    rb_arena_finish(&doc->arena);
    *doc = (struct rb_doc){0};
}

struct rb_place rb_node_place(const struct rb_node *node)
{
    return (struct rb_place){node->doc->file, node->line, node->column};
}

char *rb_node_path(const struct rb_node *node, char *out, size_t size)
{
    const struct rb_node *ancestors[RB_LIMIT_DOC_DEPTH + 1];
    int n = 0;
    for (; node->parent; node = node->parent)
        ancestors[n++] = node;
    size_t len = 0;
    if (size > 0)
        out[0] = '\0';
    while (n > 0 && len < size) {
        const struct rb_node *a = ancestors[--n];
        const int put = a->key ? snprintf(out + len, size - len, "%s%s", len ? "." : "", a->key)
                               : snprintf(out + len, size - len, "[%d]", a->index);
        len += put > 0 ? (size_t)put : 0;
    }
    return out;
}

bool rb_node_refuse(const struct rb_node *node, struct rb_err *err, int number, const char *fmt, ...)
{
    char message[sizeof err->message], path[sizeof err->key];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    return rb_err_set_at(err, number, rb_node_place(node), rb_node_path(node, path, sizeof path), "%s", message);
}

const struct rb_node *rb_node_member(const struct rb_node *node, const char *key)
{
    const struct rb_node *n = node && node->kind == RB_NODE_MAP ? node->first : NULL;
    while (n && strcmp(n->key, key) != 0)
        n = n->next;
    return n;
}

const char *rb_node_member_text(const struct rb_node *node, const char *key)
{
    const struct rb_node *n = rb_node_member(node, key);
    return n && n->kind == RB_NODE_STRING ? n->text : "";
}

const struct rb_node *rb_node_first(const struct rb_node *list)
{
    return list && list->kind == RB_NODE_LIST ? list->first : NULL;
}

// Describes the node, for "got ...".
static const char *describe(const struct rb_node *node, char out[static 64])
{
    switch (node->kind) {
    case RB_NODE_NULL:
        return "nothing";
    case RB_NODE_LIST:
        return "a list";
    case RB_NODE_MAP:
        return "a map";
    case RB_NODE_STRING:
        snprintf(out, 64, "\"%.40s\"%s", node->text, node->text_len > 40 ? "..." : "");
        return out;
    default:
        snprintf(out, 64, "%.40s%s", node->text, node->text_len > 40 ? "..." : "");
        return out;
    }
}

// A number in a number's place is merely out of range.
static bool expected(const struct rb_node *node, bool is_number, const char *what, struct rb_err *err)
{
    if (!node)
        return rb_err_set(err, RB_E_TYPE_WRONG, "expected %s, got nothing", what);
    char got[64];
    return rb_node_refuse(node, err, is_number ? RB_E_OUT_OF_RANGE : RB_E_TYPE_WRONG, "expected %s, got %s", what,
                          describe(node, got));
}

bool rb_node_string(const struct rb_node *node, const char **out, struct rb_err *err)
{
    if (!node || node->kind == RB_NODE_NULL || node->kind == RB_NODE_LIST || node->kind == RB_NODE_MAP)
        return expected(node, false, "text", err);
    if (node->kind != RB_NODE_STRING)
        return expected(node, false, "text (in quotes where it looks like a number, true or false)", err);
    *out = node->text;
    return true;
}

bool rb_node_bool(const struct rb_node *node, bool *out, struct rb_err *err)
{
    if (!node || node->kind != RB_NODE_BOOL)
        return expected(node, false, "true or false", err);
    *out = node->boolean;
    return true;
}

bool rb_node_int(const struct rb_node *node, int64_t min, int64_t max, int64_t *out, struct rb_err *err)
{
    char range[RB_RANGE_BYTES];
    if (!node || node->kind != RB_NODE_INT || node->integer < min || node->integer > max)
        return expected(node, node && node->kind == RB_NODE_INT, rb_int_range(min, max, range), err);
    *out = node->integer;
    return true;
}

bool rb_node_double(const struct rb_node *node, double min, double max, double *out, struct rb_err *err)
{
    char range[RB_RANGE_BYTES];
    const bool is_number = node && (node->kind == RB_NODE_INT || node->kind == RB_NODE_FLOAT);
    if (!is_number || node->number < min || node->number > max)
        return expected(node, is_number, rb_double_range(min, max, range), err);
    *out = node->number;
    return true;
}

static bool is_scalar_value(const struct rb_node *node)
{
    return node && (node->kind == RB_NODE_INT || node->kind == RB_NODE_FLOAT || node->kind == RB_NODE_STRING);
}

bool rb_node_duration(const struct rb_node *node, int64_t *out_us, struct rb_err *err)
{
    if (!is_scalar_value(node))
        return expected(node, false, "a duration such as \"2h\" or \"90s\"", err);
    struct rb_err why;
    return rb_parse_duration(node->text, out_us, &why) ||
           rb_node_refuse(node, err, rb_err_number(&why), "%s", why.message);
}

bool rb_node_money(const struct rb_node *node, int64_t *out_uusd, struct rb_err *err)
{
    if (!is_scalar_value(node))
        return expected(node, false, "an amount in dollars such as 18.40", err);
    struct rb_err why;
    return rb_parse_money(node->text, out_uusd, &why) ||
           rb_node_refuse(node, err, rb_err_number(&why), "%s", why.message);
}

bool rb_node_list(const struct rb_node *node, struct rb_err *err)
{
    return (node && node->kind == RB_NODE_LIST) || expected(node, false, "a list", err);
}

bool rb_node_list_of(const struct rb_node *node, int most, const char *what, struct rb_err *err)
{
    return rb_node_list(node, err) &&
           (node->n_children <= most || rb_node_refuse(node, err, RB_E_LIST_LENGTH, "expected at most %d %s, got %d", most,
                                                       what, node->n_children));
}

bool rb_node_choice(const struct rb_node *node, const char *const *names, int n, int *out, struct rb_err *err)
{
    for (int i = 0; node && node->kind == RB_NODE_STRING && i < n; i++) {
        if (strcmp(node->text, names[i]) == 0) {
            *out = i;
            return true;
        }
    }
    char what[400] = "";
    size_t len = 0;
    for (int i = 0; i < n && len < sizeof what; i++) {
        const char *before = i == 0 ? "" : i == n - 1 ? " or " : ", ";
        const int put = snprintf(what + len, sizeof what - len, "%s%s", before, names[i]);
        len += put > 0 ? (size_t)put : 0;
    }
    if (!is_scalar_value(node))
        return expected(node, false, what, err);
    char got[64];
    const char *close = rb_closest(node->text, names, n);
    return rb_node_refuse(node, err, RB_E_CHOICE, "expected %s, got %s%s%s%s", what, describe(node, got),
                          close ? "; did you mean \"" : "", close ? close : "", close ? "\"?" : "");
}

bool rb_map_begin(struct rb_map *m, const struct rb_node *node, struct rb_err *err)
{
    if (!node || node->kind != RB_NODE_MAP)
        return expected(node, false, "a map (lines of key: value)", err);
    *m = (struct rb_map){.node = node};
    return true;
}

static bool was_asked(const struct rb_map *m, const char *key)
{
    for (int i = 0; i < m->n_asked; i++)
        if (strcmp(m->asked[i], key) == 0)
            return true;
    return false;
}

const struct rb_node *rb_map_get(struct rb_map *m, const char *key)
{
    if (!was_asked(m, key)) {
        assert((size_t)m->n_asked < N_ASKED);
        m->asked[m->n_asked++] = key;
    }
    for (const struct rb_node *child = m->node->first; child; child = child->next)
        if (strcmp(child->key, key) == 0)
            return child;
    return NULL;
}

bool rb_map_need(struct rb_map *m, const char *key, const struct rb_node **out, struct rb_err *err)
{
    const struct rb_node *child = rb_map_get(m, key);
    if (child) {
        *out = child;
        return true;
    }
    char path[sizeof err->key], full[sizeof path + 64];
    rb_node_path(m->node, path, sizeof path);
    snprintf(full, sizeof full, "%s%s%s", path, path[0] ? "." : "", key);
    return rb_err_set_at(err, RB_E_KEY_MISSING, rb_node_place(m->node), full, "this key is required and missing");
}

bool rb_map_need_int(struct rb_map *m, const char *key, int64_t min, int64_t max, int64_t *out, struct rb_err *err)
{
    const struct rb_node *node;
    return rb_map_need(m, key, &node, err) && rb_node_int(node, min, max, out, err);
}

bool rb_map_need_count(struct rb_map *m, const char *key, int min, int max, int *out, struct rb_err *err)
{
    int64_t value;
    if (!rb_map_need_int(m, key, min, max, &value, err))
        return false;
    *out = (int)value;
    return true;
}

bool rb_map_need_double(struct rb_map *m, const char *key, double min, double max, double *out, struct rb_err *err)
{
    const struct rb_node *node;
    return rb_map_need(m, key, &node, err) && rb_node_double(node, min, max, out, err);
}

bool rb_map_need_list(struct rb_map *m, const char *key, const struct rb_node **out, struct rb_err *err)
{
    return rb_map_need(m, key, out, err) && rb_node_list(*out, err);
}

bool rb_map_need_choice(struct rb_map *m, const char *key, const char *const *names, int n, int *out,
                        struct rb_err *err)
{
    const struct rb_node *node;
    return rb_map_need(m, key, &node, err) && rb_node_choice(node, names, n, out, err);
}

bool rb_map_end(struct rb_map *m, struct rb_err *err)
{
    const struct rb_node *child = m->node->first;
    while (child && was_asked(m, child->key))
        child = child->next;
    return !child || rb_node_refuse_key(child, m->asked, m->n_asked, err);
}

bool rb_node_refuse_key(const struct rb_node *child, const char *const *keys, int n, struct rb_err *err)
{
    char path[sizeof err->key];
    const struct rb_place place = {child->doc->file, child->key_line, child->key_column};
    const char *close = rb_closest(child->key, keys, n);
    rb_node_path(child, path, sizeof path);
    if (close)
        return rb_err_set_at(err, RB_E_KEY_UNKNOWN, place, path, "unknown key; did you mean \"%s\"?", close);
    return rb_err_set_at(err, RB_E_KEY_UNKNOWN, place, path, "unknown key; remove it or correct its name");
}
