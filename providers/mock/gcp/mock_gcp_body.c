// base/doc's readers, with Google's refusals.
#include "providers/mock/gcp/mock_gcp_body.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LIST 64

// Turns an error of base/doc about a node into Google's sentence.
bool rb_gcp_refuse_node(struct rb_mock_gcp_call *call, const struct rb_err *err)
{
    return rb_gcp_refuse(call, 400, "invalid", "Invalid value for field 'resource.%s': %s", err->key, err->message);
}

bool rb_gcp_refuse_field(struct rb_mock_gcp_call *call, const struct rb_node *node, const char *why)
{
    struct rb_err err = {0};
    rb_node_refuse(node, &err, RB_E_REFUSED, "%s", why);
    return rb_gcp_refuse_node(call, &err);
}

bool rb_gcp_map_begin(struct rb_mock_gcp_call *call, struct rb_map *m, const struct rb_node *node)
{
    struct rb_err err = {0};
    return rb_map_begin(m, node, &err) || rb_gcp_refuse_node(call, &err);
}

bool rb_gcp_map_end(struct rb_mock_gcp_call *call, struct rb_map *m)
{
    struct rb_err err = {0};
    return rb_map_end(m, &err) || rb_gcp_refuse_node(call, &err);
}

bool rb_gcp_get_text(struct rb_mock_gcp_call *call, struct rb_map *m, const char *key, const char **out)
{
    struct rb_err err = {0};
    const struct rb_node *node = rb_map_get(m, key);
    return !node || rb_node_string(node, out, &err) || rb_gcp_refuse_node(call, &err);
}

bool rb_gcp_need_text(struct rb_mock_gcp_call *call, struct rb_map *m, const char *key, const char **out)
{
    struct rb_err err = {0};
    const struct rb_node *node;
    return (rb_map_need(m, key, &node, &err) && rb_node_string(node, out, &err)) || rb_gcp_refuse_node(call, &err);
}

bool rb_gcp_get_bool(struct rb_mock_gcp_call *call, struct rb_map *m, const char *key, bool *out)
{
    struct rb_err err = {0};
    const struct rb_node *node = rb_map_get(m, key);
    return !node || rb_node_bool(node, out, &err) || rb_gcp_refuse_node(call, &err);
}

bool rb_gcp_get_int(struct rb_mock_gcp_call *call, struct rb_map *m, const char *key, int64_t min, int64_t max,
                    int64_t *out)
{
    struct rb_err err = {0};
    const struct rb_node *node = rb_map_get(m, key);
    char *stop;
    if (!node)
        return true;
    if (node->kind != RB_NODE_STRING)
        return rb_node_int(node, min, max, out, &err) || rb_gcp_refuse_node(call, &err);
    long long value = strtoll(node->text, &stop, 10);
    if (!*node->text || *stop || strlen(node->text) > 18 || value < min || value > max)
        return rb_gcp_refuse_field(
            call, node, rb_arena_printf(call->arena, "expected %lld to %lld", (long long)min, (long long)max));
    *out = value;
    return true;
}

bool rb_gcp_get_choice(struct rb_mock_gcp_call *call, struct rb_map *m, const char *key, const char *const *names,
                       int n, const char **out)
{
    struct rb_err err = {0};
    const struct rb_node *node = rb_map_get(m, key);
    int which;
    if (!node)
        return true;
    if (!rb_node_choice(node, names, n, &which, &err))
        return rb_gcp_refuse_node(call, &err);
    *out = names[which];
    return true;
}

bool rb_gcp_get_empty(struct rb_mock_gcp_call *call, struct rb_map *m, const char *key)
{
    const struct rb_node *node = rb_map_get(m, key);
    return !node || (node->kind == RB_NODE_MAP && node->n_children == 0) ||
           rb_gcp_refuse_field(call, node, "this mock cloud has nothing of the kind; leave it out");
}

bool rb_gcp_is_list(struct rb_mock_gcp_call *call, const struct rb_node *node)
{
    struct rb_err err = {0};
    return (rb_node_list(node, &err) || rb_gcp_refuse_node(call, &err)) &&
           (node->n_children <= MAX_LIST || rb_gcp_refuse_field(call, node, "too many elements"));
}
