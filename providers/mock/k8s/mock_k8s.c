// From request to answer: who asks, the path's row in the table, the right, and the two envelopes (object and Status).
#include "providers/mock/k8s/mock_k8s.h"
#include "providers/mock/k8s/k8s_call.h"
#include "providers/mock/k8s/k8s_protobuf.h"
#include "providers/mock/k8s/schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RETRY_AFTER_S 1

#define CORE   "/api/v1"
#define SPACE  CORE "/namespaces/{namespace}"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
#define JOBS   "/apis/batch/v1/namespaces/{namespace}/jobs"
#define KUEUE  "/apis/kueue.x-k8s.io/v1beta1/namespaces/{namespace}"

// A list with `watch=true` in its query is a watch. verb NULL: everybody may.
static const struct route {
    const char *method, *path, *action, *verb, *resource;
    rb_k8s_method_fn *fn;
} routes[] = {
    {"GET", "/version", "version", NULL, NULL, rb_k8s_version_get},
    {"GET", "/api", "discovery", NULL, NULL, rb_k8s_core_get},
    {"GET", "/apis", "discovery", NULL, NULL, rb_k8s_groups_list},
    {"GET", CORE, "discovery", NULL, NULL, rb_k8s_resources_list},
    {"GET", "/apis/{name}/v1", "discovery", NULL, NULL, rb_k8s_resources_list},
    {"GET", "/apis/{name}/v1beta1", "discovery", NULL, NULL, rb_k8s_resources_list},
    {"GET", "/apis/{name}", "discovery", NULL, NULL, rb_k8s_resources_list},
    {"GET", CORE "/namespaces", "namespaces.list", "list", "namespaces", rb_k8s_namespaces_list},
    {"GET", SPACE, "namespaces.get", "get", "namespaces", rb_k8s_namespace_get},
    {"GET", CORE "/nodes", "nodes.list", "list", "nodes", rb_k8s_machines_list},
    {"POST", SPACE "/pods", "pods.create", "create", "pods", rb_k8s_pod_create},
    {"GET", SPACE "/pods", "pods.list", "list", "pods", rb_k8s_pods_list},
    {"WATCH", SPACE "/pods", "pods.watch", "watch", "pods", rb_k8s_pods_watch},
    {"GET", SPACE "/pods/{name}", "pods.get", "get", "pods", rb_k8s_pod_get},
    {"PATCH", SPACE "/pods/{name}", "pods.patch", "patch", "pods", rb_k8s_pod_patch},
    {"DELETE", SPACE "/pods/{name}", "pods.delete", "delete", "pods", rb_k8s_pod_delete},
    {"GET", SPACE "/pods/{name}/exec", "pods.exec", "get", "pods/exec", rb_k8s_pod_exec},
    {"POST", SPACE "/pods/{name}/exec", "pods.exec", "create", "pods/exec", rb_k8s_pod_exec},
    {"GET", SPACE "/pods/{name}/log", "pods.log", "get", "pods/log", rb_k8s_pod_log},
    {"POST", SPACE "/pods/{name}/eviction", "pods.evict", "create", "pods/eviction", rb_k8s_pod_evict},
    {"GET", SPACE "/events", "events.list", "list", "events", rb_k8s_events_list},
    {"GET", SPACE "/resourcequotas", "resourcequotas.list", "list", "resourcequotas", rb_k8s_quotas_list},
    {"GET", SPACE "/limitranges", "limitranges.list", "list", "limitranges", rb_k8s_limits_list},
    {"POST", LEASES, "leases.create", "create", "leases", rb_k8s_lease_create},
    {"GET", LEASES, "leases.list", "list", "leases", rb_k8s_leases_list},
    {"GET", LEASES "/{name}", "leases.get", "get", "leases", rb_k8s_lease_get},
    {"PUT", LEASES "/{name}", "leases.update", "update", "leases", rb_k8s_lease_update},
    {"PATCH", LEASES "/{name}", "leases.patch", "patch", "leases", rb_k8s_lease_patch},
    {"DELETE", LEASES "/{name}", "leases.delete", "delete", "leases", rb_k8s_lease_delete},
    {"POST", JOBS, "jobs.create", "create", "jobs", rb_k8s_job_create},
    {"GET", JOBS, "jobs.list", "list", "jobs", rb_k8s_jobs_list},
    {"GET", JOBS "/{name}", "jobs.get", "get", "jobs", rb_k8s_job_get},
    {"DELETE", JOBS "/{name}", "jobs.delete", "delete", "jobs", rb_k8s_job_delete},
    {"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "selfsubjectaccessreviews.create", NULL, NULL,
     rb_k8s_review_create},
    {"GET", KUEUE "/localqueues", "localqueues.list", "list", "localqueues", rb_k8s_queues_list},
    {"GET", KUEUE "/localqueues/{name}", "localqueues.get", "get", "localqueues", rb_k8s_queue_get},
    {"GET", KUEUE "/workloads/{name}", "workloads.get", "get", "workloads", rb_k8s_workload_get},
    {"DELETE", KUEUE "/workloads/{name}", "workloads.delete", "delete", "workloads", rb_k8s_workload_delete},
};

