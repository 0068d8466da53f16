// Source: projects.testIamPermissions (Cloud Resource Manager API v1), images.get and images.getFromFamily (compute
// v1).
#include "providers/gcp/gcp_preflight.h"

#include "base/document/doc.h"
#include "base/document/json.h"
#include "providers/gcp/gcp_encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 3 };

// docs/policies/gcp-role.yaml, which a test compares.
const char *const rb_gcp_permissions[] = {
    "compute.instances.create",
    "compute.instances.setLabels",
    "compute.instances.setMetadata",
    "compute.instances.setServiceAccount",
    "compute.instances.setTags",
    "compute.disks.create",
    "compute.disks.setLabels",
    "compute.images.useReadOnly",
    "compute.networks.use",
    "compute.networks.useExternalIp",
    "compute.subnetworks.use",
    "compute.subnetworks.useExternalIp",
    "compute.instances.get",
    "compute.instances.list",
    "compute.zoneOperations.get",
    "compute.zoneOperations.list",
    "compute.machineTypes.list",
    "compute.acceleratorTypes.list",
    "compute.instances.delete",
    "compute.disks.delete",
    "compute.images.get",
    "compute.images.getFromFamily",
    "compute.projects.get",
    "compute.regions.get",
    NULL,
};

// Without these a run still works: who may use an image need not be allowed to look at it, only `rbrun doctor` compares
// quotas, and the bill of an instance whose end was not seen is estimated.
static const char *const dispensable[] = {"compute.zoneOperations.list",  "compute.images.get",
                                          "compute.images.getFromFamily", "compute.projects.get",
                                          "compute.regions.get",          NULL};

struct preflight {
    struct rb_google_client *client;
    struct rb_arena arena;
    struct rb_launch what;
    struct rb_buf missing; // names with commas between
    rb_preflight_fn *fn;
    void *arg;
};

static void destroy(void *arg)
{
    struct preflight *p = arg;
    rb_buf_finish(&p->missing);
    rb_arena_finish(&p->arena);
    free(p);
}

static void end(struct preflight *p, const struct rb_err *err)
{
    p->fn(p->arg, err, err ? NULL : p->what.image_id);
    destroy(p);
}

static void send(struct preflight *p, struct rb_api_call *call, enum rb_google_service service)
{
    call->max_tries = TRIES;
    call->arg = p;
    call->drop = destroy;
    rb_google_send(p->client, service, call);
}

// --- the image

static bool decode_image(void *arg, const char *body, size_t n, struct rb_err *err)
{
    (void)arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    const char *name;
    return rb_doc_parse_json(&doc, "answer", body, n, err) &&
           rb_node_string(rb_node_member(doc.root, "name"), &name, err);
}

static void image_known(void *arg, const struct rb_err *err)
{
    struct preflight *p = arg;
    struct rb_err named;
    if (!err || err->code == RB_ERR_DENIED) { // not for us to see
        end(p, NULL);
        return;
    }
    named = *err;
    snprintf(named.key, sizeof named.key, "resources.image_id");
    rb_err_prefix(&named, "image %s", p->what.image_id);
    end(p, &named);
}

static void ask_image(struct preflight *p)
{
    struct rb_api_call call = {.name = "images.get", .method = "GET", .decode = decode_image, .done = image_known};
    rb_gcp_target_image(p->what.image_id, &call.target);
    send(p, &call, RB_GOOGLE_COMPUTE);
}

// --- the permissions

static bool is_among(const char *permission, const struct rb_node *list)
{
    for (const struct rb_node *n = list ? list->first : NULL; n; n = n->next)
        if (n->kind == RB_NODE_STRING && strcmp(n->text, permission) == 0)
            return true;
    return false;
}

static bool is_dispensable(const char *permission)
{
    for (const char *const *p = dispensable; *p; p++)
        if (strcmp(*p, permission) == 0)
            return true;
    return false;
}

// The answer is {} if none of them is granted.
static bool decode_permissions(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct preflight *p = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, "answer", body, n, err))
        return false;
    const struct rb_node *held = rb_node_member(doc.root, "permissions");
    const bool ok = doc.root->kind == RB_NODE_MAP && (!held || rb_node_list(held, err));
    rb_buf_clear(&p->missing);
    for (const char *const *name = rb_gcp_permissions; ok && *name; name++)
        if (!is_among(*name, held) && !is_dispensable(*name))
            rb_buf_printf(&p->missing, "%s%s", p->missing.len ? ", " : "", *name);
    return ok || rb_err_set(err, RB_E_ANSWER, "answer: expected {\"permissions\": [...]}");
}

// An API that is not enabled in the project refuses every request with this reason, in one of its two spellings.
static bool is_switched_off(const struct rb_err *err)
{
    return strstr(err->message, "accessNotConfigured") || strstr(err->message, "SERVICE_DISABLED");
}

static void permissions_known(void *arg, const struct rb_err *err)
{
    struct preflight *p = arg;
    struct rb_err denied;
    if (err) {
        denied = *err;
        if (is_switched_off(err))
            rb_err_set(&denied, RB_E_PERMISSION,
                       "%s; nothing is launched that may not be terminated, and the right to do so cannot be checked: "
                       "enable the Cloud "
                       "Resource Manager API (gcloud services enable cloudresourcemanager.googleapis.com)",
                       err->message);
        end(p, &denied);
    } else if (p->missing.len > 0) {
        rb_err_set(&denied, RB_E_PERMISSION,
                   "permissions missing in project %s: %s; docs/policies/gcp-role.yaml is the role to grant",
                   rb_google_client_project(p->client), rb_buf_str(&p->missing));
        end(p, &denied);
    } else {
        ask_image(p);
    }
}

void rb_gcp_preflight(struct rb_google_client *client, const struct rb_launch *launch, rb_preflight_fn *fn, void *arg)
{
    struct preflight *p = rb_xcalloc(1, sizeof *p);
    struct rb_api_call call = {.name = "projects.testIamPermissions",
                               .method = "POST",
                               .decode = decode_permissions,
                               .done = permissions_known};
    struct rb_json j;
    p->client = client;
    p->fn = fn;
    p->arg = arg;
    rb_launch_copy(&p->arena, launch, &p->what);
    rb_gcp_target_permissions(rb_google_client_project(client), &call.target);
    rb_json_init(&j, &call.body, false);
    rb_json_put(&j, "{permissions: [");
    for (const char *const *name = rb_gcp_permissions; *name; name++)
        rb_json_string(&j, *name);
    rb_json_put(&j, "]}");
    send(p, &call, RB_GOOGLE_RESOURCES);
}
