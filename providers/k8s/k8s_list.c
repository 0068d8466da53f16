// Lists the pods of a run, with the leases of the runs they belong to; before them its Jobs, where its nodes are Jobs.
// A cluster does not say "sold out": a pod of ours that has waited for a machine for longer than
// resources.kubernetes.queue_timeout is deleted here, and then reported so. So is a Job that made a second pod.
#include "providers/k8s/k8s_errors.h"
#include "providers/k8s/k8s_words.h"
#include "providers/wire/percent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PAGES = 1000 };
static const int64_t queue_timeout_us = 30 * 60 * RB_US_PER_S; // a node with GPUs that boots takes up to 15 minutes

struct listing {
    struct rb_kube_hearing hearing; // first: arena, cluster, pods
    const char *run_id;             // NULL: any
    struct rb_kube_leases leases;
    enum rb_kubernetes_as kind;  // of the nodes that are being listed
    const char *next;            // page; NULL: the first, or none
    int n_pages, n_restarts, at; // at: the node that is being deleted
    bool incomplete;
    rb_list_fn *fn;
    void *arg;
};

static void answer(struct listing *l, const struct rb_err *err)
{
    struct rb_instance *instances = rb_arena_array(&l->hearing.arena, (size_t)l->hearing.pods.n + 1, sizeof *instances);
    for (int i = 0; i < l->hearing.pods.n; i++)
        instances[i] = l->hearing.pods.items[i].instance;
    l->fn(l->arg, err, instances, l->hearing.pods.n, !err && !l->incomplete);
    rb_api_state_free(l);
}

// --- those that waited for too long, or are two

static bool is_overdue(const struct listing *l, const struct rb_kube_pod *pod)
{
    const struct rb_kubernetes_spec *spec = &l->hearing.k->spec;
    const int64_t limit_us = spec->queue_timeout_us ? spec->queue_timeout_us
                             : spec->queue          ? INT64_MAX
                                                    : queue_timeout_us;
    const int64_t clock_us = rb_api_clock_us(l->hearing.k->api);
    return pod->instance.state == RB_INSTANCE_PENDING && pod->began_us < 0 && pod->created_us >= 0 && clock_us >= 0 &&
           clock_us - pod->created_us > limit_us;
}

static void end_next(struct listing *l);

// A pod that could not be deleted goes on waiting until the next listing.
static void overdue_ended(void *arg, const struct rb_err *err)
{
    struct listing *l = arg;
    struct rb_kube_pod *pod = &l->hearing.pods.items[l->at++];
    if (!pod->has_second && (!err || err->code == RB_ERR_NOT_FOUND)) {
        pod->instance.state = RB_INSTANCE_TERMINATED;
        pod->instance.terminated_at_us = rb_api_clock_us(l->hearing.k->api);
        pod->instance.sold_out = true;
        pod->instance.state_reason =
            rb_arena_printf(&l->hearing.arena, "no machine within resources.kubernetes.queue_timeout (%s)",
                            *pod->waits_for ? pod->waits_for : "the scheduler says no more");
    }
    end_next(l);
}

static void delete_node(void *arg, const struct rb_err *unreleased)
{
    (void)unreleased; // by the queue
    struct listing *l = arg;
    struct rb_api_call call =
        rb_kube_deletion(l->hearing.k, l->hearing.pods.items[l->at].instance.id, 1, l, overdue_ended);
    rb_kube_send(l->hearing.k, "DELETE", &call);
}

static void end_next(struct listing *l)
{
    const struct rb_kube_pods *pods = &l->hearing.pods;
    while (l->at < pods->n && !pods->items[l->at].has_second && !is_overdue(l, &pods->items[l->at]))
        l->at++;
    if (l->at == pods->n) {
        answer(l, NULL);
        return;
    }
    const struct rb_kube_pod *pod = &pods->items[l->at];
    if (pod->group)
        rb_kube_delete_workload(l->hearing.k, pod->name, l, delete_node);
    else
        delete_node(l, NULL);
}

