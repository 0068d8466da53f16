// Launches pods, or Jobs: first the Lease that they will belong to, then one after the other. Its name follows from the
// launch's token, so that a repeated request finds what an earlier one made. When one of a gang is refused, those before
// it are deleted again.
#include "base/text/units.h"
#include "providers/k8s/k8s_errors.h"
#include "providers/k8s/k8s_verbs.h"
#include "providers/wire/percent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct launch {
    struct rb_arena arena;
    struct rb_kube *k;
    struct rb_launch what;
    struct rb_kube_shape shape;
    struct rb_kube_lease anchor;
    struct rb_instance *instances; // [n_made]
    int n, n_made;
    int anchor_tries;
    struct rb_kube_pod node; // of the last answer
    struct rb_buf body;      // of the last POST
    struct rb_err dropped;   // the cluster did not keep a field; code NONE: it kept all
    struct rb_err refusal;   // while what was made is deleted
    rb_launch_fn *fn;
    void *arg;
};

static void destroy(void *arg)
{
    struct launch *l = arg;
    rb_buf_finish(&l->body);
    rb_api_state_free(l);
}

static void answer(struct launch *l, const struct rb_err *err)
{
    l->fn(l->arg, err, err ? NULL : l->instances);
    destroy(l);
}

static struct rb_api_call new_call(const char *name, int tries, struct launch *l, rb_api_decode_fn *decode,
                                   rb_api_done_fn *done)
{
    struct rb_api_call call = rb_api_call_new(name, tries, l, decode, done);
    call.drop = destroy;
    return call;
}

// --- checks

bool rb_kube_check_launch(const struct rb_kube *k, const struct rb_launch *what, struct rb_arena *arena,
                          struct rb_kube_shape *out, struct rb_err *err)
{
    if (!what->image_id || !what->tags.run_id || !what->tags.owner) {
        rb_err_set(err, RB_E_K8S_LAUNCH,
                   "k8s/%s: no image; name one in the job, best by its digest: image: registry/image@sha256:...",
                   k->region);
        if (err)
            snprintf(err->key, sizeof err->key, "resources.image_id");
        return false;
    }
    return rb_kube_shape(what->instance_type, what->gpus, arena, out, err);
}

bool rb_kube_check_stored(const struct rb_buf *sent, const struct rb_node *stored, const char *name, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    char field[200];
    return !rb_doc_parse_json(&doc, "request", rb_buf_str(sent), sent->len, err) ||
           !rb_kube_find_dropped(doc.root, stored, field, sizeof field) ||
           rb_err_set(err, RB_E_K8S_FIELD, "%s: the cluster dropped %s: an old version, or an admission rule", name,
                      field);
}

// --- giving back

static void delete_next(struct launch *l);

static void deleted(void *arg, const struct rb_err *err)
{
    struct launch *l = arg;
    if (err && err->code != RB_ERR_NOT_FOUND && !rb_kube_is_conflict(err)) {
        char name[64], uid[64];
        rb_kube_split_id(l->instances[l->n_made - 1].id, name, uid);
        rb_err_renumber(&l->refusal, RB_E_OUTCOME_UNKNOWN);
        rb_err_prefix(&l->refusal, "%s may still be there (%.200s)", name, err->message);
        answer(l, &l->refusal);
        return;
    }
    l->n_made--;
    delete_next(l);
}

static void delete_next(struct launch *l)
{
    if (l->n_made == 0) {
        answer(l, &l->refusal);
        return;
    }
    struct rb_api_call call = rb_kube_deletion(l->k, l->instances[l->n_made - 1].id, RB_KUBE_WRITE_TRIES, l, deleted);
    call.drop = destroy;
    rb_kube_send(l->k, "DELETE", &call);
}

static void workload_deleted(void *arg, const struct rb_err *unreleased)
{
    (void)unreleased; // by the queue: the end of the run deletes it again
    delete_next(arg);
}

// Where the outcome is unknown, the pods stay: the repeated launch finds them. In a queue a group that was whole has a Workload,
// which holds its pods; one that was not lets them go.
static void refuse(struct launch *l, const struct rb_err *err)
{
    if (err->code == RB_ERR_UNKNOWN_OUTCOME) {
        answer(l, err);
        return;
    }
    char name[64], uid[64];
    l->refusal = *err;
    if (l->k->spec.queue && l->n_made == l->n && rb_kube_split_id(l->instances[0].id, name, uid))
        rb_kube_delete_workload(l->k, name, l, workload_deleted);
    else
        delete_next(l);
}

// --- the nodes

static void post_next(struct launch *l);

static void take_node(struct launch *l)
{
    struct rb_err other;
    if (!l->node.instance.token || strcmp(l->node.instance.token, l->what.token) != 0) {
        rb_err_set(&other, RB_E_K8S_LAUNCH, "%s exists and is not of this launch: look at it by hand", l->node.name);
        refuse(l, &other);
        return;
    }
    l->instances[l->n_made++] = l->node.instance;
    if (l->dropped.code)
        refuse(l, &l->dropped);
    else if (l->n_made == l->n)
        answer(l, NULL);
    else
        post_next(l);
}

static bool decode_node(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct launch *l = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err) &&
           rb_kube_decode_node(l->k->spec.as, doc.root, l->k->region, NULL, &l->arena, &l->node, err);
}

