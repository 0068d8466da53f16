// The methods of leases. A lease that goes takes the pods with it that name it as their owner.
#include "providers/mock/k8s/k8s_call.h"

#include <stdlib.h>
#include <string.h>

static struct rb_k8s_lease *need_lease(struct rb_k8s_call *call)
{
    struct rb_k8s_lease *l = rb_k8s_find_lease(call->k, call->name);
    if (!l)
        rb_k8s_not_found(call, "leases", call->name);
    return l;
}

static void take_over(struct rb_k8s_call *call, struct rb_k8s_lease *l, struct rb_doc *doc)
{
    const struct rb_node *meta = rb_node_member(doc->root, "metadata");
    rb_doc_finish(&l->doc);
    rb_doc_finish(&l->patched);
    l->doc = *doc;
    *doc = (struct rb_doc){0};
    l->labels = rb_node_member(meta, "labels");
    l->annotations = rb_node_member(meta, "annotations");
    l->spec = rb_node_member(l->doc.root, "spec");
    l->version = ++call->k->version;
}

static bool check_spec(struct rb_k8s_call *call, const struct rb_doc *doc)
{
    const struct rb_node *s = rb_node_member(rb_node_member(doc->root, "spec"), "leaseDurationSeconds");
    return !s || s->integer > 0 ||
           rb_k8s_invalid(call, "spec.leaseDurationSeconds", "Invalid value: %lld: must be greater than 0",
                          (long long)s->integer);
}

// A new one. doc is taken over.
static void add_lease(struct rb_k8s_call *call, const char *name, struct rb_doc *doc, bool dry_run)
{
    struct rb_k8s_lease *l = rb_arena_alloc(&call->k->arena, sizeof *l);
    *l = (struct rb_k8s_lease){.name = rb_arena_strdup(&call->k->arena, name), .created_us = call->now_us};
    rb_k8s_make_uid(call->k, l->uid);
    if (!dry_run) {
        call->k->leases = rb_grow(call->k->leases, call->k->n_leases, sizeof *call->k->leases);
        call->k->leases[call->k->n_leases++] = l;
    }
    take_over(call, l, doc);
    l->version = dry_run ? 0 : l->version;
    call->status = 201;
    rb_k8s_write_lease(l, call->k, false, &call->json);
    if (dry_run)
        rb_doc_finish(&l->doc);
}

bool rb_k8s_lease_create(struct rb_k8s_call *call)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    bool dry_run;
    rb_k8s_query(call, "fieldValidation");
    if (!rb_k8s_read_dry_run(call, &dry_run) || !rb_k8s_checked(call) || !rb_k8s_read_body(call, "Lease", &doc) ||
        !rb_k8s_check_meta(call, rb_node_member(doc.root, "metadata"), "Lease") || !check_spec(call, &doc))
        return false;
    const char *name = rb_node_member_text(rb_node_member(doc.root, "metadata"), "name");
    call->refusal.kind = "leases";
    call->refusal.name = rb_arena_strdup(call->arena, name);
    if (rb_k8s_find_lease(call->k, name))
        return rb_k8s_refuse(call, 409, "AlreadyExists", "leases.coordination.k8s.io \"%.253s\" already exists", name);
    add_lease(call, name, &doc, dry_run);
    return true;
}

bool rb_k8s_lease_get(struct rb_k8s_call *call)
{
    const struct rb_k8s_lease *l = rb_k8s_checked(call) ? need_lease(call) : NULL;
    if (l)
        rb_k8s_write_lease(l, call->k, false, &call->json);
    return l != NULL;
}