struct rb_mock_k8s *rb_mock_k8s_create(struct rb_cloud *cloud, const char *token)
{
    struct rb_mock_k8s *k = rb_xcalloc(1, sizeof *k);
    k->cloud = cloud;
    k->config = &rb_cloud_config_of(cloud)->kubernetes;
    k->token = token;
    k->version = k->forgotten = 1000; // no one may take a version for a count
    k->advanced_us = rb_cloud_config_of(cloud)->epoch_us - 1;
    return k;
}

void rb_mock_k8s_set_account(struct rb_mock_k8s *k, const char *directory, int port)
{
    k->account_dir = rb_arena_strdup(&k->arena, directory);
    k->account_port = port;
}

void rb_mock_k8s_set_log(struct rb_mock_k8s *k, rb_mock_k8s_log_fn *fn, void *arg)
{
    k->log = fn;
    k->log_arg = arg;
}

void rb_mock_k8s_destroy(struct rb_mock_k8s *k)
{
    if (!k)
        return;
    for (int i = 0; i < k->n_pods; i++) {
        rb_doc_finish(&k->pods[i]->doc);
        rb_doc_finish(&k->pods[i]->patched);
    }
    for (int i = 0; i < k->n_leases; i++) {
        rb_doc_finish(&k->leases[i]->doc);
        rb_doc_finish(&k->leases[i]->patched);
    }
    for (int i = 0; i < k->n_jobs; i++)
        rb_doc_finish(&k->jobs[i]->doc);
    for (int i = 0; i < k->n_changes; i++)
        free(k->changes[i].object);
    rb_arena_finish(&k->arena);
    free(k->pods);
    free(k->machines);
    free(k->leases);
    free(k->jobs);
    free(k->events);
    free(k->changes);
    free(k->orders);
    free(k);
}

// --- refusing ---

const char *rb_k8s_group_of(const struct rb_k8s_call *call)
{
    const char *path = call->request->path;
    if (strncmp(path, "/apis/", 6) != 0)
        return "";
    return rb_arena_strndup(call->arena, path + 6, strcspn(path + 6, "/"));
}

const char *rb_k8s_with_group(struct rb_k8s_call *call, const char *kind)
{
    const char *group = rb_k8s_group_of(call);
    return *group ? rb_arena_printf(call->arena, "%s.%s", kind, group) : kind;
}

bool rb_k8s_refuse(struct rb_k8s_call *call, int status, const char *reason, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(call->refusal.message, sizeof call->refusal.message, fmt, ap);
    va_end(ap);
    call->status = status;
    call->refusal.reason = reason;
    return false;
}

bool rb_k8s_not_found(struct rb_k8s_call *call, const char *kind, const char *name)
{
    call->refusal.kind = kind;
    call->refusal.name = name;
    return rb_k8s_refuse(call, 404, "NotFound", "%s \"%.253s\" not found", rb_k8s_with_group(call, kind), name);
}

bool rb_k8s_other_uid(struct rb_k8s_call *call, const char *kind, const char *name, const char *wanted, const char *uid)
{
    call->refusal.kind = kind;
    call->refusal.name = name;
    return rb_k8s_refuse(call, 409, "Conflict",
                         "Operation cannot be fulfilled on %s \"%s\": the UID in the precondition (%.60s) does not match "
                         "the UID in record (%s). The object might have been deleted and then recreated",
                         rb_k8s_with_group(call, kind), name, wanted, uid);
}

