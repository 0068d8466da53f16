// Dry run before the first launch: may we do all that a run does, and would the cluster take such a pod? Admission rules
// judge a dry run like a launch; nothing is stored. And the cluster's quotas.
#include "base/document/json.h"
#include "providers/k8s/k8s_errors.h"
#include "providers/k8s/k8s_verbs.h"
#include "providers/wire/percent.h"

#include <stdlib.h>
#include <string.h>

// docs/policies/k8s-role.yaml and k8s-role-jobs.yaml, which a test compares.
static const struct needed {
    struct rb_kube_right right;
    enum { ALWAYS, AS_POD, AS_JOB, IN_QUEUE } when;
} rights[] = {
    {{"", "pods", NULL, "create"}, AS_POD},
    {{"", "pods", NULL, "get"}, AS_POD},
    {{"", "pods", NULL, "delete"}, AS_POD},
    {{"batch", "jobs", NULL, "create"}, AS_JOB},
    {{"batch", "jobs", NULL, "get"}, AS_JOB},
    {{"batch", "jobs", NULL, "list"}, AS_JOB},
    {{"batch", "jobs", NULL, "delete"}, AS_JOB},
    {{"", "pods", NULL, "list"}, ALWAYS},
    {{"", "pods", "exec", "get"}, ALWAYS},
    {{"", "pods", "exec", "create"}, ALWAYS},
    {{"coordination.k8s.io", "leases", NULL, "create"}, ALWAYS},
    {{"coordination.k8s.io", "leases", NULL, "get"}, ALWAYS},
    {{"coordination.k8s.io", "leases", NULL, "list"}, ALWAYS},
    {{"coordination.k8s.io", "leases", NULL, "update"}, ALWAYS},
    {{"coordination.k8s.io", "leases", NULL, "delete"}, ALWAYS},
    {{"kueue.x-k8s.io", "workloads", NULL, "delete"}, IN_QUEUE},
};
enum { N_RIGHTS = sizeof rights / sizeof *rights };

static bool is_needed(const struct needed *n, const struct rb_kubernetes_spec *spec)
{
    return n->when == ALWAYS || (n->when == IN_QUEUE && spec->queue) ||
           n->when == (spec->as == RB_KUBERNETES_AS_JOB ? AS_JOB : AS_POD);
}

struct preflight {
    struct rb_arena arena;
    struct rb_kube *k;
    struct rb_launch what;
    struct rb_kube_shape shape;
    int right;
    bool allowed;
    struct rb_buf missing, body;
    struct rb_err dropped; // the cluster takes such a pod, and would not do all that was asked for
    rb_preflight_fn *fn;
    void *arg;
};

static void destroy(void *arg)
{
    struct preflight *p = arg;
    rb_buf_finish(&p->missing);
    rb_buf_finish(&p->body);
    rb_api_state_free(p);
}

// No image is named: whether it is there is known where it is pulled, and nowhere else.
static void end(void *arg, const struct rb_err *err)
{
    struct preflight *p = arg;
    p->fn(p->arg, err, NULL);
    destroy(p);
}

static struct rb_api_call new_call(const char *name, struct preflight *p, rb_api_decode_fn *decode,
                                   rb_api_done_fn *done)
{
    struct rb_api_call call = rb_api_call_new(name, RB_KUBE_READ_TRIES, p, decode, done);
    call.drop = destroy;
    return call;
}

// --- rights that runs do without

static const struct {
    struct rb_kube_right right;
    bool of_cluster;
    const char *name, *loss;
} conveniences[] = {
    {{"", "events", NULL, "list"}, false, "list events", "nothing says why a pod waits"},
    {{"", "pods", NULL, "watch"}, false, "watch pods", "what happens to a pod is noticed by the next listing, within seconds"},
    {{"", "pods", "log", "get"}, false, "get pods/log", "the last words of a pod that failed are not shown"},
    {{"", "resourcequotas", NULL, "list"}, false, "list resourcequotas", "a plan is not compared with quotas"},
    {{"", "nodes", NULL, "list"},
     true,
     "list nodes",
     "pods cannot be priced by their machines (a ClusterRole: docs/policies/k8s-nodes.yaml)"},
};
enum { N_CONVENIENCES = sizeof conveniences / sizeof *conveniences };

struct survey {
    struct rb_arena arena;
    struct rb_kube *k;
    int at, n;
    bool allowed;
    struct rb_lack lacks[N_CONVENIENCES];
    rb_lacks_fn *fn;
    void *arg;
};

static void ask_next_convenience(struct survey *s);

static bool read_review(const char *body, size_t n, bool *out_allowed, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err) &&
           rb_node_bool(rb_node_member(rb_node_member(doc.root, "status"), "allowed"), out_allowed, err);
}

static bool decode_convenience(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    return read_review(body, n, &s->allowed, err);
}

static void convenience_known(void *arg, const struct rb_err *err)
{
    struct survey *s = arg;
    if (err) {
        s->fn(s->arg, err, NULL, 0);
        rb_api_state_free(s);
        return;
    }
    if (!s->allowed)
        s->lacks[s->n++] = (struct rb_lack){conveniences[s->at].name, conveniences[s->at].loss};
    s->at++;
    ask_next_convenience(s);
}

