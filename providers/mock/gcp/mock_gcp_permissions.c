// Permissions: everything is allowed except what the cloud file denies. Source: "testIamPermissions" of the Cloud
// Resource Manager API (v1) and "Compute Engine IAM roles and permissions".
#include "providers/mock/gcp/mock_gcp_call.h"
#include "base/text/table.h"

#include <string.h>

enum { MAX_PERMISSIONS = 100 }; // in one question

static bool is_denied(const struct rb_mock_gcp_call *call, const char *permission)
{
    const struct rb_cloud_config *c = rb_cloud_config_of(call->cloud);
    for (int i = 0; i < c->n_denied; i++)
        if (strcmp(c->denied[i], permission) == 0)
            return true;
    return false;
}

// The permission of a method is named after another verb where the two differ.
static const char *permission_of(struct rb_mock_gcp_call *call, const char *action)
{
    static const struct verb {
        const char *method, *permission;
    } verbs[] = {{"insert", "create"}, {"bulkInsert", "create"}, {"aggregatedList", "list"}, {"wait", "get"}};
    const char *dot = strchr(action, '.'), *verb = dot + 1;
    const struct verb *other = RB_ROW_OF(verbs, verb);
    verb = other ? other->permission : verb;
    if (strncmp(action, "regionInstances.", strlen("regionInstances.")) == 0)
        return "compute.instances.create";
    return rb_arena_printf(call->arena, "compute.%.*s.%s", (int)(dot - action), action, verb);
}

bool rb_gcp_check_permission(struct rb_mock_gcp_call *call, const char *action)
{
    const char *permission = permission_of(call, action);
    return !is_denied(call, permission) ||
           rb_gcp_refuse(call, 403, "forbidden", "Required '%s' permission for 'projects/%.60s'", permission,
                         call->project);
}

bool rb_gcp_take_verb(struct rb_mock_gcp_call *call, const char *verb)
{
    const char *colon = strrchr(call->project, ':');
    if (!colon || strcmp(colon + 1, verb) != 0)
        return rb_gcp_refuse(call, 404, "notFound", "%.200s is nothing this mock cloud knows: expected :%s",
                             call->request->path, verb);
    call->project = rb_arena_strndup(call->arena, call->project, (size_t)(colon - call->project));
    return true;
}

static bool check_question(struct rb_mock_gcp_call *call, const struct rb_node *list)
{
    if (!call->body || call->body->kind != RB_NODE_MAP || !list || list->kind != RB_NODE_LIST ||
        call->body->n_children != 1)
        return rb_gcp_refuse(call, 400, "badRequest", "expected {\"permissions\": [..]} and nothing else");
    if (list->n_children > MAX_PERMISSIONS)
        return rb_gcp_refuse(call, 400, "badRequest", "At most %d permissions may be tested.", MAX_PERMISSIONS);
    for (const struct rb_node *n = list->first; n; n = n->next)
        if (n->kind != RB_NODE_STRING || strchr(n->text, '*') || !strchr(n->text, '.'))
            return rb_gcp_refuse(call, 400, "badRequest", "Permission %.80s is not valid for this resource.",
                                 n->text ? n->text : "");
    return true;
}

// An empty list is left out, as Google leaves out what is empty.
bool rb_gcp_test_permissions(struct rb_mock_gcp_call *call)
{
    const struct rb_node *list = rb_node_member(call->body, "permissions");
    int n_held = 0;
    if (!rb_gcp_checked(call) || !check_question(call, list))
        return false;
    rb_json_put(&call->json, "{");
    for (const struct rb_node *n = list->first; n; n = n->next)
        if (!is_denied(call, n->text))
            rb_json_put(&call->json, n_held++ == 0 ? "permissions: [%s" : "%s", n->text);
    rb_json_put(&call->json, n_held > 0 ? "]}" : "}");
    return true;
}
