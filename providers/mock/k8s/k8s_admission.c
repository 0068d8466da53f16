// What a new pod is held against: its own sense (422), limits, Pod Security and quota (403).
#include "providers/mock/k8s/k8s_call.h"
#include "providers/mock/k8s/quantity.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME  253
#define MAX_LABEL 63

static const char dns_subdomain[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character";
static const char label_value[] =
    "a valid label must be an empty string or consist of at most 63 alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character";

// --- metadata ---

static bool is_name(const char *text)
{
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) &&
            (i == 0 || i + 1 == n || !strchr("-.", text[i])))
            return false;
    return n > 0 && n <= MAX_NAME;
}

static bool is_label(const char *text)
{
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && (i == 0 || i + 1 == n || !strchr("-_.", text[i])))
            return false;
    return n <= MAX_LABEL;
}

// "rb.run-id", "kueue.x-k8s.io/queue-name"
static bool is_key(const char *text)
{
    const char *slash = strchr(text, '/');
    char prefix[MAX_NAME + 1];
    if (!slash)
        return *text && is_label(text);
    snprintf(prefix, sizeof prefix, "%.*s", (int)(slash - text), text);
    return is_name(prefix) && slash[1] && is_label(slash + 1);
}

bool rb_k8s_check_meta(struct rb_k8s_call *call, const struct rb_node *meta, const char *kind)
{
    const char *name = rb_node_member_text(meta, "name");
    const struct rb_node *labels = rb_node_member(meta, "labels"), *annotations = rb_node_member(meta, "annotations");
    if (rb_node_member(meta, "resourceVersion"))
        return rb_k8s_refuse(call, 500, NULL, "resourceVersion should not be set on objects to be created");
    if (rb_node_member(meta, "generateName"))
        return rb_k8s_invalid(call, "metadata.generateName", "this mock cloud makes no names: give metadata.name");
    if (!is_name(name))
        return rb_k8s_invalid(call, "metadata.name", "Invalid value: \"%.260s\": %s (%s)", name, dns_subdomain, kind);
    for (const struct rb_node *l = labels ? labels->first : NULL; l; l = l->next)
        if (!is_key(l->key) || !is_label(l->text))
            return rb_k8s_invalid(call, "metadata.labels", "Invalid value: \"%.100s: %.100s\": %s", l->key, l->text,
                                  label_value);
    for (const struct rb_node *a = annotations ? annotations->first : NULL; a; a = a->next)
        if (!is_key(a->key))
            return rb_k8s_invalid(call, "metadata.annotations",
                                  "Invalid value: \"%.100s\": a qualified name is expected", a->key);
    for (const struct rb_node *o = rb_node_first(rb_node_member(meta, "ownerReferences")); o; o = o->next)
        if (!rb_k8s_text(o, "uid") || !rb_k8s_text(o, "name") || !rb_k8s_text(o, "kind") ||
            !rb_k8s_text(o, "apiVersion"))
            return rb_k8s_invalid(call, "metadata.ownerReferences",
                                  "Required value: apiVersion, kind, name and uid must not be empty");
    return true;
}

// --- the spec ---

static bool has_volume(const struct rb_node *spec, const char *name)
{
    for (const struct rb_node *v = rb_node_first(rb_node_member(spec, "volumes")); v; v = v->next)
        if (strcmp(rb_node_member_text(v, "name"), name) == 0)
            return true;
    return false;
}

