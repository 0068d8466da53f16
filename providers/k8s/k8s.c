// The verbs of a provider as calls of the Kubernetes API: those that take one call, and its life.
#include "providers/k8s/k8s.h"

#include "providers/k8s/k8s_errors.h"
#include "providers/k8s/k8s_verbs.h"
#include "providers/wire/http.h"
#include "providers/wire/percent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- calls

static void authorise(void *authority, struct rb_api_try *t)
{
    struct rb_kube *k = authority;
    const char *token;
    struct rb_err err;
    if (!rb_kube_login_get(k->login, &token, &err)) {
        rb_api_cannot_transmit(t, &err);
        return;
    }
    struct rb_buf header = RB_BUF_INIT;
    rb_buf_printf(&header, "Authorization: Bearer %s", token ? token : "");
    const char *const headers[] = {header.data};
    rb_api_transmit(t, headers, token ? 1 : 0);
    explicit_bzero(header.data, header.len);
    rb_buf_finish(&header);
}

static bool renew_login(void *authority, const struct rb_http_response *response, struct rb_err *err)
{
    (void)response, (void)err;
    struct rb_kube *k = authority;
    return rb_kube_login_forget(k->login);
}

void rb_kube_send(struct rb_kube *k, const char *method, struct rb_api_call *call)
{
    call->method = method;
    if (call->body.len > 0)
        call->content_type = "application/json";
    rb_api_send(k->api, call);
}

bool rb_kube_decode_any(void *arg, const char *body, size_t n, struct rb_err *err)
{
    (void)arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err);
}

void rb_kube_put_page(struct rb_buf *target, const char *run_id, const char *page)
{
    char label[64];
    if (run_id)
        rb_kube_label(run_id, label);
    RB_AUTO(rb_buf_finish) struct rb_buf selector = RB_BUF_INIT;
    rb_buf_printf(&selector, "rb.run-id%s%s", run_id ? "=" : "", run_id ? label : "");
    rb_percent_put(target, "?labelSelector=%s&limit=%d&continue=%s", rb_buf_str(&selector), RB_KUBE_PAGE, page);
}

// --- terminate

struct ending {
    struct rb_arena arena;
    struct rb_kube *k;
    const char *id;
    char name[64], uid[64]; // in it
    struct rb_kube_pod pod; // as the answer shows it; no uid: it does not
    rb_terminate_fn *fn;
    void *arg;
};

// The answer is the pod, or says only that it worked.
static bool decode_ended(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct ending *e = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, "answer", body, n, err))
        return false;
    if (!rb_kube_decode_pod(doc.root, e->k->region, NULL, &e->arena, &e->pod, NULL))
        e->pod.uid = NULL;
    return true;
}

// No scheduler gives a pod that is being deleted a machine.
static void note_never_ran(struct ending *e)
{
    struct rb_kube *k = e->k;
    if (!e->pod.uid || strcmp(e->pod.uid, e->uid) != 0 || e->pod.began_us >= 0)
        return;
    for (int i = 0; i < k->n_never_ran; i++)
        if (strcmp(k->never_ran[i].uid, e->uid) == 0)
            return;
    k->never_ran = rb_grow(k->never_ran, k->n_never_ran, sizeof *k->never_ran);
    struct rb_kube_never_ran *never = &k->never_ran[k->n_never_ran++];
    *never = (struct rb_kube_never_ran){.market = e->pod.instance.market, .ended_us = rb_api_clock_us(k->api)};
    snprintf(never->uid, sizeof never->uid, "%s", e->uid);
}

// Its uid is a precondition: what is not found, or is another object, has ended.
static void ended(void *arg, const struct rb_err *err)
{
    struct ending *e = arg;
    if (!err)
        note_never_ran(e);
    e->fn(e->arg, err && (err->code == RB_ERR_NOT_FOUND || rb_kube_is_conflict(err)) ? NULL : err);
    rb_api_state_free(e);
}

static void delete_node(void *arg, const struct rb_err *unreleased)
{
    (void)unreleased; // by the queue: the object stays until the run's end, but not the process
    struct ending *e = arg;
    struct rb_api_call call = rb_kube_deletion(e->k, e->id, RB_KUBE_WRITE_TRIES, e, ended);
    if (rb_kube_as_of(e->name) == RB_KUBERNETES_AS_POD)
        call.decode = decode_ended;
    rb_kube_send(e->k, "DELETE", &call);
}