// What a cause is called follows from how its message begins.
static const char *cause_of(const char *message)
{
    static const char *const reasons[][2] = {{"Required value", "FieldValueRequired"},
                                             {"Unsupported value", "FieldValueNotSupported"},
                                             {"Not found", "FieldValueNotFound"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strncmp(message, reasons[i][0], strlen(reasons[i][0])) == 0)
            return reasons[i][1];
    return "FieldValueInvalid";
}

bool rb_k8s_invalid(struct rb_k8s_call *call, const char *field, const char *fmt, ...)
{
    char why[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    const char *kind = rb_node_member_text(call->body, "kind"),
               *name = rb_node_member_text(rb_node_member(call->body, "metadata"), "name");
    call->refusal.kind = rb_arena_strdup(call->arena, kind);
    call->refusal.name = rb_arena_strdup(call->arena, name);
    call->refusal.cause_reason = cause_of(why);
    field = rb_arena_printf(call->arena, "%s%s", call->within, field);
    call->refusal.cause_field = field;
    call->refusal.cause_message = rb_arena_strdup(call->arena, why);
    return rb_k8s_refuse(call, 422, "Invalid", "%s \"%.253s\" is invalid: %s: %s", rb_k8s_with_group(call, kind), name,
                         field, why);
}

// A path that no part of the server serves.
static bool unserved(struct rb_k8s_call *call)
{
    call->out->content_type = "text/plain; charset=utf-8";
    return rb_k8s_refuse(call, 404, NULL, "404 page not found");
}

static void write_details(struct rb_k8s_call *call, struct rb_json *j)
{
    const char *group = rb_k8s_group_of(call);
    rb_json_put(j, "details: {name: %s, group: %s, kind: %s", call->refusal.name,
                call->refusal.kind && *group ? group : NULL, call->refusal.kind);
    if (call->refusal.cause_message)
        rb_json_put(j, "causes: [{reason: %s, message: %s, field: %s}]", call->refusal.cause_reason,
                    call->refusal.cause_message, call->refusal.cause_field);
    if (call->status == 429 || call->status == 503) {
        rb_json_put(j, "retryAfterSeconds: %d", RETRY_AFTER_S);
        rb_buf_printf(&call->out->headers, "Retry-After: %d\n", RETRY_AFTER_S);
    }
    rb_json_put(j, "}");
}

static void write_refusal(struct rb_k8s_call *call, struct rb_buf *out)
{
    struct rb_json j;
    rb_buf_clear(out);
    if (strcmp(call->out->content_type, "application/json") != 0) {
        rb_buf_printf(out, "%s\n", call->refusal.message);
        return;
    }
    rb_json_init(&j, out, false);
    rb_json_put(&j, "{kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: %s, reason: %s",
                call->refusal.message, call->refusal.reason);
    if (call->refusal.kind || call->refusal.cause_message || call->status == 429 || call->status == 503)
        write_details(call, &j);
    rb_json_put(&j, "code: %d}", call->status);
    rb_buf_putc(out, '\n');
}

// --- reading ---

static int hex(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;
    return at ? (int)(at - digits) : -1;
}

// NULL: a broken escape.
static const char *decode(struct rb_arena *arena, const char *text, size_t n)
{
    char *out = rb_arena_alloc(arena, n + 1), *to = out;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '%') {
            const int high = i + 2 < n ? hex(text[i + 1]) : -1, low = high < 0 ? -1 : hex(text[i + 2]);
            if (low < 0 || (high == 0 && low == 0))
                return NULL;
            *to++ = (char)(high << 4 | low);
            i += 2;
        } else {
            *to++ = text[i] == '+' ? ' ' : text[i];
        }
    }
    return out;
}

static bool read_query(struct rb_k8s_call *call)
{
    for (const char *at = call->request->query; *at; at += strspn(at, "&")) {
        const size_t n = strcspn(at, "&"), m = strcspn(at, "=&");
        if (call->n_query == RB_K8S_MAX_QUERY)
            return rb_k8s_refuse(call, 400, "BadRequest", "more than %d query parameters", RB_K8S_MAX_QUERY);
        struct rb_k8s_parameter *p = &call->query[call->n_query++];
        p->name = decode(call->arena, at, m);
        p->value = m < n ? decode(call->arena, at + m + 1, n - m - 1) : "";
        if (!p->name || !p->value)
            return rb_k8s_refuse(call, 400, "BadRequest", "the query is broken at \"%.100s\"", at);
        at += n;
    }
    return true;
}

const char *rb_k8s_query(struct rb_k8s_call *call, const char *name)
{
    const char *value = NULL;
    for (int i = 0; i < call->n_query; i++)
        if (strcmp(call->query[i].name, name) == 0) {
            call->query[i].asked = true;
            value = value ? value : call->query[i].value;
        }
    return value;
}