static bool check_mounts(struct rb_k8s_call *call, const struct rb_node *spec, const struct rb_node *container)
{
    for (const struct rb_node *m = rb_node_first(rb_node_member(container, "volumeMounts")); m; m = m->next) {
        const char *path = rb_node_member_text(m, "mountPath");
        if (!has_volume(spec, rb_node_member_text(m, "name")))
            return rb_k8s_invalid(call, "spec.containers[0].volumeMounts[0].name", "Not found: \"%.100s\"",
                                  rb_node_member_text(m, "name"));
        if (path[0] != '/' || strstr(path, ".."))
            return rb_k8s_invalid(call, "spec.containers[0].volumeMounts[0].mountPath",
                                  "Invalid value: \"%.200s\": expected an absolute path", path);
        if (rb_node_member(m, "subPath") || rb_node_member(m, "readOnly"))
            return rb_k8s_invalid(call, "spec.containers[0].volumeMounts[0]",
                                  "a mock pod mounts whole volumes to write to: no subPath, no readOnly");
    }
    for (const struct rb_node *v = rb_node_first(rb_node_member(spec, "volumes")); v; v = v->next) {
        const char *medium = rb_node_member_text(rb_node_member(v, "emptyDir"), "medium");
        if (!rb_node_member(v, "emptyDir") && !rb_node_member(v, "hostPath"))
            return rb_k8s_invalid(call, "spec.volumes[0]", "Required value: must specify a volume type");
        if (*medium && strcmp(medium, "Memory") != 0)
            return rb_k8s_invalid(call, "spec.volumes[0].emptyDir.medium", "Unsupported value: \"%.60s\"", medium);
    }
    return true;
}

// Extended resources are whole, and requested as they are limited; nothing is requested above its limit.
static bool check_resources(struct rb_k8s_call *call, const struct rb_node *container)
{
    const struct rb_node *resources = rb_node_member(container, "resources"),
                         *limits = rb_node_member(resources, "limits"),
                         *requests = rb_node_member(resources, "requests");
    for (const struct rb_node *r = requests ? requests->first : NULL; r; r = r->next) {
        struct rb_quantity q, limit = {INT64_MAX, false};
        const char *text = rb_k8s_text(limits, r->key);
        const bool extended = strcmp(r->key, RB_K8S_GPU) == 0;
        rb_quantity_parse(r->text, &q);
        if (text)
            rb_quantity_parse(text, &limit);
        if (q.milli > limit.milli)
            return rb_k8s_invalid(call, "spec.containers[0].resources.requests",
                                  "Invalid value: \"%s\": must be less than or equal to %s limit of %s", r->text,
                                  r->key, text);
        if (extended && (!text || limit.milli != q.milli))
            return rb_k8s_invalid(call, "spec.containers[0].resources.limits",
                                  "Required value: Limit must be set for non overcommitable resources, as requested");
        if (extended && q.milli % 1000 != 0)
            return rb_k8s_invalid(call, "spec.containers[0].resources.limits[" RB_K8S_GPU "]",
                                  "Invalid value: \"%s\": must be an integer", r->text);
    }
    return true;
}

static bool check_env(struct rb_k8s_call *call, const struct rb_node *e)
{
    const struct rb_node *from = rb_node_member(e, "valueFrom");
    const char *path = rb_node_member_text(rb_node_member(from, "fieldRef"), "fieldPath");
    if (!*rb_node_member_text(e, "name"))
        return rb_k8s_invalid(call, "spec.containers[0].env[0].name", "Required value");
    return !from || strcmp(path, "metadata.uid") == 0 || strcmp(path, "metadata.name") == 0 ||
           rb_k8s_invalid(call, "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath",
                          "Invalid value: \"%.100s\": a mock pod has metadata.name and metadata.uid", path);
}

static bool check_container(struct rb_k8s_call *call, const struct rb_node *spec)
{
    const struct rb_node *list = rb_node_member(spec, "containers"), *c = rb_node_first(list);
    if (!c)
        return rb_k8s_invalid(call, "spec.containers", "Required value");
    if (list->n_children > 1)
        return rb_k8s_invalid(call, "spec.containers", "Too many: a mock pod has one container, got %d",
                              list->n_children);
    if (!is_name(rb_node_member_text(c, "name")))
        return rb_k8s_invalid(call, "spec.containers[0].name", "Invalid value: \"%.100s\": %s",
                              rb_node_member_text(c, "name"), dns_subdomain);
    if (!*rb_node_member_text(c, "image"))
        return rb_k8s_invalid(call, "spec.containers[0].image", "Required value");
    for (const struct rb_node *e = rb_node_first(rb_node_member(c, "env")); e; e = e->next)
        if (!check_env(call, e))
            return false;
    return check_mounts(call, spec, c) && check_resources(call, c);
}

