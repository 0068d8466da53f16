// Compares a plan's GPUs with the ResourceQuotas of the namespace.
#include "providers/k8s/k8s_verbs.h"
#include "providers/wire/percent.h"

#include <stdlib.h>
#include <string.h>

static const char gpu_requests[] = "requests.nvidia.com/gpu";

struct asking {
    struct rb_arena arena;
    struct rb_kube *k;
    struct rb_demand *demands;
    int n;
    struct rb_quota *quotas;
    int n_quotas;
    rb_quotas_fn *fn;
    void *arg;
};

static double gpus_of(const struct rb_demand *d, const void *ctx)
{
    (void)ctx;
    return d->gpus;
}

// Whole numbers of GPUs are written as such. -1: it is none.
static double count_of(const struct rb_node *map)
{
    const char *text = rb_node_member_text(map, gpu_requests);
    char *end;
    const long n = strtol(text, &end, 10);
    return end != text && *end == '\0' && n >= 0 ? (double)n : -1;
}

static bool decode(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct asking *a = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, "answer", body, n, err))
        return false;
    const struct rb_node *items = rb_node_member(doc.root, "items");
    for (const struct rb_node *q = rb_node_first(items); q; q = q->next) {
        const struct rb_node *status = rb_node_member(q, "status");
        const double limit = count_of(rb_node_member(status, "hard"));
        if (limit < 0)
            continue;
        a->quotas = rb_arena_grow(&a->arena, a->quotas, a->n_quotas, sizeof *a->quotas);
        a->quotas[a->n_quotas++] = (struct rb_quota){
            .name = rb_arena_printf(&a->arena, "%s of ResourceQuota %s", gpu_requests,
                                    rb_node_member_text(rb_node_member(q, "metadata"), "name")),
            .unit = "GPUs",
            .limit = limit,
            .used = count_of(rb_node_member(status, "used")),
            .wanted = rb_demand_peak(a->demands, a->n, gpus_of, NULL),
        };
    }
    return true;
}

static void done(void *arg, const struct rb_err *err)
{
    struct asking *a = arg;
    a->fn(a->arg, err, a->quotas, a->n_quotas);
    rb_api_state_free(a);
}

void rb_kube_quotas(struct rb_provider *p, const struct rb_demand *demands, int n, rb_quotas_fn *fn, void *arg)
{
    struct asking *a = rb_api_state_create(sizeof *a);
    struct rb_api_call call = rb_api_call_new("resourcequotas.list", RB_KUBE_READ_TRIES, a, decode, done);
    a->k = p->state;
    a->demands = rb_demands_copy(demands, n, &a->arena);
    a->n = n;
    a->fn = fn;
    a->arg = arg;
    rb_percent_put(&call.target, "/api/v1/namespaces/%s/resourcequotas", a->k->config.namespace);
    rb_kube_send(a->k, "GET", &call);
}
