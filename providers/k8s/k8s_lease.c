// The Lease of a run: renewed for all of its pods at once, listed and deleted as the run's group. Deleting it ends what
// pods are left of it, even if no process of ours lives.
#include "base/text/units.h"
#include "providers/k8s/k8s_errors.h"
#include "providers/k8s/k8s_verbs.h"
#include "providers/wire/percent.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CONFLICTS = 5 };

// --- renew: which Lease, by one of its pods; its present version; the new one

struct renewal {
    struct rb_arena arena;
    struct rb_kube *k;
    const char **ids; // [n]
    int n, next, conflicts;
    int64_t until_us;
    enum rb_kubernetes_as as; // what is asked for
    struct rb_kube_pod pod;
    struct rb_kube_lease lease;
    rb_terminate_fn *fn;
    void *arg;
};

static void ask_pod(struct renewal *r);

static void answer(struct renewal *r, const struct rb_err *err)
{
    struct rb_err denied;
    if (err && err->code == RB_ERR_NOT_FOUND)
        err = NULL; // instances that are gone carry no lease
    if (err && err->code == RB_ERR_DENIED) {
        denied = *err;
        rb_err_set(&denied, RB_E_PERMISSION, "%s; allow get and update of leases, and get of pods or jobs",
                   err->message);
        err = &denied;
    }
    r->fn(r->arg, err);
    rb_api_state_free(r);
}

static void ask_lease(struct renewal *r);

static void lease_put(void *arg, const struct rb_err *err)
{
    struct renewal *r = arg;
    if (rb_kube_is_conflict(err) && ++r->conflicts < MAX_CONFLICTS)
        ask_lease(r);
    else
        answer(r, err);
}

static void put_lease(struct renewal *r)
{
    const struct rb_kube_lease *l = &r->lease;
    const int64_t clock_us = rb_api_clock_us(r->k->api);
    struct rb_api_call call = rb_api_call_new("leases.update", RB_KUBE_WRITE_TRIES, r, rb_kube_decode_any, lease_put);
    rb_kube_write_anchor(l->name, l->run_id, l->owner ? l->owner : "",
                         &(struct rb_kube_version){l->uid, l->resource_version},
                         clock_us >= 0 ? clock_us : r->k->loop->unix_us(r->k->loop->ctx), r->until_us, &call.body);
    rb_percent_put(&call.target, RB_KUBE_LEASES "/%s", r->k->config.namespace, l->name);
    rb_kube_send(r->k, "PUT", &call);
}

static bool decode_lease(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct renewal *r = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err) && rb_kube_decode_lease(doc.root, &r->arena, &r->lease, err);
}

static void lease_known(void *arg, const struct rb_err *err)
{
    struct renewal *r = arg;
    if (err || !r->lease.run_id)
        answer(r, err);
    else
        put_lease(r);
}

static void ask_lease(struct renewal *r)
{
    struct rb_api_call call = rb_api_call_new("leases.get", RB_KUBE_READ_TRIES, r, decode_lease, lease_known);
    rb_percent_put(&call.target, RB_KUBE_LEASES "/%s", r->k->config.namespace, r->pod.anchor);
    rb_kube_send(r->k, "GET", &call);
}

static bool decode_pod(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct renewal *r = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err) &&
           rb_kube_decode_node(r->as, doc.root, r->k->region, NULL, &r->arena, &r->pod, err);
}

static void pod_known(void *arg, const struct rb_err *err)
{
    struct renewal *r = arg;
    if (!err && r->pod.anchor)
        ask_lease(r);
    else if (!err || err->code == RB_ERR_NOT_FOUND)
        ask_pod(r);
    else
        answer(r, err);
}

static void nothing_to_renew(void *arg, const struct rb_err *err)
{
    (void)err;
    answer(arg, NULL);
}

// The first pod that is there shows which Lease it is.
static void ask_pod(struct renewal *r)
{
    char name[64], uid[64];
    while (r->next < r->n && !rb_kube_split_id(r->ids[r->next], name, uid))
        r->next++;
    if (r->next == r->n) {
        struct rb_api_call none = rb_api_call_new(NULL, 1, r, NULL, nothing_to_renew);
        struct rb_err gone;
        rb_err_set(&gone, RB_E_CLOUD_NOT_FOUND, "no pod of these is there");
        rb_api_refuse(r->k->api, &none, &gone);
        return;
    }
    r->next++;
    r->as = rb_kube_as_of(name);
    struct rb_api_call call = rb_api_call_new(rb_kube_calls[r->as].get, RB_KUBE_READ_TRIES, r, decode_pod, pod_known);
    rb_kube_put_node(r->k, name, &call.target);
    rb_kube_send(r->k, "GET", &call);
}

void rb_kube_renew(struct rb_provider *p, const char *const *ids, int n, const struct rb_tag *lease,
                   rb_terminate_fn *fn, void *arg)
{
    struct renewal *r = rb_api_state_create(sizeof *r);
    r->k = p->state;
    r->fn = fn;
    r->arg = arg;
    r->ids = rb_arena_array(&r->arena, (size_t)n, sizeof *r->ids);
    for (r->n = 0; r->n < n; r->n++)
        r->ids[r->n] = rb_arena_strdup(&r->arena, ids[r->n]);
    rb_parse_instant(lease->value, &r->until_us, NULL);
    ask_pod(r);
}

// --- groups

struct groups {
    struct rb_arena arena;
    struct rb_kube *k;
    const char *run_id; // NULL: any
    struct rb_kube_leases leases;
    const char *next;
    int n_restarts;
    rb_groups_fn *fn;
    void *arg;
};

static void ask_groups(struct groups *g);

static bool decode_groups(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct groups *g = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err) &&
           rb_kube_decode_leases(doc.root, &g->arena, &g->leases, &g->next, err);
}

// By the cluster's clock, which wrote it.
static void groups_known(void *arg, const struct rb_err *err)
{
    struct groups *g = arg;
    const bool begins_again = err && rb_kube_is_expired(err) && g->n_restarts++ < RB_KUBE_RESTARTS;
    if (begins_again) {
        g->leases.n = 0;
        g->next = NULL;
    }
    if (begins_again || (!err && g->next)) {
        ask_groups(g);
        return;
    }
    const int64_t clock_us = rb_api_clock_us(g->k->api);
    struct rb_placement_group *all = rb_arena_array(&g->arena, (size_t)g->leases.n + 1, sizeof *all);
    for (int i = 0; i < g->leases.n; i++) {
        const struct rb_kube_lease *l = &g->leases.items[i];
        all[i] = (struct rb_placement_group){l->name, l->run_id, l->owner, clock_us < 0 || l->expires_us > clock_us};
    }
    g->fn(g->arg, err, all, g->leases.n);
    rb_api_state_free(g);
}

static void ask_groups(struct groups *g)
{
    struct rb_api_call call = rb_api_call_new("leases.list", RB_KUBE_READ_TRIES, g, decode_groups, groups_known);
    rb_percent_put(&call.target, RB_KUBE_LEASES, g->k->config.namespace);
    rb_kube_put_page(&call.target, g->run_id, g->next);
    rb_kube_send(g->k, "GET", &call);
}

void rb_kube_groups(struct rb_provider *p, const char *run_id, rb_groups_fn *fn, void *arg)
{
    struct groups *g = rb_api_state_create(sizeof *g);
    g->k = p->state;
    g->run_id = run_id ? rb_arena_strdup(&g->arena, run_id) : NULL;
    g->fn = fn;
    g->arg = arg;
    ask_groups(g);
}