static bool check_number(struct rb_k8s_call *call, const struct rb_node *spec, const char *field, int64_t min)
{
    const struct rb_node *n = rb_node_member(spec, field);
    char path[64];
    snprintf(path, sizeof path, "spec.%s", field);
    return !n || n->integer >= min ||
           rb_k8s_invalid(call, path, "Invalid value: %lld: must be greater than or equal to %lld",
                          (long long)n->integer, (long long)min);
}

static bool check_affinity(struct rb_k8s_call *call, const struct rb_node *spec)
{
    static const char *const operators[] = {"In", "NotIn", "Exists", "DoesNotExist"};
    const struct rb_node *affinity = rb_node_member(rb_node_member(spec, "affinity"), "nodeAffinity"),
                         *required = rb_node_member(affinity, "requiredDuringSchedulingIgnoredDuringExecution"),
                         *terms = rb_node_member(required, "nodeSelectorTerms");
    if (required && !rb_node_first(terms))
        return rb_k8s_invalid(call, "spec.affinity.nodeAffinity",
                              "Required value: must have at least one node selector term");
    for (const struct rb_node *t = rb_node_first(terms); t; t = t->next)
        for (const struct rb_node *e = rb_node_first(rb_node_member(t, "matchExpressions")); e; e = e->next) {
            const char *operator= rb_node_member_text(e, "operator");
            bool known = false;
            for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
                known |= strcmp(operator, operators[i]) == 0;
            const bool has_values = rb_node_first(rb_node_member(e, "values")) != NULL;
            if (!known || has_values != (strstr(operator, "In") != NULL))
                return rb_k8s_invalid(call, "spec.affinity.nodeAffinity",
                                      "Invalid value: \"%.60s\": not a valid selector operator, "
                                      "or values that do not go with it",
                                      operator);
        }
    return true;
}

bool rb_k8s_check_pod(struct rb_k8s_call *call, const struct rb_doc *doc)
{
    const struct rb_node *spec = rb_node_member(doc->root, "spec");
    const char *account = rb_node_member_text(spec, "serviceAccountName");
    if (!spec)
        return rb_k8s_invalid(call, "spec", "Required value");
    if (strcmp(rb_node_member_text(spec, "restartPolicy"), "Never") != 0)
        return rb_k8s_invalid(call, "spec.restartPolicy",
                              "Unsupported value: \"%.60s\": supported values of this mock cloud: \"Never\"",
                              rb_node_member_text(spec, "restartPolicy"));
    if (rb_node_member(spec, "nodeName"))
        return rb_k8s_invalid(call, "spec.nodeName", "this mock cloud places pods itself");
    for (const struct rb_node *t = rb_node_first(rb_node_member(spec, "tolerations")); t; t = t->next)
        if (strcmp(rb_node_member_text(t, "operator"), "Exists") == 0 && rb_node_member(t, "value"))
            return rb_k8s_invalid(call, "spec.tolerations[0].operator",
                                  "Invalid value: value must be empty when `operator` is 'Exists'");
    if (rb_node_member(spec, "priorityClassName"))
        return rb_k8s_refuse(call, 403, "Forbidden",
                             "pods \"%.100s\" is forbidden: no PriorityClass with name %.100s was found",
                             rb_node_member_text(rb_node_member(doc->root, "metadata"), "name"),
                             rb_node_member_text(spec, "priorityClassName"));
    if (!check_affinity(call, spec))
        return false;
    if (strcmp(account, "default") != 0 && strcmp(account, "rubberband") != 0)
        return rb_k8s_refuse(call, 403, "Forbidden",
                             "error looking up service account %s/%.100s: serviceaccount \"%.100s\" not found",
                             call->space, account, account);
    return check_number(call, spec, "activeDeadlineSeconds", 1) &&
           check_number(call, spec, "terminationGracePeriodSeconds", 0) && check_container(call, spec);
}