// --- pages

static void ask_nodes(struct listing *l);
static void ask_leases(struct listing *l);

static bool decode_nodes(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct listing *l = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err) &&
           rb_kube_decode_nodes(l->kind, doc.root, l->hearing.k->region, &l->leases, &l->hearing.arena,
                                &l->hearing.pods, &l->next, err);
}

// The server forgets the rest of a listing after some minutes.
static bool begins_again(struct listing *l, const struct rb_err *err)
{
    if (!rb_kube_is_expired(err) || ++l->n_restarts > RB_KUBE_RESTARTS)
        return false;
    l->leases.n = l->hearing.pods.n = l->n_pages = 0;
    l->next = NULL;
    return true;
}

static void page_known(struct listing *l, const struct rb_err *err, void (*ask)(struct listing *l),
                       void (*then)(struct listing *l))
{
    struct rb_err endless;
    if (err && begins_again(l, err)) {
        ask_leases(l);
    } else if (err) {
        l->incomplete = true;
        answer(l, rb_kube_is_expired(err) ? NULL : err);
    } else if (l->next && ++l->n_pages >= MAX_PAGES) {
        rb_err_set(&endless, RB_E_ENDLESS, "k8s/%s: no end after %d pages", l->hearing.k->region, MAX_PAGES);
        answer(l, &endless);
    } else if (l->next) {
        ask(l);
    } else {
        then(l);
    }
}

static void words_are_known(void *state)
{
    end_next(state);
}

static void all_are_known(struct listing *l)
{
    rb_kube_join_jobs(&l->hearing.pods);
    // Other runs' pods are other controllers' affair.
    l->at = l->run_id ? 0 : l->hearing.pods.n;
    if (l->run_id)
        rb_kube_hear(&l->hearing, words_are_known);
    else
        end_next(l);
}

static void ask_pods(struct listing *l)
{
    l->kind = RB_KUBERNETES_AS_POD;
    ask_nodes(l);
}

static void nodes_known(void *arg, const struct rb_err *err)
{
    struct listing *l = arg;
    page_known(l, err, ask_nodes, l->kind == RB_KUBERNETES_AS_POD ? all_are_known : ask_pods);
}

static void ask_nodes(struct listing *l)
{
    struct rb_api_call call =
        rb_api_call_new(rb_kube_calls[l->kind].list, RB_KUBE_READ_TRIES, l, decode_nodes, nodes_known);
    rb_kube_put_nodes(l->hearing.k, l->kind, &call.target);
    rb_kube_put_page(&call.target, l->run_id, l->next);
    rb_kube_send(l->hearing.k, "GET", &call);
}

static bool decode_leases(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct listing *l = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err) &&
           rb_kube_decode_leases(doc.root, &l->hearing.arena, &l->leases, &l->next, err);
}

static void ask_first_nodes(struct listing *l)
{
    l->kind = l->hearing.k->spec.as;
    ask_nodes(l);
}

static void leases_known(void *arg, const struct rb_err *err)
{
    page_known(arg, err, ask_leases, ask_first_nodes);
}

static void ask_leases(struct listing *l)
{
    struct rb_api_call call = rb_api_call_new("leases.list", RB_KUBE_READ_TRIES, l, decode_leases, leases_known);
    rb_percent_put(&call.target, RB_KUBE_LEASES, l->hearing.k->config.namespace);
    rb_kube_put_page(&call.target, l->run_id, l->next);
    rb_kube_send(l->hearing.k, "GET", &call);
}

void rb_kube_list(struct rb_provider *p, const char *run_id, rb_list_fn *fn, void *arg)
{
    struct listing *l = rb_api_state_create(sizeof *l);
    l->hearing.k = p->state;
    l->run_id = run_id ? rb_arena_strdup(&l->hearing.arena, run_id) : NULL;
    l->fn = fn;
    l->arg = arg;
    ask_leases(l);
}