bool rb_k8s_query_bool(struct rb_k8s_call *call, const char *name)
{
    const char *value = rb_k8s_query(call, name);
    return value && (strcasecmp(value, "true") == 0 || strcmp(value, "1") == 0);
}

bool rb_k8s_query_int(struct rb_k8s_call *call, const char *name, int64_t *inout)
{
    const char *text = rb_k8s_query(call, name);
    char *end;
    if (!text || !*text)
        return true;
    const int64_t value = strtoll(text, &end, 10);
    if (*end || value < 0)
        return rb_k8s_refuse(call, 400, "BadRequest", "%s: expected a whole number, got \"%.60s\"", name, text);
    *inout = value;
    return true;
}

bool rb_k8s_checked(struct rb_k8s_call *call)
{
    rb_k8s_query(call, "timeout");
    rb_k8s_query(call, "pretty");
    rb_k8s_query(call, "fieldManager");
    rb_k8s_query(call, "includeObject"); // of tables
    for (int i = 0; i < call->n_query; i++)
        if (!call->query[i].asked)
            return rb_k8s_refuse(call, 400, "BadRequest",
                                 "the query parameter %.60s is not known to this mock cloud for %s %.200s",
                                 call->query[i].name, call->request->method, call->request->path);
    return true;
}

bool rb_k8s_read_dry_run(struct rb_k8s_call *call, bool *out)
{
    const char *text = rb_k8s_query(call, "dryRun");
    *out = text != NULL;
    return !text || strcmp(text, "All") == 0 ||
           rb_k8s_refuse(call, 422, "Invalid", "dryRun: Unsupported value: \"%.60s\": supported values: \"All\"", text);
}

void rb_k8s_warn(struct rb_k8s_call *call, const char *text)
{
    rb_buf_puts(&call->out->headers, "Warning: 299 - \"");
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            rb_buf_putc(&call->out->headers, '\\');
        if (*c != '\n')
            rb_buf_putc(&call->out->headers, *c);
    }
    rb_buf_puts(&call->out->headers, "\"\n");
}

// Servers before 1.27 know nothing of fieldValidation and drop unknown fields without a word.
static bool judge_unknown(struct rb_k8s_call *call, const struct rb_k8s_conformance *c)
{
    const char *how = rb_k8s_query(call, "fieldValidation");
    char text[256];
    if (call->k->config->minor < 27 || (how && strcmp(how, "Ignore") == 0))
        return true;
    for (int i = 0; i < c->n_unknown && i < RB_K8S_MAX_UNKNOWN; i++) {
        snprintf(text, sizeof text, "unknown field \"%s\"", c->unknown[i]);
        if (how && strcmp(how, "Strict") == 0)
            return rb_k8s_refuse(call, 400, "BadRequest", "strict decoding error: %s", text);
        rb_k8s_warn(call, text);
    }
    return true;
}

static bool is_json(const struct rb_exchange_request *r)
{
    const char *type = rb_exchange_header(r, "Content-Type");
    return !type || strncmp(type, "application/json", 16) == 0;
}

static bool is_protobuf(const struct rb_exchange_request *r)
{
    const char *type = rb_exchange_header(r, "Content-Type");
    return type && strcmp(type, RB_K8S_PROTOBUF) == 0;
}

bool rb_k8s_read_body(struct rb_k8s_call *call, const char *kind, struct rb_doc *out)
{
    return rb_k8s_read_body_without(call, kind, NULL, out);
}

bool rb_k8s_read_body_without(struct rb_k8s_call *call, const char *kind, const char *unknown, struct rb_doc *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    const struct rb_chaos_rule *drop = call->chaos.by[RB_CHAOS_DROPPED_FIELD];
    struct rb_k8s_conformance conformance;
    struct rb_json j;
    struct rb_err err;
    if (!is_json(call->request) && !(is_protobuf(call->request) && call->body))
        return rb_k8s_refuse(call, 415, "UnsupportedMediaType",
                             "the body of the request was in an unknown format - accepted media types include: "
                             "application/json");
    if (!call->body)
        return rb_k8s_refuse(call, 400, "BadRequest", "the body of the request is no JSON");
    if (strcmp(rb_node_member_text(call->body, "kind"), kind) != 0)
        return rb_k8s_refuse(call, 400, "BadRequest",
                             "%s in version \"v1\" cannot be handled as a %s: no kind \"%.60s\"", kind, kind,
                             rb_node_member_text(call->body, "kind"));
    rb_json_init(&j, &text, false);
    if (!rb_k8s_conform(call->body, kind, drop ? drop->field : unknown, &j, &conformance))
        return rb_k8s_refuse(call, 400, "BadRequest", "%s in version \"v1\" cannot be handled as a %s: json: %s", kind,
                             kind, conformance.refusal);
    return judge_unknown(call, &conformance) && (rb_doc_parse_json(out, "object", text.data, text.len, &err) ||
                                                 rb_k8s_refuse(call, 400, "BadRequest", "%s", err.message));
}