static void ask_next_convenience(struct survey *s)
{
    if (s->at == N_CONVENIENCES) {
        s->fn(s->arg, NULL, s->lacks, s->n);
        rb_api_state_free(s);
        return;
    }
    struct rb_api_call call = rb_api_call_new("selfsubjectaccessreviews.create", RB_KUBE_READ_TRIES, s,
                                              decode_convenience, convenience_known);
    rb_kube_write_question(&conveniences[s->at].right, conveniences[s->at].of_cluster ? NULL : s->k->config.namespace,
                           &call.body);
    rb_buf_puts(&call.target, RB_KUBE_REVIEWS);
    rb_kube_send(s->k, "POST", &call);
}

void rb_kube_lacks(struct rb_provider *p, rb_lacks_fn *fn, void *arg)
{
    struct survey *s = rb_api_state_create(sizeof *s);
    s->k = p->state;
    s->fn = fn;
    s->arg = arg;
    ask_next_convenience(s);
}

// --- the pod

// Without Kueue, or where it does not manage the namespace, pods would ignore their queue.
static bool is_held_back(const struct rb_node *pod)
{
    const struct rb_node *gates = rb_node_member(rb_node_member(pod, "spec"), "schedulingGates");
    for (const struct rb_node *g = rb_node_first(gates); g; g = g->next)
        if (strcmp(rb_node_member_text(g, "name"), "kueue.x-k8s.io/admission") == 0)
            return true;
    return false;
}

static bool decode_dry_run(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct preflight *p = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    char name[64];
    if (!rb_doc_parse_json(&doc, "answer", body, n, err))
        return false;
    rb_kube_name(p->k->spec.as, p->what.token, 0, name);
    if (rb_kube_check_stored(&p->body, doc.root, name, &p->dropped) && p->k->spec.queue && !is_held_back(doc.root))
        rb_err_set(&p->dropped, RB_E_K8S_LAUNCH,
                   "k8s/%s: no Kueue holds pods of namespace %s back, so that queue %s would mean nothing; remove "
                   "resources.kubernetes.queue, or ask who runs the cluster",
                   p->k->region, p->k->config.namespace, p->k->spec.queue);
    return true;
}

static void dry_run_done(void *arg, const struct rb_err *err)
{
    struct preflight *p = arg;
    end(p, err ? err : p->dropped.code ? &p->dropped : NULL);
}

// It belongs to a Lease that does not exist: only the collector of garbage would look.
static void ask_pod(struct preflight *p)
{
    static const struct rb_kube_anchor anchor = {"rb-preflight", "00000000-0000-4000-8000-000000000000"};
    struct rb_api_call call = new_call(rb_kube_calls[p->k->spec.as].create, p, decode_dry_run, dry_run_done);
    rb_kube_write_node(&p->what, 0, &p->shape, &p->k->spec, &anchor, &p->body);
    rb_buf_append(&call.body, p->body.data, p->body.len);
    rb_kube_put_nodes(p->k, p->k->spec.as, &call.target);
    rb_buf_puts(&call.target, "?dryRun=All&fieldValidation=Strict");
    rb_kube_send(p->k, "POST", &call);
}

// --- the rights

static void ask_next_right(struct preflight *p);

static bool decode_review(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct preflight *p = arg;
    return read_review(body, n, &p->allowed, err);
}

static void right_known(void *arg, const struct rb_err *err)
{
    struct preflight *p = arg;
    const struct rb_kube_right *r = &rights[p->right++].right;
    if (err) {
        end(p, err);
        return;
    }
    if (!p->allowed)
        rb_buf_printf(&p->missing, "%s%s %s%s%s", p->missing.len ? ", " : "", r->verb, r->resource,
                      r->subresource ? "/" : "", r->subresource ? r->subresource : "");
    ask_next_right(p);
}

static void ask_next_right(struct preflight *p)
{
    struct rb_err denied;
    while (p->right < N_RIGHTS && !is_needed(&rights[p->right], &p->k->spec))
        p->right++;
    if (p->right < N_RIGHTS) {
        struct rb_api_call call = new_call("selfsubjectaccessreviews.create", p, decode_review, right_known);
        rb_kube_write_question(&rights[p->right].right, p->k->config.namespace, &call.body);
        rb_buf_puts(&call.target, RB_KUBE_REVIEWS);
        rb_kube_send(p->k, "POST", &call);
    } else if (p->missing.len > 0) {
        rb_err_set(&denied, RB_E_PERMISSION,
                   "rights missing in namespace %s (%s): %s; docs/policies/%s is the Role to grant",
                   p->k->config.namespace, p->k->config.source, rb_buf_str(&p->missing),
                   p->k->spec.as == RB_KUBERNETES_AS_JOB ? "k8s-role-jobs.yaml" : "k8s-role.yaml");
        end(p, &denied);
    } else {
        ask_pod(p);
    }
}

void rb_kube_preflight(struct rb_provider *provider, const struct rb_launch *what, rb_preflight_fn *fn, void *arg)
{
    struct preflight *p = rb_api_state_create(sizeof *p);
    struct rb_launch launch = *what;
    struct rb_err err;
    launch.user_data = "exit 0";
    launch.max_lifetime_s = 3600;                  // each field of a launch is tried
    launch.gpus = what->gpus > 0 ? what->gpus : 1; // a wish list does not say how many
    p->k = provider->state;
    p->fn = fn;
    p->arg = arg;
    rb_launch_copy(&p->arena, &launch, &p->what);
    if (rb_kube_check_launch(p->k, &p->what, &p->arena, &p->shape, &err)) {
        ask_next_right(p);
        return;
    }
    struct rb_api_call call = new_call(NULL, p, NULL, end);
    rb_api_refuse(p->k->api, &call, &err);
}