static void k8s_terminate(struct rb_provider *p, const char *id, rb_terminate_fn *fn, void *arg)
{
    struct rb_kube *k = p->state;
    struct ending *e = rb_api_state_create(sizeof *e);
    e->k = k;
    e->id = rb_arena_strdup(&e->arena, id);
    e->fn = fn;
    e->arg = arg;
    if (!rb_kube_split_id(id, e->name, e->uid)) {
        struct rb_api_call call = rb_api_call_new("pods.delete", 1, e, NULL, ended);
        struct rb_err err;
        rb_err_set(&err, RB_E_CLOUD_NOT_FOUND, "'%.100s': expected the id of a node, NAME.UID", id);
        rb_api_refuse(k->api, &call, &err);
    } else if (k->spec.queue) {
        rb_kube_delete_workload(k, e->name, e, delete_node);
    } else {
        delete_node(e, NULL);
    }
}

// --- life

static int64_t k8s_clock_us(const struct rb_provider *p)
{
    const struct rb_kube *k = p->state;
    return rb_api_clock_us(k->api);
}

// A cluster on this machine. One that is named by another context counts as far away.
static bool k8s_is_harmless(const char *region)
{
    struct rb_kubeconfig config = {0};
    const bool harmless = rb_kubeconfig_load(region, NULL, &config, NULL) && rb_http_is_loopback(config.server);
    rb_kubeconfig_finish(&config);
    return harmless;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool k8s_same_place(const struct rb_resources *a, const struct rb_resources *b)
{
    return same_text(a->kubernetes.context, b->kubernetes.context) &&
           same_text(a->kubernetes.namespace, b->kubernetes.namespace);
}

static int64_t k8s_credentials_end_us(const struct rb_provider *p)
{
    const struct rb_kube *k = p->state;
    return rb_kube_login_ends_us(k->login);
}

static void k8s_destroy(struct rb_provider *p)
{
    struct rb_kube *k = p->state;
    if (!k)
        return;
    rb_kube_watch_end(k);
    rb_api_destroy(k->api);
    rb_kube_login_destroy(k->login);
    rb_kubeconfig_finish(&k->config);
    free(k->last_words);
    free(k->never_ran);
    free(k);
    p->state = NULL;
}

static bool k8s_create(const struct rb_provider_config *config, struct rb_provider *out, struct rb_err *err)
{
    if (!config->http)
        return rb_err_set(err, RB_E_HTTP_REQUEST, "k8s: needs an HTTP client");
    struct rb_kube *k = rb_xcalloc(1, sizeof *k);
    k->loop = config->loop;
    k->http = config->http;
    snprintf(k->region, sizeof k->region, "%s", config->region);
    static const struct rb_catalog none = {0};
    k->prices = config->prices ? config->prices : &none;
    if (config->resources)
        k->spec = config->resources->kubernetes;
    if (!rb_kube_place(config->region, &k->spec, &k->config, err)) {
        free(k);
        return false;
    }
    k->login = rb_kube_login_create(config->loop, &k->config);
    k->api = rb_api_create(&(struct rb_api_config){.loop = config->loop,
                                                   .http = config->http,
                                                   .endpoint = k->config.server,
                                                   .peer = rb_kube_login_peer(k->login),
                                                   .judge = rb_kube_judge,
                                                   .authority = k,
                                                   .authorise = authorise,
                                                   .renew = renew_login});
    *out = (struct rb_provider){.ops = &rb_provider_k8s, .state = k};
    return true;
}

const struct rb_provider_ops rb_provider_k8s = {
    .name = "k8s",
    .summary = "Kubernetes",
    .launches_gangs = true,
    .transport = "k8s",
    .keeps_lifetimes = true,
    .group_word = "lease",
    .groups_every_run = true,
    .waits_in_queue = true,
    .keeps_addresses = true, // that of a Job is its pod
    .lists_at_once = true, // without a resourceVersion the server reads them where they are written
    .create = k8s_create,
    .destroy = k8s_destroy,
    .launch = rb_kube_launch,
    .list = rb_kube_list,
    .watch = rb_kube_watch,
    .look = rb_kube_look,
    .terminate = k8s_terminate,
    .renew = rb_kube_renew,
    .clock_us = k8s_clock_us,
    .credentials_end_us = k8s_credentials_end_us,
    .groups = rb_kube_groups,
    .end_group = rb_kube_end_group,
    .preflight = rb_kube_preflight,
    .quotas = rb_kube_quotas,
    .lacks = rb_kube_lacks,
    .offers = rb_kube_offers,
    .same_place = k8s_same_place,
    .is_harmless = k8s_is_harmless,
};
