// This file does not know the meaning of keys; it handles absent, null, out of range and misspelt ones.
#include "profiles/job/keys.h"

#include "base/limits.h"
#include "base/text/units.h"

bool rb_keys_begin(struct rb_map *m, const struct rb_node *node, const char *const *keys, struct rb_err *err)
{
    struct rb_map known;
    if (!rb_map_begin(&known, node, err))
        return false;
    for (; *keys; keys++)
        rb_map_get(&known, *keys);
    return rb_map_end(&known, err) && rb_map_begin(m, node, err);
}

const struct rb_node *rb_keys_given(struct rb_map *m, const char *key)
{
    const struct rb_node *node = rb_map_get(m, key);
    return node && node->kind != RB_NODE_NULL ? node : NULL;
}

bool rb_node_text(const struct rb_node *node, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    const char *text;
    if (!rb_node_string(node, &text, err))
        return false;
    if (!*text)
        return rb_node_refuse(node, err, RB_E_TEXT_FORM, "expected text, got \"\"");
    *out = rb_arena_strdup(arena, text);
    return true;
}

bool rb_keys_need_text(struct rb_map *m, const char *key, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    const struct rb_node *node;
    return rb_map_need(m, key, &node, err) && rb_node_text(node, arena, out, err);
}

bool rb_keys_text(struct rb_map *m, const char *key, const char *fallback, struct rb_arena *arena, const char **out,
                  struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, key);
    if (node)
        return rb_node_text(node, arena, out, err);
    *out = fallback;
    return true;
}

bool rb_keys_int(struct rb_map *m, const char *key, int64_t min, int64_t max, int64_t fallback, int64_t *out,
                 struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, key);
    if (node)
        return rb_node_int(node, min, max, out, err);
    *out = fallback;
    return true;
}

bool rb_keys_count(struct rb_map *m, const char *key, int min, int max, int fallback, int *out, struct rb_err *err)
{
    int64_t v;
    if (!rb_keys_int(m, key, min, max, fallback, &v, err))
        return false;
    *out = (int)v;
    return true;
}

bool rb_keys_double(struct rb_map *m, const char *key, double min, double max, double fallback, double *out,
                    struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, key);
    if (node)
        return rb_node_double(node, min, max, out, err);
    *out = fallback;
    return true;
}

bool rb_keys_choice(struct rb_map *m, const char *key, const char *const *names, int n, int fallback, int *out,
                    struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, key);
    if (node)
        return rb_node_choice(node, names, n, out, err);
    *out = fallback;
    return true;
}

bool rb_keys_duration(struct rb_map *m, const char *key, int64_t fallback_us, int64_t *out_us, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, key);
    int64_t us = fallback_us;
    if (node && !rb_node_duration(node, &us, err))
        return false;
    if (node && us <= 0)
        return rb_node_refuse(node, err, RB_E_OUT_OF_RANGE, "expected a duration above 0, got %s", node->text);
    if (node && us > RB_LIMIT_DURATION_S * RB_US_PER_S)
        return rb_node_refuse(node, err, RB_E_OUT_OF_RANGE, "expected a duration of at most 366d, got %s", node->text);
    *out_us = us;
    return true;
}

bool rb_keys_size(struct rb_map *m, const char *key, int64_t fallback_bytes, int64_t *out_bytes, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, key);
    if (!node) {
        *out_bytes = fallback_bytes;
        return true;
    }
    const char *text;
    int64_t bytes;
    struct rb_err why;
    if (node->kind == RB_NODE_INT || node->kind == RB_NODE_FLOAT)
        return rb_node_refuse(node, err, RB_E_SIZE, "the size %s has no unit; write for example \"%sGB\"", node->text,
                              node->text);
    if (!rb_node_string(node, &text, err))
        return false;
    if (!rb_parse_size(text, &bytes, &why))
        return rb_node_refuse(node, err, rb_err_number(&why), "%s", why.message);
    if (bytes == 0)
        return rb_node_refuse(node, err, RB_E_OUT_OF_RANGE,
                              "expected a size above 0; leave the key out where there is none");
    *out_bytes = bytes;
    return true;
}

bool rb_keys_money(struct rb_map *m, const char *key, int64_t fallback_uusd, int64_t *out_uusd, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, key);
    if (node)
        return rb_node_money(node, out_uusd, err);
    *out_uusd = fallback_uusd;
    return true;
}

int rb_names_count(const char *const *names)
{
    int n = 0;
    while (names[n])
        n++;
    return n;
}
