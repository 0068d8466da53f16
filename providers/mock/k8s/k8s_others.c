// Kinds that are only looked at: events, quotas, limits, machines, namespaces, reviews of rights.
#include "providers/mock/k8s/k8s_call.h"
#include "providers/mock/k8s/quantity.h"

#include <string.h>

static const char *no_label(const void *object, const char *key)
{
    (void)object, (void)key;
    return NULL;
}

// --- events ---

static const void *event_at(const struct rb_k8s_call *call, int at)
{
    return call->k->events[at];
}

static const char *event_field(const void *event, const char *key)
{
    const struct rb_k8s_event *e = event;
    const struct {
        const char *key, *value;
    } fields[] = {{"involvedObject.name", e->of.name},
                  {"involvedObject.uid", e->of.uid},
                  {"involvedObject.kind", e->of.kind},
                  {"reason", e->reason},
                  {"type", e->type},
                  {"metadata.name", e->name}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(fields[i].key, key) == 0)
            return fields[i].value;
    return NULL;
}

static void write_event(struct rb_k8s_call *call, int at)
{
    rb_k8s_write_event(call->k->events[at], call->k, &call->json);
}

bool rb_k8s_events_list(struct rb_k8s_call *call)
{
    const struct rb_k8s_kind kind = {.list_kind = "EventList",
                                     .api_version = "v1",
                                     .n = call->k->n_events,
                                     .label = no_label,
                                     .fields = "metadata.name involvedObject.kind involvedObject.name "
                                               "involvedObject.uid reason type",
                                     .field = event_field,
                                     .at = event_at,
                                     .write = write_event};
    return rb_k8s_list(call, &kind);
}

// --- machines ---

static bool machine_shows(struct rb_k8s_call *call, int at)
{
    return !call->k->machines[at]->is_gone && call->k->machines[at]->ready_us <= call->now_us;
}

static const void *machine_at(const struct rb_k8s_call *call, int at)
{
    return call->k->machines[at];
}

static void write_machine(struct rb_k8s_call *call, int at)
{
    rb_k8s_write_machine(call->k->machines[at], call->k->config->place, call->k->config->minor, &call->json);
}

bool rb_k8s_machines_list(struct rb_k8s_call *call)
{
    const struct rb_k8s_kind kind = {.list_kind = "NodeList",
                                     .api_version = "v1",
                                     .n = call->k->n_machines,
                                     .shows = machine_shows,
                                     .label = no_label,
                                     .at = machine_at,
                                     .write = write_machine};
    return rb_k8s_list(call, &kind);
}

// --- quotas and limits: one object each, where the cloud file has them ---

static const void *nothing_at(const struct rb_k8s_call *call, int at)
{
    (void)at;
    return call;
}

static void begin_single(struct rb_k8s_call *call)
{
    rb_json_put(&call->json, "{metadata: {name: 'rb', namespace: %s}", call->k->config->space);
}

static void write_amounts(struct rb_json *j, const char *key, const struct rb_cloud_amounts *a)
{
    rb_json_kobject(j, key);
    for (int i = 0; i < a->n; i++)
        rb_json_kstring(j, a->list[i].resource, a->list[i].text);
    rb_json_end_object(j);
}

static void write_quota(struct rb_k8s_call *call, int at)
{
    (void)at;
    struct rb_json *j = &call->json;
    const struct rb_cloud_amounts *quota = &call->k->config->quota;
    char text[32];
    begin_single(call);
    rb_json_kobject(j, "spec");
    write_amounts(j, "hard", quota);
    rb_json_end_object(j);
    rb_json_kobject(j, "status");
    write_amounts(j, "hard", quota);
    rb_json_kobject(j, "used");
    for (int i = 0; i < quota->n; i++)
        rb_json_kstring(j, quota->list[i].resource,
                        rb_quantity_format(
                            &(struct rb_quantity){rb_k8s_quota_used(call->k, quota->list[i].resource), false}, text));
    rb_json_end_object(j);
    rb_json_end_object(j);
    rb_json_end_object(j);
}

static void write_limits(struct rb_k8s_call *call, int at)
{
    (void)at;
    begin_single(call);
    rb_json_put(&call->json, "spec: {limits: [{type: 'Container'");
    write_amounts(&call->json, "max", &call->k->config->limits);
    rb_json_put(&call->json, "}]}}");
}

static bool list_single(struct rb_k8s_call *call, const char *list_kind, bool exists,
                        void (*write)(struct rb_k8s_call *, int))
{
    const struct rb_k8s_kind kind = {
        .list_kind = list_kind, .api_version = "v1", .n = exists, .label = no_label, .at = nothing_at, .write = write};
    return rb_k8s_list(call, &kind);
}

bool rb_k8s_quotas_list(struct rb_k8s_call *call)
{
    return list_single(call, "ResourceQuotaList", call->k->config->quota.n > 0, write_quota);
}

bool rb_k8s_limits_list(struct rb_k8s_call *call)
{
    return list_single(call, "LimitRangeList", call->k->config->limits.n > 0, write_limits);
}

// --- namespaces ---

static void write_namespace(struct rb_k8s_call *call, int at)
{
    static const char *const levels[] = {"restricted", "baseline", "privileged"};
    (void)at;
    rb_json_put(&call->json,
                "{apiVersion: 'v1', kind: 'Namespace', metadata: {name: %s, labels: {"
                "'pod-security.kubernetes.io/enforce': %s}}, status: {phase: 'Active'}}",
                call->k->config->space, levels[call->k->config->pod_security]);
}

bool rb_k8s_namespaces_list(struct rb_k8s_call *call)
{
    return list_single(call, "NamespaceList", true, write_namespace);
}

bool rb_k8s_namespace_get(struct rb_k8s_call *call)
{
    if (!rb_k8s_checked(call))
        return false;
    write_namespace(call, 0);
    return true;
}

// --- reviews ---

bool rb_k8s_review_create(struct rb_k8s_call *call)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    rb_k8s_query(call, "fieldValidation");
    if (!rb_k8s_checked(call) || !rb_k8s_read_body(call, "SelfSubjectAccessReview", &doc))
        return false;
    const struct rb_node *a = rb_node_member(rb_node_member(doc.root, "spec"), "resourceAttributes");
    if (!a)
        return rb_k8s_invalid(call, "spec.resourceAttributes",
                              "Required value: this mock cloud reviews resources only");
    const char *sub = rb_node_member_text(a, "subresource"), *space = rb_node_member_text(a, "namespace"),
               *resource = rb_node_member_text(a, "resource");
    if (*sub)
        resource = rb_arena_printf(call->arena, "%s/%s", resource, sub);
    const bool allowed =
        strcmp(space, call->k->config->space) == 0 && rb_k8s_may(call->k, rb_node_member_text(a, "verb"), resource);
    call->status = 201;
    rb_json_put(&call->json, "{kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', metadata: "
                             "{creationTimestamp: null}");
    rb_json_key(&call->json, "spec");
    rb_json_node(&call->json, rb_node_member(doc.root, "spec"));
    rb_json_put(&call->json, "status: {allowed: %i, reason: %s}}", allowed,
                allowed ? "RBAC: allowed by RoleBinding \"rubberband/rb\" of Role \"rubberband\"" : NULL);
    return true;
}
