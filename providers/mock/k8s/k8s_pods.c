// The methods of pods.
#include "providers/mock/k8s/k8s_call.h"

#include <stdlib.h>
#include <string.h>

// --- selecting ---

const char *rb_k8s_pod_label(const void *pod, const char *key)
{
    const struct rb_k8s_pod *p = pod;
    return rb_k8s_text(p->labels, key);
}

const char *rb_k8s_pod_field(const void *pod, const char *key)
{
    const struct rb_k8s_pod *p = pod;
    if (strcmp(key, "metadata.name") == 0)
        return p->name;
    if (strcmp(key, "status.phase") == 0)
        return rb_k8s_phase(p);
    if (strcmp(key, "spec.nodeName") == 0)
        return p->scheduled_us >= 0 ? p->machine->name : "";
    if (strcmp(key, "status.podIP") == 0)
        return "";
    return strcmp(key, "spec.restartPolicy") == 0 ? "Never" : NULL;
}

static bool is_there(struct rb_k8s_call *call, int at)
{
    return !call->k->pods[at]->is_gone;
}

static const void *pod_at(const struct rb_k8s_call *call, int at)
{
    return call->k->pods[at];
}

static void write_at(struct rb_k8s_call *call, int at)
{
    rb_k8s_write_pod(call->k->pods[at], call->k, true, &call->json);
}

bool rb_k8s_pods_list(struct rb_k8s_call *call)
{
    const struct rb_k8s_kind kind = {.list_kind = "PodList",
                                     .api_version = "v1",
                                     .n = call->k->n_pods,
                                     .shows = is_there,
                                     .label = rb_k8s_pod_label,
                                     .fields = "metadata.name spec.nodeName spec.restartPolicy status.phase "
                                               "status.podIP",
                                     .field = rb_k8s_pod_field,
                                     .at = pod_at,
                                     .write = write_at};
    return rb_k8s_list(call, &kind);
}

static struct rb_k8s_pod *need_pod(struct rb_k8s_call *call)
{
    struct rb_k8s_pod *p = rb_k8s_find_pod(call->k, call->name);
    if (!p)
        rb_k8s_not_found(call, "pods", call->name);
    return p;
}

bool rb_k8s_pod_get(struct rb_k8s_call *call)
{
    rb_k8s_query(call, "resourceVersion");
    const struct rb_k8s_pod *p = rb_k8s_checked(call) ? need_pod(call) : NULL;
    if (p)
        rb_k8s_write_pod(p, call->k, false, &call->json);
    return p != NULL;
}

// --- create ---

static bool check_space(struct rb_k8s_call *call, const struct rb_doc *doc)
{
    const char *space = rb_k8s_text(rb_node_member(doc->root, "metadata"), "namespace");
    return !space || strcmp(space, call->space) == 0 ||
           rb_k8s_refuse(call, 400, "BadRequest",
                         "the namespace of the provided object does not match the namespace sent on the request");
}

// In the order of the API server: what may change the object, its validation, what may only refuse it, the store.
static bool admit(struct rb_k8s_call *call, const struct rb_doc *doc)
{
    if (!check_space(call, doc) || !rb_k8s_check_meta(call, rb_node_member(doc->root, "metadata"), "Pod"))
        return false;
    const char *name = rb_node_member_text(rb_node_member(doc->root, "metadata"), "name");
    call->refusal.kind = "pods";
    call->refusal.name = rb_arena_strdup(call->arena, name);
    if (!rb_k8s_check_pod(call, doc) || !rb_k8s_check_limits(call, doc) || !rb_k8s_check_security(call, doc) ||
        !rb_k8s_check_quota(call, doc))
        return false;
    const struct rb_k8s_pod *other = rb_k8s_find_pod(call->k, name);
    return !other || rb_k8s_refuse(call, 409, "AlreadyExists", "%spods \"%.253s\" already exists",
                                   other->deletion_us >= 0 ? "object is being deleted: " : "", name);
}