// --- Pod Security ---

static const struct rb_node *walk(const struct rb_node *from, const char *path)
{
    char part[64];
    for (const char *at = path; from && *at; at += *at == '.') {
        const size_t n = strcspn(at, ".");
        snprintf(part, sizeof part, "%.*s", (int)n, at);
        from = rb_node_member(from, part);
        at += n;
    }
    return from;
}

static bool is_true(const struct rb_node *n)
{
    return n && n->boolean;
}

static bool is_root(const struct rb_node *n)
{
    return n && n->integer == 0;
}

static bool drops_all(const struct rb_node *container)
{
    for (const struct rb_node *d = rb_node_first(walk(container, "securityContext.capabilities.drop")); d; d = d->next)
        if (strcmp(d->text, "ALL") == 0)
            return true;
    return false;
}

static bool adds_capabilities(const struct rb_node *container)
{
    for (const struct rb_node *a = rb_node_first(walk(container, "securityContext.capabilities.add")); a; a = a->next)
        if (strcmp(a->text, "NET_BIND_SERVICE") != 0)
            return true;
    return false;
}

static bool has_profile(const struct rb_node *n)
{
    const char *type = rb_node_member_text(walk(n, "securityContext.seccompProfile"), "type");
    return strcmp(type, "RuntimeDefault") == 0 || strcmp(type, "Localhost") == 0;
}

static void add_baseline(const struct rb_node *spec, const struct rb_node *c, struct rb_buf *out)
{
    if (is_true(rb_node_member(spec, "hostNetwork")) || is_true(rb_node_member(spec, "hostPID")) ||
        is_true(rb_node_member(spec, "hostIPC")))
        rb_buf_puts(out, ", host namespaces (hostNetwork, hostPID and hostIPC must be false)");
    if (is_true(walk(c, "securityContext.privileged")))
        rb_buf_printf(out, ", privileged (container \"%s\" must not set securityContext.privileged=true)",
                      rb_node_member_text(c, "name"));
    for (const struct rb_node *v = rb_node_first(rb_node_member(spec, "volumes")); v; v = v->next)
        if (rb_node_member(v, "hostPath"))
            rb_buf_printf(out, ", hostPath volumes (volume \"%s\")", rb_node_member_text(v, "name"));
}

static void add_restricted(const struct rb_node *spec, const struct rb_node *c, struct rb_buf *out)
{
    const char *name = rb_node_member_text(c, "name");
    const struct rb_node *escalation = walk(c, "securityContext.allowPrivilegeEscalation");
    if (!escalation || escalation->boolean)
        rb_buf_printf(out,
                      ", allowPrivilegeEscalation != false (container \"%s\" must set "
                      "securityContext.allowPrivilegeEscalation=false)",
                      name);
    if (!drops_all(c) || adds_capabilities(c))
        rb_buf_printf(out,
                      ", unrestricted capabilities (container \"%s\" must set "
                      "securityContext.capabilities.drop=[\"ALL\"])",
                      name);
    if (!is_true(walk(spec, "securityContext.runAsNonRoot")) && !is_true(walk(c, "securityContext.runAsNonRoot")))
        rb_buf_printf(
            out, ", runAsNonRoot != true (pod or container \"%s\" must set securityContext.runAsNonRoot=true)", name);
    if (is_root(walk(spec, "securityContext.runAsUser")) || is_root(walk(c, "securityContext.runAsUser")))
        rb_buf_printf(out, ", runAsUser=0 (pod or container \"%s\" must not set runAsUser=0)", name);
    if (!has_profile(spec) && !has_profile(c))
        rb_buf_printf(out,
                      ", seccompProfile (pod or container \"%s\" must set securityContext.seccompProfile.type to "
                      "\"RuntimeDefault\" or \"Localhost\")",
                      name);
}

