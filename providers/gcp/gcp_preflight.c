// Dry run before the first launch: which permissions of docs/policies/gcp-role.yaml do we have in the project, and does the
// image exist? Neither launches anything. DENIED names the missing permissions; those that a run can do without are not
// required. Source: projects.testIamPermissions (Cloud Resource Manager API v1), images.get and images.getFromFamily (compute
// v1).
#include "base/document/doc.h"
#include "base/document/json.h"
#include "base/text/closest.h"
#include "providers/gcp/gcp_encode.h"
#include "providers/gcp/gcp_verbs.h"
#include "providers/wire/percent.h"

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
    "compute.reservations.list",
    NULL,
};

// Without these a run still works: who may use an image need not be allowed to look at it, only `rbrun doctor` compares
// quotas, only `rbprofile reservations` lists them, and the bill of an instance whose end was not seen is estimated.
static const char *const dispensable[] = {"compute.zoneOperations.list",  "compute.images.get",
                                          "compute.images.getFromFamily", "compute.projects.get",
                                          "compute.regions.get",          "compute.reservations.list",
                                          NULL};

struct preflight {
    struct rb_arena arena;
    const struct rb_gcp *gcp;
    struct rb_launch what;
    struct rb_buf missing; // names with commas between
    rb_preflight_fn *fn;
    void *arg;
};

static void destroy(void *arg)
{
    struct preflight *p = arg;
    rb_buf_finish(&p->missing);
    rb_api_state_free(p);
}

static void end(void *arg, const struct rb_err *err)
{
    struct preflight *p = arg;
    p->fn(p->arg, err, err ? NULL : p->what.image_id);
    destroy(p);
}

static struct rb_api_call new_call(const char *name, struct preflight *p, rb_api_decode_fn *decode,
                                   rb_api_done_fn *done)
{
    struct rb_api_call call = rb_api_call_new(name, TRIES, p, decode, done);
    call.drop = destroy;
    return call;
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
    struct rb_api_call call = new_call("images.get", p, decode_image, image_known);
    rb_buf_printf(&call.target, "/%s", p->what.image_id); // needs no escape: the launch was checked
    rb_percent_put(&call.target, "?fields=%s", "name,status");
    rb_google_send(p->gcp->client, RB_GOOGLE_COMPUTE, &call);
}

// --- the permissions

static bool is_among(const char *permission, const struct rb_node *list)
{
    for (const struct rb_node *n = list ? list->first : NULL; n; n = n->next)
        if (n->kind == RB_NODE_STRING && strcmp(n->text, permission) == 0)
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
        if (!is_among(*name, held) && !rb_is_one_of(*name, dispensable))
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
                   p->gcp->project, rb_buf_str(&p->missing));
        end(p, &denied);
    } else {
        ask_image(p);
    }
}

static void ask_permissions(struct preflight *p)
{
    struct rb_api_call call = new_call("projects.testIamPermissions", p, decode_permissions, permissions_known);
    struct rb_json j;
    rb_percent_put(&call.target, "/projects/%s:testIamPermissions", p->gcp->project);
    rb_json_init(&j, &call.body, false);
    rb_json_put(&j, "{permissions: [");
    for (const char *const *name = rb_gcp_permissions; *name; name++)
        rb_json_string(&j, *name);
    rb_json_put(&j, "]}");
    rb_google_send(p->gcp->client, RB_GOOGLE_RESOURCES, &call);
}

// User data and names differ from launch to launch and decide nothing here.
void rb_gcp_preflight(struct rb_provider *provider, const struct rb_launch *what, rb_preflight_fn *fn, void *arg)
{
    struct preflight *p = rb_api_state_create(sizeof *p);
    struct rb_launch launch = *what;
    struct rb_err err = {0};
    launch.user_data = NULL;
    p->gcp = provider->state;
    p->fn = fn;
    p->arg = arg;
    rb_launch_copy(&p->arena, &launch, &p->what);
    if (rb_gcp_check_launch(&p->what, p->gcp->region, &err)) {
        ask_permissions(p);
        return;
    }
    struct rb_api_call call = new_call(NULL, p, NULL, end);
    rb_google_refuse(p->gcp->client, &call, &err);
}
