// What the server is and has, for clients that ask before they speak.
#include "providers/mock/k8s/k8s_call.h"

#include <string.h>

static const struct resource {
    const char *group, *version, *name, *kind, *singular, *short_name, *verbs;
    bool is_namespaced;
} resources[] = {
    {"", "v1", "namespaces", "Namespace", "namespace", "ns", "get list", false},
    {"", "v1", "nodes", "Node", "node", "no", "list", false},
    {"", "v1", "pods", "Pod", "pod", "po", "create delete get list patch watch", true},
    {"", "v1", "pods/exec", "PodExecOptions", "", NULL, "create get", true},
    {"", "v1", "pods/log", "Pod", "", NULL, "get", true},
    {"", "v1", "pods/eviction", "Eviction", "", NULL, "create", true},
    {"", "v1", "events", "Event", "event", "ev", "list", true},
    {"", "v1", "resourcequotas", "ResourceQuota", "resourcequota", "quota", "list", true},
    {"", "v1", "limitranges", "LimitRange", "limitrange", "limits", "list", true},
    {"coordination.k8s.io", "v1", "leases", "Lease", "lease", NULL, "create delete get list patch update", true},
    {"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", "selfsubjectaccessreview",
     NULL, "create", false},
    {"batch", "v1", "jobs", "Job", "job", NULL, "create delete get list", true},
    {"kueue.x-k8s.io", "v1beta1", "localqueues", "LocalQueue", "localqueue", NULL, "get list", true},
    {"kueue.x-k8s.io", "v1beta1", "workloads", "Workload", "workload", "wl", "delete get", true},
};
#define N_RESOURCES (sizeof resources / sizeof *resources)

static bool is_served(const struct rb_k8s_call *call, const struct resource *r)
{
    return call->k->config->queue || strcmp(r->group, "kueue.x-k8s.io") != 0;
}

bool rb_k8s_serves(const struct rb_mock_k8s *k, const char *group)
{
    for (size_t i = 0; i < N_RESOURCES; i++)
        if (strcmp(resources[i].group, group) == 0)
            return k->config->queue || strcmp(group, "kueue.x-k8s.io") != 0;
    return false;
}

bool rb_k8s_version_get(struct rb_k8s_call *call)
{
    const int minor = call->k->config->minor;
    rb_json_put(
        &call->json,
        "{major: '1', minor: '%d', gitVersion: 'v1.%d.0-rbmock', gitCommit: '', gitTreeState: 'clean', buildDate: "
        "'2026-01-01T00:00:00Z', goVersion: 'none', compiler: 'none', platform: 'linux/amd64'}",
        minor, minor);
    return true;
}

bool rb_k8s_core_get(struct rb_k8s_call *call)
{
    rb_json_put(&call->json, "{kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: []}");
    return true;
}

static void write_group(struct rb_k8s_call *call, const struct resource *r)
{
    const char *version = rb_arena_printf(call->arena, "%s/%s", r->group, r->version);
    rb_json_put(&call->json,
                "name: %s, versions: [{groupVersion: %s, version: %s}], preferredVersion: {groupVersion: %s, version: "
                "%s}}",
                r->group, version, r->version, version, r->version);
}

bool rb_k8s_groups_list(struct rb_k8s_call *call)
{
    const char *last = "";
    rb_json_put(&call->json, "{kind: 'APIGroupList', apiVersion: 'v1', groups: [");
    for (size_t i = 0; i < N_RESOURCES; i++) {
        if (strcmp(resources[i].group, last) == 0 || !is_served(call, &resources[i]))
            continue;
        last = resources[i].group;
        rb_json_put(&call->json, "{");
        write_group(call, &resources[i]);
    }
    rb_json_put(&call->json, "]}");
    return true;
}

static void write_resource(struct rb_k8s_call *call, const struct resource *r)
{
    struct rb_json *j = &call->json;
    rb_json_put(j, "{name: %s, singularName: %s, namespaced: %i, kind: %s, verbs: [", r->name, r->singular,
                r->is_namespaced, r->kind);
    for (const char *v = r->verbs; *v; v += strspn(v, " ")) {
        const size_t n = strcspn(v, " ");
        rb_json_string(j, rb_arena_strndup(call->arena, v, n));
        v += n;
    }
    rb_json_put(j, "]");
    if (r->short_name)
        rb_json_put(j, "shortNames: [%s]", r->short_name);
    rb_json_put(j, "}");
}

// /api/v1, /apis/GROUP/VERSION, /apis/GROUP
bool rb_k8s_resources_list(struct rb_k8s_call *call)
{
    const char *group = call->name ? call->name : "";
    const char *version = strrchr(call->request->path, '/') + 1;
    const struct resource *first = NULL;
    for (size_t i = 0; i < N_RESOURCES && !first; i++)
        if (strcmp(resources[i].group, group) == 0 && is_served(call, &resources[i]) &&
            (strcmp(version, resources[i].version) == 0 || strcmp(version, group) == 0))
            first = &resources[i];
    if (!first)
        return rb_k8s_refuse(call, 404, "NotFound", "the server could not find the requested resource");
    if (strcmp(version, group) == 0) {
        rb_json_put(&call->json, "{kind: 'APIGroup', apiVersion: 'v1'");
        write_group(call, first);
        return true;
    }
    rb_json_put(&call->json, "{kind: 'APIResourceList', apiVersion: 'v1', groupVersion: '%s%s%s', resources: [", group,
                *group ? "/" : "", version);
    for (size_t i = 0; i < N_RESOURCES; i++)
        if (strcmp(resources[i].group, group) == 0)
            write_resource(call, &resources[i]);
    rb_json_put(&call->json, "]}");
    return true;
}