// --- rights ---

static const char *const role[] = {
    "create pods",      "get pods",      "list pods",           "watch pods",    "delete pods",      "get pods/exec",
    "create pods/exec", "get pods/log",  "list events",         "create leases", "get leases",       "list leases",
    "update leases",    "delete leases", "list resourcequotas", "get workloads", "delete workloads", NULL};

static bool is_listed(const char *const *rights, const char *verb, const char *resource)
{
    const size_t n = strlen(verb);
    for (int i = 0; rights[i]; i++)
        if (strncmp(rights[i], verb, n) == 0 && rights[i][n] == ' ' && strcmp(rights[i] + n + 1, resource) == 0)
            return true;
    return false;
}

bool rb_k8s_may(const struct rb_mock_k8s *k, const char *verb, const char *resource)
{
    return (is_listed(role, verb, resource) || is_listed(k->config->granted, verb, resource)) &&
           !is_listed(k->config->denied, verb, resource);
}

static bool check_right(struct rb_k8s_call *call, const struct route *route, const char *verb)
{
    const bool is_ours = !call->space || strcmp(call->space, call->k->config->space) == 0;
    if (!route->verb || (is_ours && rb_k8s_may(call->k, verb, route->resource)))
        return true;
    const char *kind = rb_arena_strndup(call->arena, route->resource, strcspn(route->resource, "/"));
    call->refusal.kind = kind;
    call->refusal.name = call->name;
    return rb_k8s_refuse(
        call, 403, "Forbidden",
        "%s%s%s%s is forbidden: User \"system:serviceaccount:%s:rubberband\" cannot %s resource \"%s\" "
        "in API group \"%s\"%s%.100s%s",
        kind, call->name ? " \"" : "", call->name ? call->name : "", call->name ? "\"" : "",
        call->k->config->space, verb, route->resource, rb_k8s_group_of(call),
        call->space ? " in the namespace \"" : " at the cluster scope", call->space ? call->space : "",
        call->space ? "\"" : "");
}

// A connection that is opened by GET needs the right to create one as well from 1.35 on.
static bool check_rights(struct rb_k8s_call *call, const struct route *route)
{
    const bool is_exec = route->resource && strcmp(route->resource, "pods/exec") == 0;
    return check_right(call, route, route->verb) &&
           (!is_exec || call->k->config->minor < 35 || check_right(call, route, "create"));
}

static bool check_token(struct rb_k8s_call *call)
{
    const char *header = rb_exchange_header(call->request, "Authorization");
    return (header && strncmp(header, "Bearer ", 7) == 0 && strcmp(header + 7, call->k->token) == 0) ||
           rb_k8s_refuse(call, 401, "Unauthorized", "Unauthorized");
}

// --- the path ---

static bool path_matches(struct rb_k8s_call *call, const char *pattern, const char *path)
{
    while (*pattern && *path) {
        const size_t n = strcspn(pattern, "/"), m = strcspn(path, "/");
        if (*pattern == '{' && m > 0) {
            const char **slot = strncmp(pattern, "{namespace}", n) == 0 ? &call->space : &call->name;
            *slot = rb_arena_strndup(call->arena, path, m);
        } else if (n != m || strncmp(pattern, path, n) != 0) {
            return false;
        }
        pattern += n + (pattern[n] == '/');
        path += m + (path[m] == '/');
    }
    return !*pattern && !*path;
}

static const struct route *find_route(struct rb_k8s_call *call, bool *out_known)
{
    const bool is_watch = strcmp(call->request->method, "GET") == 0 && rb_k8s_query_bool(call, "watch");
    const char *method = is_watch ? "WATCH" : call->request->method;
    *out_known = false;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        call->space = call->name = NULL;
        if (!path_matches(call, routes[i].path + 1, call->request->path + 1))
            continue;
        *out_known = true;
        if (strcmp(routes[i].method, method) == 0)
            return &routes[i];
    }
    return NULL;
}

