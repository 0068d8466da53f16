#include "profiles/catalog/pods.h"

#include "base/limits.h"
#include "base/text/number.h"
#include "profiles/catalog/infra.h"

#include <stdio.h>
#include <string.h>

// --- by its machine ---

// A zone's own price before its region's.
static const struct rb_offer *find_machine(const struct rb_catalog *c, const struct rb_pod_machine *m)
{
    const struct rb_offer *best = NULL;
    for (int i = 0; i < c->n_offers; i++) {
        const struct rb_offer *o = &c->offers[i];
        if (o->market == m->market && strcmp(o->instance_type, m->instance_type) == 0 &&
            rb_infra_within(m->infra, o->infra) && (!best || strlen(o->infra) > strlen(best->infra)))
            best = o;
    }
    return best;
}

bool rb_pod_offer(const struct rb_catalog *c, const struct rb_pod_machine *m, const char *k8s_infra, int gpus,
                  struct rb_arena *arena, struct rb_offer *out)
{
    const struct rb_offer *machine = find_machine(c, m);
    if (!machine || gpus < 1 || gpus > machine->gpus)
        return false;
    const double share = (double)gpus / machine->gpus;
    struct rb_offer o = *machine;
    o.infra = rb_arena_strdup(arena, k8s_infra);
    o.instance_type = gpus == machine->gpus ? rb_arena_strdup(arena, m->instance_type)
                                            : rb_arena_printf(arena, "%s/%d", m->instance_type, gpus);
    o.accelerator = rb_arena_strdup(arena, machine->accelerator);
    o.gpus = gpus;
    o.vcpus *= share;
    o.memory_gb *= share;
    o.rate.uusd_per_hour = (machine->rate.uusd_per_hour * gpus + machine->gpus - 1) / machine->gpus;
    o.source = rb_arena_printf(arena, "attributed: %d of %d GPUs of %s", gpus, machine->gpus, machine->infra);
    *out = o;
    return true;
}

// --- by what the job says ---

static bool has_prices(const struct rb_catalog *c, const char *infra)
{
    for (int i = 0; i < c->n_offers; i++)
        if (rb_infra_within(c->offers[i].infra, infra))
            return true;
    return false;
}

static bool price_pod(const struct rb_job *job, const char *infra, int type, struct rb_offer *out, struct rb_err *err)
{
    const struct rb_resources *r = &job->resources;
    const char *name = r->instance_types.items[type], *slash = strrchr(name, '/');
    const bool is_cpu = strncmp(name, "cpu/", 4) == 0;
    const struct rb_place nowhere = {0};
    char key[64];
    int64_t n;
    snprintf(key, sizeof key, "resources.instance_types[%d]", type);
    if (!slash || !rb_parse_int(slash + 1, &n) || n < 1 || n > RB_LIMIT_GPUS_PER_NODE)
        return rb_err_set_at(err, RB_E_K8S_PRICE, nowhere, key,
                             "\"%.60s\": expected TYPE/GPUS, gpu/N or cpu/N with 1..%d, which "
                             "resources.kubernetes.price_per_gpu_hour can price",
                             name, RB_LIMIT_GPUS_PER_NODE);
    if (!is_cpu && r->accelerators.n != 1)
        return rb_err_set_at(err, RB_E_K8S_PRICE, nowhere, "resources.accelerators",
                             "expected the one GPU that pods of %s have, beside "
                             "resources.kubernetes.price_per_gpu_hour, got %d",
                             infra, r->accelerators.n);
    const int64_t each = r->kubernetes.uusd_per_gpu_hour;
    *out = (struct rb_offer){.infra = infra,
                             .instance_type = name,
                             .accelerator = is_cpu ? "CPU" : r->accelerators.items[0],
                             .gpus = (int)n,
                             .vcpus = is_cpu ? (double)n : 0,
                             .market = RB_MARKET_ON_DEMAND,
                             .rate = {n * each},
                             .declared_free = each == 0,
                             .source = "attributed: resources.kubernetes.price_per_gpu_hour",
                             .fetched_at_us = -1};
    return true;
}

bool rb_catalog_add_pods(struct rb_catalog *c, const struct rb_job *job, struct rb_arena *arena, struct rb_err *err)
{
    const struct rb_resources *r = &job->resources;
    if (!r->kubernetes.has_price)
        return true;
    struct rb_catalog made = {
        .offers = rb_arena_array(arena, (size_t)(r->infra.n * r->instance_types.n) + 1, sizeof *made.offers)};
    for (int i = 0; i < r->infra.n; i++)
        for (int t = 0; t < r->instance_types.n && rb_infra_within(r->infra.items[i], "k8s"); t++)
            if (!has_prices(c, r->infra.items[i]) &&
                !price_pod(job, r->infra.items[i], t, &made.offers[made.n_offers++], err))
                return false;
    rb_catalog_add(c, &made, arena);
    return true;
}