// A dry run shows the object as it would be, with a uid of its own, and stores nothing: neither does the ledger.
static void show_only(struct rb_k8s_call *call, struct rb_doc *doc)
{
    const struct rb_node *meta = rb_node_member(doc->root, "metadata");
    struct rb_cloud_instance nothing = {0};
    struct rb_k8s_pod p = {.doc = *doc,
                           .spec = rb_node_member(doc->root, "spec"),
                           .name = rb_node_member_text(meta, "name"),
                           .labels = rb_node_member(meta, "labels"),
                           .annotations = rb_node_member(meta, "annotations"),
                           .owners = rb_node_member(meta, "ownerReferences"),
                           .created_us = call->now_us,
                           .deletion_us = -1,
                           .scheduled_us = -1,
                           .container = {.image_id = "", .started_us = -1, .finished_us = -1},
                           .instance = &nothing};
    p.is_gated = p.is_managed = call->k->config->queue && rb_k8s_text(p.labels, RB_K8S_QUEUE_LABEL);
    rb_k8s_make_uid(call->k, p.uid);
    rb_k8s_write_pod(&p, call->k, false, &call->json);
}

bool rb_k8s_pod_create(struct rb_k8s_call *call)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    bool dry_run;
    rb_k8s_query(call, "fieldValidation");
    if (!rb_k8s_read_dry_run(call, &dry_run) || !rb_k8s_checked(call) || !rb_k8s_read_body(call, "Pod", &doc) ||
        !admit(call, &doc))
        return false;
    call->status = 201;
    if (dry_run) {
        show_only(call, &doc);
        return true;
    }
    struct rb_k8s_pod *p = rb_k8s_add_pod(call->k, &doc, call->now_us);
    rb_k8s_queue_pod(call->k, p, call->now_us);
    rb_k8s_changed(call->k, p, "ADDED", call->now_us);
    rb_k8s_write_pod(p, call->k, false, &call->json);
    return true;
}

// --- patch ---

bool rb_k8s_pod_patch(struct rb_k8s_call *call)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    bool dry_run;
    struct rb_k8s_pod *p = need_pod(call);
    if (!p || !rb_k8s_patch(call, "Pod", p->labels, p->annotations, &doc, &dry_run))
        return false;
    struct rb_k8s_pod shown = *p, *patched = dry_run ? &shown : p;
    patched->labels = rb_node_member(doc.root, "labels");
    patched->annotations = rb_node_member(doc.root, "annotations");
    if (!dry_run) {
        rb_doc_finish(&p->patched);
        p->patched = doc;
        doc = (struct rb_doc){0};
        rb_k8s_changed(call->k, p, "MODIFIED", call->now_us);
    }
    rb_k8s_write_pod(patched, call->k, false, &call->json);
    return true;
}

// --- delete ---

struct deletion {
    int64_t grace_s; // -1: the pod's own
    const char *uid; // NULL: any
};

static bool read_options(struct rb_k8s_call *call, const struct rb_node *options, struct deletion *out, bool *dry_run)
{
    const struct rb_node *grace = rb_node_member(options, "gracePeriodSeconds");
    const char *policy = rb_k8s_query(call, "propagationPolicy");
    *out = (struct deletion){.grace_s = grace && grace->kind == RB_NODE_INT ? grace->integer : -1,
                             .uid = rb_k8s_text(rb_node_member(options, "preconditions"), "uid")};
    policy = policy ? policy : rb_k8s_text(options, "propagationPolicy");
    if (policy && strcmp(policy, "Background") != 0 && strcmp(policy, "Foreground") != 0 &&
        strcmp(policy, "Orphan") != 0)
        return rb_k8s_refuse(call, 422, "Invalid", "propagationPolicy: Unsupported value: \"%.60s\"", policy);
    if (!rb_k8s_query_int(call, "gracePeriodSeconds", &out->grace_s) || !rb_k8s_read_dry_run(call, dry_run))
        return false;
    *dry_run |= rb_node_first(rb_node_member(options, "dryRun")) != NULL;
    rb_k8s_query(call, "orphanDependents");
    return rb_k8s_checked(call);
}

static bool delete_pod(struct rb_k8s_call *call, const struct rb_node *options, bool is_eviction)
{
    struct deletion d;
    bool dry_run;
    if (!read_options(call, options, &d, &dry_run))
        return false;
    struct rb_k8s_pod *p = need_pod(call);
    if (!p)
        return false;
    call->refusal.kind = "pods";
    call->refusal.name = p->name;
    if (d.uid && strcmp(d.uid, p->uid) != 0)
        return rb_k8s_other_uid(call, "Pod", p->name, d.uid, p->uid);
    if (dry_run)
        return true;
    if (is_eviction)
        rb_k8s_disrupt(p, "EvictionByEvictionAPI", "Eviction API: evicting", call->now_us);
    rb_k8s_delete_pod(call->k, p, d.grace_s < 0 ? -1 : d.grace_s * RB_US_PER_S, call->now_us);
    return true;
}

