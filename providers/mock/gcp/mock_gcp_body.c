// base/doc's readers, with Google's refusals.
#include "providers/mock/gcp/mock_gcp_body.h"

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

bool rb_gcp_members_read(struct rb_mock_gcp_call *call, const struct rb_node *node, const struct rb_member *members,
                         void *out)
{
    struct rb_err err = {0};
    return !node || rb_members_read(node, members, NULL, out, &err) || rb_gcp_refuse_node(call, &err);
}

bool rb_gcp_is_list(struct rb_mock_gcp_call *call, const struct rb_node *node)
{
    struct rb_err err = {0};
    return (rb_node_list(node, &err) || rb_gcp_refuse_node(call, &err)) &&
           (node->n_children <= MAX_LIST || rb_gcp_refuse_field(call, node, "too many elements"));
}
