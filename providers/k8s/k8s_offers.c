// Prices pods by the nodes of the cluster: a node names its cloud and its place in spec.providerID, its type of machine and
// its market in labels; the cloud's price list says the rest. To list nodes is a right of the whole cluster.
// Source: cloud-provider-aws and cloud-provider-gcp on providerID; "Well-Known Labels" in the Kubernetes documentation.
#include "base/limits.h"
#include "profiles/catalog/infra.h"
#include "profiles/catalog/pods.h"
#include "providers/k8s/k8s_markets.h"
#include "providers/k8s/k8s_verbs.h"
#include "providers/wire/percent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PAGES = 1000 };

struct survey {
    struct rb_arena arena;
    struct rb_kube *k;
    const char **types; // [n_types]; none: all
    int n_types, n_pages;
    const char *infra, *next; // next page; NULL: none
    struct rb_catalog found;
    char unpriced[128]; // a node without a price; "": there is none
    rb_offers_fn *fn;
    void *arg;
};

static void answer(struct survey *s, const struct rb_err *err)
{
    rb_catalog_sort(&s->found);
    s->fn(s->arg, err, err ? NULL : &s->found);
    rb_api_state_free(s);
}

// --- a node ---

// "aws:///us-east-1a/i-0ab", "gce://project/us-central1-a/name": the infra of its zone. NULL: another cloud.
static const char *infra_of(const char *provider_id, struct rb_arena *arena)
{
    const char *scheme_end = strstr(provider_id, "://"), *place = scheme_end ? strchr(scheme_end + 3, '/') : NULL;
    const bool is_aws = strncmp(provider_id, "aws://", 6) == 0, is_gcp = strncmp(provider_id, "gce://", 6) == 0;
    if (!place || (!is_aws && !is_gcp))
        return NULL;
    const char *zone = rb_arena_strndup(arena, place + 1, strcspn(place + 1, "/"));
    size_t n = strlen(zone);
    if (is_gcp)
        n = strrchr(zone, '-') ? (size_t)(strrchr(zone, '-') - zone) : 0;
    else
        n -= n > 0;
    const char *infra = rb_arena_printf(arena, "%s/%.*s/%s", is_aws ? "aws" : "gcp", (int)n, zone, zone);
    return rb_infra_check(infra, NULL) ? infra : NULL;
}

static int64_t gpus_of(const struct rb_node *node)
{
    const char *text =
        rb_node_member_text(rb_node_member(rb_node_member(node, "status"), "capacity"), "nvidia.com/gpu");
    return strtol(text, NULL, 10);
}

static bool is_wanted(const struct survey *s, const char *type)
{
    for (int i = 0; i < s->n_types; i++)
        if (strcmp(s->types[i], type) == 0)
            return true;
    return s->n_types == 0;
}

// Where nodes of one type cost differently, in two zones, the most expensive counts: it is unknown which one a pod gets.
static void add(struct survey *s, const struct rb_offer *o)
{
    for (int i = 0; i < s->found.n_offers; i++) {
        struct rb_offer *known = &s->found.offers[i];
        if (strcmp(known->instance_type, o->instance_type) != 0 || known->market != o->market)
            continue;
        if (o->rate.uusd_per_hour > known->rate.uusd_per_hour)
            *known = *o;
        return;
    }
    s->found.offers = rb_arena_grow(&s->arena, s->found.offers, s->found.n_offers, sizeof *s->found.offers);
    s->found.offers[s->found.n_offers++] = *o;
}

// Of a node with four GPUs: the whole, and pods with one and two of them. Others, such as /3, where they are named.
static bool is_offered(const struct survey *s, int gpus, int64_t all)
{
    return s->n_types > 0 || gpus == all || (gpus & (gpus - 1)) == 0;
}

static void take_node(struct survey *s, const struct rb_node *node)
{
    const struct rb_node *labels = rb_node_member(rb_node_member(node, "metadata"), "labels");
    const char *id = rb_node_member_text(rb_node_member(node, "spec"), "providerID"), *infra = infra_of(id, &s->arena);
    const int64_t all = gpus_of(node);
    const struct rb_pod_machine m = {.infra = infra,
                                     .instance_type = rb_node_member_text(labels, "node.kubernetes.io/instance-type"),
                                     .market = rb_kube_market_of(labels)};
    bool is_priced = false;
    if (all < 1 || all > RB_LIMIT_GPUS_PER_NODE)
        return;
    for (int g = 1; g <= all && infra; g++) {
        struct rb_offer o;
        const bool known = is_offered(s, g, all) && rb_pod_offer(s->k->prices, &m, s->infra, g, &s->arena, &o);
        is_priced |= known;
        if (known && is_wanted(s, o.instance_type))
            add(s, &o);
    }
    if (!is_priced)
        snprintf(s->unpriced, sizeof s->unpriced, "%.50s %s of %.50s", *m.instance_type ? m.instance_type : "a node",
                 rb_market_name(m.market),
                 infra ? infra
                 : *id ? id
                       : "no cloud");
}

// --- pages ---

static void ask_nodes(struct survey *s);

static bool decode_nodes(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, "answer", body, n, err))
        return false;
    for (const struct rb_node *node = rb_node_first(rb_node_member(doc.root, "items")); node; node = node->next)
        take_node(s, node);
    const char *next = rb_node_member_text(rb_node_member(doc.root, "metadata"), "continue");
    s->next = *next ? rb_arena_strdup(&s->arena, next) : NULL;
    return true;
}

static void nodes_known(void *arg, const struct rb_err *err)
{
    struct survey *s = arg;
    struct rb_err other;
    if (err && err->code == RB_ERR_DENIED) {
        rb_err_set(
            &other, RB_E_PERMISSION,
            "%s; docs/policies/k8s-nodes.yaml is the ClusterRole to grant. Without it give prices of k8s/%s in a "
            "price list, or resources.kubernetes.price_per_gpu_hour in the job",
            err->message, s->k->region);
        answer(s, &other);
    } else if (err) {
        answer(s, err);
    } else if (s->next && ++s->n_pages < MAX_PAGES) {
        ask_nodes(s);
    } else if (s->found.n_offers == 0 && s->unpriced[0]) {
        rb_err_set(&other, RB_E_K8S_PRICE,
                   "k8s/%s: no price is known for its nodes, such as %s: fetch those of their cloud first, with "
                   "`rbprofile prices update --infra CLOUD/REGION --instance-type T`",
                   s->k->region, s->unpriced);
        answer(s, &other);
    } else {
        answer(s, NULL);
    }
}

static void ask_nodes(struct survey *s)
{
    struct rb_api_call call = rb_api_call_new("nodes.list", RB_KUBE_READ_TRIES, s, decode_nodes, nodes_known);
    rb_percent_put(&call.target, "/api/v1/nodes?limit=%d&continue=%s", RB_KUBE_PAGE, s->next);
    rb_kube_send(s->k, "GET", &call);
}

void rb_kube_offers(struct rb_provider *p, const char *const *types, int n_types, rb_offers_fn *fn, void *arg)
{
    struct survey *s = rb_api_state_create(sizeof *s);
    s->k = p->state;
    s->infra = rb_arena_printf(&s->arena, "k8s/%s", s->k->region);
    s->types = rb_arena_array(&s->arena, (size_t)n_types + 1, sizeof *s->types);
    for (s->n_types = 0; s->n_types < n_types; s->n_types++)
        s->types[s->n_types] = rb_arena_strdup(&s->arena, types[s->n_types]);
    s->fn = fn;
    s->arg = arg;
    ask_nodes(s);
}
