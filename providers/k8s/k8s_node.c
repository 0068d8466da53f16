// The object behind a node: its path, its deletion, and a look at it. Of a Job the pod is asked for as well, even if the Job has gone:
// a deleted Job goes at once, and its pod still has its machine.
#include "providers/k8s/k8s_verbs.h"
#include "providers/wire/percent.h"

#include <string.h>

// A pod that we end has no time to save: what its trials saved now would not be fetched, and its grace would be billed. Not 0,
// by which the object goes and its process stays. A Job's pod is ended by the cluster, with the grace of its spec.
enum { END_S = 1 };

const struct rb_kube_calls rb_kube_calls[] = {
    [RB_KUBERNETES_AS_POD] = {"pods.create", "pods.get", "pods.list"},
    [RB_KUBERNETES_AS_JOB] = {"jobs.create", "jobs.get", "jobs.list"},
};

void rb_kube_put_nodes(const struct rb_kube *k, enum rb_kubernetes_as as, struct rb_buf *target)
{
    if (as == RB_KUBERNETES_AS_JOB)
        rb_percent_put(target, "/apis/batch/v1/namespaces/%s/jobs", k->config.namespace);
    else
        rb_percent_put(target, RB_KUBE_PODS, k->config.namespace);
}

void rb_kube_put_node(const struct rb_kube *k, const char *name, struct rb_buf *target)
{
    rb_kube_put_nodes(k, rb_kube_as_of(name), target);
    rb_percent_put(target, "/%s", name);
}

struct rb_api_call rb_kube_deletion(const struct rb_kube *k, const char *id, int tries, void *state,
                                    rb_api_done_fn *done)
{
    char name[64], uid[64];
    rb_kube_split_id(id, name, uid);
    const bool is_job = rb_kube_as_of(name) == RB_KUBERNETES_AS_JOB;
    struct rb_api_call call =
        rb_api_call_new(is_job ? "jobs.delete" : "pods.delete", tries, state, rb_kube_decode_any, done);
    rb_kube_put_node(k, name, &call.target);
    rb_kube_write_deletion(uid, is_job ? 0 : END_S, &call.body);
    return call;
}

// --- look

struct looking {
    struct rb_arena arena;
    struct rb_kube *k;
    char name[64], uid[64];
    struct rb_kube_pods found; // of a Job: it, unless it has gone, and its pods
    struct rb_err gone;        // the Job; code NONE: it has not
    struct rb_instance never_ran;
    const char *next;
    rb_launch_fn *fn;
    void *arg;
};

// Pods of another Job that had this name before, or has it now.
static void drop_others(struct looking *l)
{
    const char *id = rb_arena_printf(&l->arena, "%s.%s", l->name, l->uid);
    int n = 0;
    for (int i = 0; i < l->found.n; i++)
        if (strcmp(l->found.items[i].instance.id, id) == 0)
            l->found.items[n++] = l->found.items[i];
    l->found.n = n;
}

static void answer(struct looking *l, const struct rb_err *err)
{
    if (!err) {
        drop_others(l);
        rb_kube_join_jobs(&l->found);
        err = l->found.n == 0 ? &l->gone : NULL;
    }
    l->fn(l->arg, err, err ? NULL : &l->found.items[0].instance);
    rb_api_state_free(l);
}

static void ask_pods(struct looking *l);

static bool decode_pods(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct looking *l = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err) &&
           rb_kube_decode_nodes(RB_KUBERNETES_AS_POD, doc.root, l->k->region, NULL, &l->arena, &l->found, &l->next,
                                err);
}

static void pods_known(void *arg, const struct rb_err *err)
{
    struct looking *l = arg;
    if (!err && l->next)
        ask_pods(l);
    else
        answer(l, err);
}

static void ask_pods(struct looking *l)
{
    struct rb_api_call call = rb_api_call_new("pods.list", RB_KUBE_READ_TRIES, l, decode_pods, pods_known);
    const char *selector = rb_arena_printf(&l->arena, "batch.kubernetes.io/job-name=%s", l->name);
    rb_kube_put_nodes(l->k, RB_KUBERNETES_AS_POD, &call.target);
    rb_percent_put(&call.target, "?labelSelector=%s&limit=%d&continue=%s", selector, RB_KUBE_PAGE, l->next);
    rb_kube_send(l->k, "GET", &call);
}

static bool decode_node(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct looking *l = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    l->found.items = rb_arena_grow(&l->arena, l->found.items, 0, sizeof *l->found.items);
    l->found.n = 1;
    return rb_doc_parse_json(&doc, "answer", body, n, err) &&
           rb_kube_decode_node(rb_kube_as_of(l->name), doc.root, l->k->region, NULL, &l->arena, &l->found.items[0],
                               err);
}

// The end of a pod that was never billed; NULL: it is not known to be one.
static const struct rb_instance *end_of(struct looking *l)
{
    for (int i = 0; i < l->k->n_never_ran; i++) {
        const struct rb_kube_never_ran *never = &l->k->never_ran[i];
        if (strcmp(never->uid, l->uid) != 0)
            continue;
        l->never_ran = (struct rb_instance){.id = rb_arena_printf(&l->arena, "%s.%s", l->name, l->uid),
                                            .state = RB_INSTANCE_TERMINATED,
                                            .region = l->k->region,
                                            .market = never->market,
                                            .running_at_us = -1,
                                            .terminated_at_us = never->ended_us};
        return &l->never_ran;
    }
    return NULL;
}

static void node_known(void *arg, const struct rb_err *err)
{
    struct looking *l = arg;
    struct rb_err other;
    if (!err && strcmp(l->found.items[0].uid, l->uid) != 0) {
        rb_err_set(&other, RB_E_CLOUD_NOT_FOUND, "%s is another one by now", l->name);
        err = &other;
    }
    const bool has_gone = err && err->code == RB_ERR_NOT_FOUND;
    const struct rb_instance *end = has_gone ? end_of(l) : NULL;
    if (has_gone)
        l->gone = *err;
    if (end) {
        l->fn(l->arg, NULL, end);
        rb_api_state_free(l);
    } else if ((!err || has_gone) && rb_kube_as_of(l->name) == RB_KUBERNETES_AS_JOB) {
        ask_pods(l);
    } else {
        answer(l, err);
    }
}

void rb_kube_look(struct rb_provider *p, const char *id, rb_launch_fn *fn, void *arg)
{
    struct looking *l = rb_api_state_create(sizeof *l);
    l->k = p->state;
    l->fn = fn;
    l->arg = arg;
    const bool is_id = rb_kube_split_id(id, l->name, l->uid);
    struct rb_api_call call =
        rb_api_call_new(rb_kube_calls[rb_kube_as_of(l->name)].get, RB_KUBE_READ_TRIES, l, decode_node, node_known);
    if (!is_id) {
        struct rb_err err;
        rb_err_set(&err, RB_E_CLOUD_NOT_FOUND, "'%.100s': expected the id of a node, NAME.UID", id);
        rb_api_refuse(l->k->api, &call, &err);
        return;
    }
    rb_kube_put_node(l->k, l->name, &call.target);
    rb_kube_send(l->k, "GET", &call);
}