bool rb_k8s_pod_delete(struct rb_k8s_call *call)
{
    if (!delete_pod(call, call->body, false))
        return false;
    const struct rb_k8s_pod *p = NULL;
    for (int i = call->k->n_pods - 1; i >= 0 && !p; i--) // gone at once, perhaps
        p = strcmp(call->k->pods[i]->name, call->name) == 0 ? call->k->pods[i] : NULL;
    rb_k8s_write_pod(p, call->k, false, &call->json);
    return true;
}

bool rb_k8s_pod_evict(struct rb_k8s_call *call)
{
    if (strcmp(rb_node_member_text(call->body, "kind"), "Eviction") != 0)
        return rb_k8s_refuse(call, 400, "BadRequest", "expected an Eviction of policy/v1");
    if (!delete_pod(call, rb_node_member(call->body, "deleteOptions"), true))
        return false;
    call->status = 201;
    rb_json_put(&call->json, "{kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201}");
    return true;
}

// --- log ---

struct log_feed {
    struct rb_mock_k8s *k;
    const struct rb_k8s_pod *pod;
    size_t at;
};

static bool more_log(void *arg, struct rb_buf *out)
{
    struct log_feed *f = arg;
    RB_AUTO(rb_buf_finish) struct rb_buf all = RB_BUF_INIT;
    const bool ended = rb_k8s_has_ended(f->pod) || f->pod->is_gone; // before reading: what came last is read, too
    f->k->log(f->k->log_arg, f->pod->uid, &all);
    if (all.len > f->at)
        rb_buf_append(out, all.data + f->at, all.len - f->at);
    f->at = all.len;
    return !ended;
}

static size_t last_lines(const struct rb_buf *text, int64_t n)
{
    size_t at = text->len;
    while (at > 0 && (text->data[at - 1] != '\n' || at == text->len || --n > 0))
        at--;
    return n <= 0 && at == text->len ? text->len : at;
}

bool rb_k8s_pod_log(struct rb_k8s_call *call)
{
    int64_t tail = -1, limit = INT64_MAX;
    const bool follow = rb_k8s_query_bool(call, "follow");
    const char *container = rb_k8s_query(call, "container");
    rb_k8s_query(call, "insecureSkipTLSVerifyBackend");
    if (!rb_k8s_query_int(call, "tailLines", &tail) || !rb_k8s_query_int(call, "limitBytes", &limit) ||
        !rb_k8s_checked(call))
        return false;
    const struct rb_k8s_pod *p = need_pod(call);
    if (!p)
        return false;
    const char *name = rb_node_member_text(rb_node_first(rb_node_member(p->spec, "containers")), "name");
    if (container && strcmp(container, name) != 0)
        return rb_k8s_refuse(call, 400, "BadRequest", "container %.60s is not valid for pod %s", container, p->name);
    if (p->container.started_us < 0)
        return rb_k8s_refuse(call, 400, "BadRequest", "container \"%s\" in pod \"%s\" is waiting to start: %s", name,
                             p->name, p->container.waiting ? p->container.waiting : "trying and failing to pull image");
    struct rb_buf all = RB_BUF_INIT;
    call->k->log(call->k->log_arg, p->uid, &all);
    const size_t from = tail >= 0 ? last_lines(&all, tail) : 0;
    const size_t n = all.len - from < (size_t)limit ? all.len - from : (size_t)limit;
    rb_buf_append(&call->out->body, rb_buf_str(&all) + from, n);
    call->out->content_type = "text/plain";
    if (follow) {
        struct log_feed *f = rb_xcalloc(1, sizeof *f);
        *f = (struct log_feed){call->k, p, all.len};
        call->out->delivery = RB_EXCHANGE_FEED;
        call->out->feed = (struct rb_exchange_feed){more_log, free, f};
    }
    rb_buf_finish(&all);
    return true;
}
