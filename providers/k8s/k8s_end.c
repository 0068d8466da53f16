// The end of a run: its Lease is deleted, and with it what pods are left. Before that the Workloads of its launches, where it
// waited in a queue of Kueue: these hold the objects of ended pods. Source: Kueue, "Run A Group Of Pods".
#include "providers/k8s/k8s_errors.h"
#include "providers/k8s/k8s_verbs.h"
#include "providers/wire/percent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ending {
    struct rb_arena arena;
    struct rb_kube *k;
    const char *name; // of the Lease
    struct rb_kube_lease lease;
    struct rb_kube_pods pods;
    const char *next_page;
    int n_restarts, next; // next: pod
    rb_terminate_fn *fn;
    void *arg;
};

static struct rb_api_call new_call(const char *name, struct ending *e, rb_api_decode_fn *decode, rb_api_done_fn *done)
{
    return rb_api_call_new(name, RB_KUBE_WRITE_TRIES, e, decode, done);
}

static void answer(void *arg, const struct rb_err *err)
{
    struct ending *e = arg;
    e->fn(e->arg, err && err->code == RB_ERR_NOT_FOUND ? NULL : err);
    rb_api_state_free(e);
}

static void delete_lease(struct ending *e)
{
    struct rb_api_call call = new_call("leases.delete", e, rb_kube_decode_any, answer);
    rb_percent_put(&call.target, RB_KUBE_LEASES "/%s", e->k->config.namespace, e->name);
    rb_buf_puts(&call.body, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":\"Background\"}");
    rb_kube_send(e->k, "DELETE", &call);
}

// --- the Workloads

void rb_kube_delete_workload(struct rb_kube *k, const char *pod, void *state, rb_api_done_fn *done)
{
    struct rb_api_call call = rb_api_call_new("workloads.delete", RB_KUBE_WRITE_TRIES, state, rb_kube_decode_any, done);
    char group[64];
    const char *member = strrchr(pod, '-');
    snprintf(group, sizeof group, "%.*s", (int)(member ? member - pod : 0), pod);
    rb_percent_put(&call.target, "/apis/kueue.x-k8s.io/v1beta1/namespaces/%s/workloads/%s", k->config.namespace, group);
    rb_kube_send(k, "DELETE", &call);
}

static bool is_first_of_group(const struct ending *e, int at)
{
    const char *group = e->pods.items[at].group;
    for (int i = 0; i < at && group; i++)
        if (e->pods.items[i].group && strcmp(e->pods.items[i].group, group) == 0)
            return false;
    return group != NULL;
}

static void delete_next_workload(struct ending *e);

static void workload_deleted(void *arg, const struct rb_err *err)
{
    if (err && err->code != RB_ERR_NOT_FOUND)
        answer(arg, err);
    else
        delete_next_workload(arg);
}

static void delete_next_workload(struct ending *e)
{
    while (e->next < e->pods.n && !is_first_of_group(e, e->next))
        e->next++;
    if (e->next == e->pods.n) {
        delete_lease(e);
        return;
    }
    rb_kube_delete_workload(e->k, e->pods.items[e->next++].name, e, workload_deleted);
}

static void ask_pods(struct ending *e);

static bool decode_pods(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct ending *e = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err) &&
           rb_kube_decode_nodes(RB_KUBERNETES_AS_POD, doc.root, e->k->region, NULL, &e->arena, &e->pods, &e->next_page,
                                err);
}

static void pods_known(void *arg, const struct rb_err *err)
{
    struct ending *e = arg;
    if (err && rb_kube_is_expired(err) && e->n_restarts++ < RB_KUBE_RESTARTS) {
        e->pods.n = 0;
        e->next_page = NULL;
        ask_pods(e);
    } else if (err) {
        answer(e, err);
    } else if (e->next_page) {
        ask_pods(e);
    } else {
        delete_next_workload(e);
    }
}

static void ask_pods(struct ending *e)
{
    struct rb_api_call call = new_call("pods.list", e, decode_pods, pods_known);
    rb_percent_put(&call.target, RB_KUBE_PODS, e->k->config.namespace);
    rb_kube_put_page(&call.target, e->lease.run_id, e->next_page);
    rb_kube_send(e->k, "GET", &call);
}

static bool decode_lease(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct ending *e = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err) && rb_kube_decode_lease(doc.root, &e->arena, &e->lease, err);
}

static void lease_known(void *arg, const struct rb_err *err)
{
    struct ending *e = arg;
    if (err)
        answer(e, err);
    else if (e->lease.run_id)
        ask_pods(e);
    else
        delete_lease(e);
}

static void ask_lease(struct ending *e)
{
    struct rb_api_call call = new_call("leases.get", e, decode_lease, lease_known);
    rb_percent_put(&call.target, RB_KUBE_LEASES "/%s", e->k->config.namespace, e->name);
    rb_kube_send(e->k, "GET", &call);
}

void rb_kube_end_group(struct rb_provider *p, const char *name, rb_terminate_fn *fn, void *arg)
{
    struct ending *e = rb_api_state_create(sizeof *e);
    e->k = p->state;
    e->name = rb_arena_strdup(&e->arena, name);
    e->fn = fn;
    e->arg = arg;
    if (e->k->spec.queue)
        ask_lease(e);
    else
        delete_lease(e);
}