// Compare and swap: the version that was read must be the present one. What is not there is made, whatever its version
// was, unless a uid says which one is meant.
bool rb_k8s_lease_update(struct rb_k8s_call *call)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    rb_k8s_query(call, "fieldValidation");
    if (!rb_k8s_checked(call) || !rb_k8s_read_body(call, "Lease", &doc) || !check_spec(call, &doc))
        return false;
    struct rb_k8s_lease *l = rb_k8s_find_lease(call->k, call->name);
    const struct rb_node *meta = rb_node_member(doc.root, "metadata");
    const char *version = rb_node_member_text(meta, "resourceVersion"), *uid = rb_k8s_text(meta, "uid");
    if (strcmp(rb_node_member_text(meta, "name"), call->name) != 0)
        return rb_k8s_refuse(call, 400, "BadRequest",
                             "the name of the object (%.100s) does not match the name on the URL (%s)",
                             rb_node_member_text(meta, "name"), call->name);
    call->refusal.kind = "leases";
    call->refusal.name = call->name;
    if (uid && (!l || strcmp(uid, l->uid) != 0))
        return rb_k8s_refuse(call, 409, "Conflict",
                             "Operation cannot be fulfilled on leases.coordination.k8s.io \"%s\": StorageError: invalid "
                             "object, Code: 4, AdditionalErrorMsg: Precondition failed: UID in precondition: %.60s, UID in "
                             "object meta: %s",
                             call->name, uid, l ? l->uid : "");
    if (!l) {
        add_lease(call, call->name, &doc, false);
        return true;
    }
    if (!*version) {
        rb_k8s_invalid(call, "metadata.resourceVersion", "Invalid value: 0x0: must be specified for an update");
        call->refusal.kind = "leases"; // the store says so, and not the kind's own rules
        return false;
    }
    if (strtoull(version, NULL, 10) != l->version)
        return rb_k8s_refuse(call, 409, "Conflict",
                             "Operation cannot be fulfilled on leases.coordination.k8s.io \"%s\": the object has been "
                             "modified; please apply your changes to the latest version and try again",
                             l->name);
    take_over(call, l, &doc);
    rb_k8s_write_lease(l, call->k, false, &call->json);
    return true;
}

bool rb_k8s_lease_patch(struct rb_k8s_call *call)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    bool dry_run;
    struct rb_k8s_lease *l = need_lease(call);
    if (!l || !rb_k8s_patch(call, "Lease", l->labels, l->annotations, &doc, &dry_run))
        return false;
    struct rb_k8s_lease shown = *l, *patched = dry_run ? &shown : l;
    patched->labels = rb_node_member(doc.root, "labels");
    patched->annotations = rb_node_member(doc.root, "annotations");
    if (!dry_run) {
        rb_doc_finish(&l->patched);
        l->patched = doc;
        doc = (struct rb_doc){0};
        l->version = ++call->k->version;
    }
    rb_k8s_write_lease(patched, call->k, false, &call->json);
    return true;
}

bool rb_k8s_lease_delete(struct rb_k8s_call *call)
{
    const char *policy = rb_k8s_query(call, "propagationPolicy"),
               *uid = rb_k8s_text(rb_node_member(call->body, "preconditions"), "uid");
    rb_k8s_query(call, "gracePeriodSeconds");
    policy = policy ? policy : rb_k8s_text(call->body, "propagationPolicy");
    if (policy && strcmp(policy, "Background") != 0)
        return rb_k8s_refuse(
            call, 422, "Invalid",
            "propagationPolicy: Unsupported value: \"%.60s\": this mock cloud collects in the Background", policy);
    struct rb_k8s_lease *l = rb_k8s_checked(call) ? need_lease(call) : NULL;
    if (!l)
        return false;
    call->refusal.kind = "leases";
    call->refusal.name = l->name;
    if (uid && strcmp(uid, l->uid) != 0)
        return rb_k8s_other_uid(call, "Lease", l->name, uid, l->uid);
    l->is_gone = true;
    l->version = ++call->k->version;
    rb_k8s_owner_gone(call->k, l->uid, call->now_us);
    rb_json_put(&call->json,
                "{kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details: {name: %s, group: "
                "'coordination.k8s.io', kind: 'leases', uid: %s}}",
                l->name, l->uid);
    return true;
}

// --- list ---

static bool is_there(struct rb_k8s_call *call, int at)
{
    return !call->k->leases[at]->is_gone;
}

static const void *lease_at(const struct rb_k8s_call *call, int at)
{
    return call->k->leases[at];
}

static const char *label(const void *lease, const char *key)
{
    return rb_k8s_text(((const struct rb_k8s_lease *)lease)->labels, key);
}

static const char *field(const void *lease, const char *key)
{
    return strcmp(key, "metadata.name") == 0 ? ((const struct rb_k8s_lease *)lease)->name : NULL;
}

static void write_at(struct rb_k8s_call *call, int at)
{
    rb_k8s_write_lease(call->k->leases[at], call->k, true, &call->json);
}

bool rb_k8s_leases_list(struct rb_k8s_call *call)
{
    const struct rb_k8s_kind kind = {.list_kind = "LeaseList",
                                     .api_version = "coordination.k8s.io/v1",
                                     .n = call->k->n_leases,
                                     .shows = is_there,
                                     .label = label,
                                     .fields = "metadata.name",
                                     .field = field,
                                     .at = lease_at,
                                     .write = write_at};
    return rb_k8s_list(call, &kind);
}