static bool decode_created(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct launch *l = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, "answer", body, n, err) ||
        !rb_kube_decode_node(l->k->spec.as, doc.root, l->k->region, NULL, &l->arena, &l->node, err))
        return false;
    rb_kube_check_stored(&l->body, doc.root, l->node.name, &l->dropped);
    return true;
}

static void known(void *arg, const struct rb_err *err)
{
    struct launch *l = arg;
    struct rb_err gone;
    if (!err) {
        take_node(l);
        return;
    }
    gone = *err;
    rb_err_renumber(&gone, RB_E_OUTCOME_UNKNOWN); // it was there a moment ago
    answer(l, &gone);
}

static void ask_known(struct launch *l)
{
    char name[64];
    struct rb_api_call call = new_call(rb_kube_calls[l->k->spec.as].get, RB_KUBE_READ_TRIES, l, decode_node, known);
    rb_kube_name(l->k->spec.as, l->what.token, l->n_made, name);
    rb_kube_put_node(l->k, name, &call.target);
    rb_kube_send(l->k, "GET", &call);
}

static void created(void *arg, const struct rb_err *err)
{
    struct launch *l = arg;
    if (!err)
        take_node(l);
    else if (rb_kube_exists_already(err))
        ask_known(l);
    else
        refuse(l, err);
}

static void post_next(struct launch *l)
{
    const struct rb_kube_anchor anchor = {l->anchor.name, l->anchor.uid};
    struct rb_api_call call =
        new_call(rb_kube_calls[l->k->spec.as].create, RB_KUBE_WRITE_TRIES, l, decode_created, created);
    call.mutating = true;
    rb_buf_clear(&l->body);
    l->dropped = (struct rb_err){0};
    rb_kube_write_node(&l->what, l->n_made, &l->shape, &l->k->spec, &anchor, &l->body);
    rb_buf_append(&call.body, l->body.data, l->body.len);
    rb_kube_put_nodes(l->k, l->k->spec.as, &call.target);
    rb_buf_puts(&call.target, "?fieldValidation=Strict");
    rb_kube_send(l->k, "POST", &call);
}

// --- the Lease

static void ask_anchor(struct launch *l);

static bool decode_anchor(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct launch *l = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err) &&
           rb_kube_decode_lease(doc.root, &l->arena, &l->anchor, err);
}

static void anchor_made(void *arg, const struct rb_err *err)
{
    struct launch *l = arg;
    if (err && rb_kube_exists_already(err) && l->anchor_tries++ < RB_KUBE_READ_TRIES)
        ask_anchor(l);
    else if (err)
        answer(l, err);
    else
        post_next(l);
}

static void make_anchor(struct launch *l)
{
    const char *run_id = l->what.tags.run_id, *expires = l->what.tags.expires_at;
    const int64_t clock_us = rb_api_clock_us(l->k->api),
                  now_us = clock_us >= 0 ? clock_us : l->k->loop->unix_us(l->k->loop->ctx);
    int64_t until_us = now_us;
    char name[64];
    struct rb_api_call call = new_call("leases.create", RB_KUBE_WRITE_TRIES, l, decode_anchor, anchor_made);
    if (expires)
        rb_parse_instant(expires, &until_us, NULL);
    rb_kube_anchor_name(run_id, name);
    rb_kube_write_anchor(name, run_id, l->what.tags.owner, NULL, now_us, until_us, &call.body);
    rb_percent_put(&call.target, RB_KUBE_LEASES, l->k->config.namespace);
    rb_kube_send(l->k, "POST", &call);
}

static void anchor_known(void *arg, const struct rb_err *err)
{
    struct launch *l = arg;
    if (!err)
        post_next(l);
    else if (err->code == RB_ERR_NOT_FOUND)
        make_anchor(l);
    else
        answer(l, err);
}

// Not mutating, nor is making one: no pod exists because of it, and a Lease that no one uses is found by rbrun gc.
static void ask_anchor(struct launch *l)
{
    char name[64];
    struct rb_api_call call = new_call("leases.get", RB_KUBE_READ_TRIES, l, decode_anchor, anchor_known);
    rb_kube_anchor_name(l->what.tags.run_id, name);
    rb_percent_put(&call.target, RB_KUBE_LEASES "/%s", l->k->config.namespace, name);
    rb_kube_send(l->k, "GET", &call);
}

static void refused(void *arg, const struct rb_err *err)
{
    answer(arg, err);
}

void rb_kube_launch(struct rb_provider *p, const struct rb_launch *what, rb_launch_fn *fn, void *arg)
{
    struct launch *l = rb_api_state_create(sizeof *l);
    struct rb_err err;
    l->k = p->state;
    l->fn = fn;
    l->arg = arg;
    rb_launch_copy(&l->arena, what, &l->what);
    l->n = rb_launch_count(what);
    l->instances = rb_arena_array(&l->arena, (size_t)l->n, sizeof *l->instances);
    if (rb_kube_check_launch(l->k, &l->what, &l->arena, &l->shape, &err)) {
        ask_anchor(l);
        return;
    }
    struct rb_api_call call = new_call(NULL, 1, l, NULL, refused);
    rb_api_refuse(l->k->api, &call, &err);
}