// --- serving ---

static bool act(struct rb_k8s_call *call, const struct route *route)
{
    const struct rb_chaos_rule *error = call->chaos.by[RB_CHAOS_ERROR];
    if (call->chaos.by[RB_CHAOS_THROTTLE])
        return rb_k8s_refuse(call, 429, "TooManyRequests", "Too many requests, please try again later.");
    if (error && !error->after_effect)
        return rb_k8s_refuse(call, (int)error->status, error->code, "%s", error->message);
    if (!route->fn(call))
        return false;
    return !error || rb_k8s_refuse(call, (int)error->status, error->code, "%s", error->message);
}

static bool serve(struct rb_k8s_call *call, const struct route *route, bool is_known)
{
    if (!check_token(call))
        return false;
    if (!rb_k8s_serves(call->k, rb_k8s_group_of(call)))
        return unserved(call);
    if (!route)
        return is_known ? rb_k8s_refuse(call, 405, "MethodNotAllowed",
                                        "the server does not allow this method on the requested resource")
                        : rb_k8s_refuse(call, 404, "NotFound", "the server could not find the requested resource");
    return check_rights(call, route) && act(call, route);
}

static void ask_chaos(struct rb_k8s_call *call, const struct route *route)
{
    const struct rb_node *template = rb_node_member(rb_node_member(call->body, "spec"), "template"),
                         *selector = rb_node_member(rb_node_member(template ? template : call->body, "spec"), "nodeSelector");
    const struct rb_chaos_subject s = {.front = "k8s",
                                       .action = route ? route->action : NULL,
                                       .region = call->k->config->name,
                                       .instance_type = rb_k8s_text(selector, "node.kubernetes.io/instance-type")};
    rb_chaos_request(rb_cloud_chaos(call->k->cloud), &s, call->now_us, &call->chaos);
}

static void make_table(struct rb_k8s_call *call)
{
    RB_AUTO(rb_doc_finish) struct rb_doc answer = {0};
    struct rb_buf *body = &call->out->body;
    if (!rb_doc_parse_json(&answer, "answer", rb_buf_str(body), body->len, NULL) ||
        strncmp(call->request->path, "/api", 4) != 0 || !rb_node_member(answer.root, "metadata"))
        return; // discovery
    rb_buf_clear(body);
    rb_json_init(&call->json, body, false);
    rb_k8s_write_table(answer.root, call->now_us, &call->json);
}

static bool parse_body(const struct rb_exchange_request *r, struct rb_doc *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    if (!is_protobuf(r))
        return r->body_len > 0 && rb_doc_parse_json(out, "body", r->body, r->body_len, NULL);
    return rb_k8s_protobuf_to_json(r->body, r->body_len, &text) &&
           rb_doc_parse_json(out, "body", rb_buf_str(&text), text.len, NULL);
}

static void answer(struct rb_k8s_call *call)
{
    bool is_known = false;
    RB_AUTO(rb_doc_finish) struct rb_doc body = {0};
    const bool readable = read_query(call);
    const struct route *route = readable ? find_route(call, &is_known) : NULL;
    if (parse_body(call->request, &body))
        call->body = body.root;
    ask_chaos(call, route);
    if (rb_exchange_forestall(&call->chaos, call->out))
        return;
    rb_json_init(&call->json, &call->out->body, false);
    call->out->content_type = "application/json";
    const bool ok = readable && serve(call, route, is_known);
    if (!ok)
        write_refusal(call, &call->out->body);
    else if (rb_k8s_wants_table(call))
        make_table(call);
    call->out->status = call->status;
    if (call->out->delivery == RB_EXCHANGE_WHOLE || call->chaos.by[RB_CHAOS_LOST_RESPONSE])
        rb_exchange_spoil(&call->chaos, call->out);
}

void rb_mock_k8s_answer(struct rb_mock_k8s *k, const struct rb_exchange_request *request, int64_t now_us,
                        struct rb_exchange_answer *out)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_k8s_call *call = rb_arena_alloc(&arena, sizeof *call);
    *call =
        (struct rb_k8s_call){.k = k, .arena = &arena, .request = request, .within = "", .now_us = now_us, .status = 200, .out = out};
    rb_mock_k8s_advance(k, now_us);
    answer(call);
    rb_mock_k8s_advance(k, now_us);
}