bool rb_k8s_check_security(struct rb_k8s_call *call, const struct rb_doc *doc)
{
    static const char *const levels[] = {"restricted", "baseline", "privileged"};
    RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
    const struct rb_node *spec = rb_node_member(doc->root, "spec"),
                         *c = rb_node_first(rb_node_member(spec, "containers"));
    const int level = call->k->config->pod_security;
    if (level != RB_POD_PRIVILEGED)
        add_baseline(spec, c, &why);
    if (level == RB_POD_RESTRICTED)
        add_restricted(spec, c, &why);
    return why.len == 0 ||
           rb_k8s_refuse(call, 403, "Forbidden", "pods \"%.253s\" is forbidden: violates PodSecurity \"%s:latest\": %s",
                         rb_node_member_text(rb_node_member(doc->root, "metadata"), "name"), levels[level],
                         rb_buf_str(&why) + 2);
}

// --- limits and quota ---

bool rb_k8s_check_limits(struct rb_k8s_call *call, const struct rb_doc *doc)
{
    const struct rb_cloud_amounts *limits = &call->k->config->limits;
    for (int i = 0; i < limits->n; i++)
        if (rb_k8s_requested(rb_node_member(doc->root, "spec"), "limits", limits->list[i].resource) >
            limits->list[i].milli)
            return rb_k8s_refuse(
                call, 403, "Forbidden",
                "pods \"%.253s\" is forbidden: maximum %s usage per Container is %s, but limit is more",
                rb_node_member_text(rb_node_member(doc->root, "metadata"), "name"), limits->list[i].resource,
                limits->list[i].text);
    return true;
}

// What a pod counts for under a quota's resource: "pods", "requests.cpu", "cpu", "limits.memory".
static int64_t counted(const struct rb_node *spec, const char *resource)
{
    if (strcmp(resource, "pods") == 0)
        return 1000;
    if (strncmp(resource, "limits.", 7) == 0)
        return rb_k8s_requested(spec, "limits", resource + 7);
    return rb_k8s_requested(spec, "requests", strncmp(resource, "requests.", 9) == 0 ? resource + 9 : resource);
}

// Pods that have ended do not count; pods that are being deleted do.
int64_t rb_k8s_quota_used(const struct rb_mock_k8s *k, const char *resource)
{
    int64_t used = 0;
    for (int i = 0; i < k->n_pods; i++)
        if (!k->pods[i]->is_gone && !rb_k8s_has_ended(k->pods[i]))
            used += counted(k->pods[i]->spec, resource);
    return used;
}

static const char *amount(int64_t milli, char out[static 32])
{
    return rb_quantity_format(&(struct rb_quantity){milli, false}, out);
}

bool rb_k8s_check_quota(struct rb_k8s_call *call, const struct rb_doc *doc)
{
    const struct rb_cloud_amounts *quota = &call->k->config->quota;
    const char *name = rb_node_member_text(rb_node_member(doc->root, "metadata"), "name");
    char a[32], b[32], c[32];
    for (int i = 0; i < quota->n; i++) {
        const struct rb_cloud_amount *q = &quota->list[i];
        const int64_t wanted = counted(rb_node_member(doc->root, "spec"), q->resource),
                      used = rb_k8s_quota_used(call->k, q->resource);
        const bool is_gpu = strstr(q->resource, RB_K8S_GPU) != NULL;
        if (wanted == 0 && !is_gpu)
            return rb_k8s_refuse(call, 403, "Forbidden",
                                 "pods \"%.253s\" is forbidden: failed quota: rb: must specify %s", name, q->resource);
        if (wanted > 0 && used + wanted > q->milli)
            return rb_k8s_refuse(call, 403, "Forbidden",
                                 "pods \"%.253s\" is forbidden: exceeded quota: rb, requested: %s=%s, used: %s=%s, "
                                 "limited: %s=%s",
                                 name, q->resource, amount(wanted, a), q->resource, amount(used, b), q->resource,
                                 amount(q->milli, c));
    }
    return true;
}
