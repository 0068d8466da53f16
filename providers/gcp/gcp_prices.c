#include "providers/gcp/gcp_prices.h"

#include "base/text/number.h"
#include "base/text/table.h"
#include "providers/gcp/gcp_encode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PAGE_TOKEN = 512, NANOS_PER_UUSD = 1000 };
#define NANOS_PER_USD INT64_C(1000000000)

// Families that also come with local disks (a2-ultragpu, a3, a4) are not here: those are priced apart, and how many
// there are is not in the price list.
static const struct family {
    const char *prefix, *core, *memory, *gpu, *accelerator; // gpu NULL: GPUs are attached
    double gpu_memory_gb;
} families[] = {
    {"a2-highgpu-", "A2 Instance Core", "A2 Instance Ram", "Nvidia Tesla A100 GPU", "A100", 40},
    {"a2-megagpu-", "A2 Instance Core", "A2 Instance Ram", "Nvidia Tesla A100 GPU", "A100", 40},
    {"g2-standard-", "G2 Instance Core", "G2 Instance Ram", "Nvidia L4 GPU", "L4", 24},
    {"n1-highcpu-", "N1 Predefined Instance Core", "N1 Predefined Instance Ram", NULL, "CPU", 0},
    {"n1-highmem-", "N1 Predefined Instance Core", "N1 Predefined Instance Ram", NULL, "CPU", 0},
    {"n1-standard-", "N1 Predefined Instance Core", "N1 Predefined Instance Ram", NULL, "CPU", 0},
    {"n2-highcpu-", "N2 Instance Core", "N2 Instance Ram", NULL, "CPU", 0},
    {"n2-highmem-", "N2 Instance Core", "N2 Instance Ram", NULL, "CPU", 0},
    {"n2-standard-", "N2 Instance Core", "N2 Instance Ram", NULL, "CPU", 0},
};
static const struct attached {
    const char *type, *gpu, *accelerator;
    double gpu_memory_gb;
} attached[] = {
    {"nvidia-tesla-p100", "Nvidia Tesla P100 GPU", "P100", 16},
    {"nvidia-tesla-p4", "Nvidia Tesla P4 GPU", "P4", 8},
    {"nvidia-tesla-t4", "Nvidia Tesla T4 GPU", "T4", 16},
    {"nvidia-tesla-v100", "Nvidia Tesla V100 GPU", "V100", 16},
};

static bool no_rule(const char *instance_type, struct rb_err *err)
{
    return rb_err_set(err, RB_E_CLOUD_PRICES,
                      "%.80s: the parts of its price are unknown here; import a price list that names it "
                      "(rbprofile import prices.csv)",
                      instance_type);
}

bool rb_gcp_priced_begin(const char *instance_type, struct rb_gcp_priced *out, struct rb_err *err)
{
    struct rb_gcp_machine_type type;
    if (!rb_gcp_machine_type_parse(instance_type, &type, err))
        return false;
    const struct family *f = RB_ROW_STARTING(families, type.name);
    const struct attached *a = type.n_accelerators > 0 ? RB_ROW_OF(attached, type.accelerator) : NULL;
    if (!f || (type.n_accelerators > 0 && !a))
        return no_rule(instance_type, err);
    *out = (struct rb_gcp_priced){
        .instance_type = instance_type,
        .accelerator = a ? a->accelerator : f->accelerator,
        .gpu_memory_gb = a ? a->gpu_memory_gb : f->gpu_memory_gb,
        .gpus = type.n_accelerators,
        .names = {f->core, f->memory, a ? a->gpu : f->gpu},
        .nanos = {{-1, -1, -1}, {-1, -1, -1}},
    };
    return true;
}

// --- the machine type ---

static bool read_machine(const struct rb_node *machine, struct rb_gcp_priced *p, struct rb_err *err)
{
    int64_t cpus, memory_mib, gpus = p->gpus;
    const struct rb_node *own = rb_node_first(rb_node_member(machine, "accelerators"));
    if (!rb_node_int(rb_node_member(machine, "guestCpus"), 1, 4096, &cpus, err) ||
        !rb_node_int(rb_node_member(machine, "memoryMb"), 1, 1 << 30, &memory_mib, err) ||
        (own && !rb_node_int(rb_node_member(own, "guestAcceleratorCount"), 1, 64, &gpus, err)))
        return rb_err_prefix(err, "%s", p->instance_type);
    if (p->names[RB_GCP_GPU] && gpus == 0)
        return no_rule(p->instance_type, err);
    p->cpus = cpus;
    p->memory_mib = memory_mib;
    p->gpus = gpus;
    return true;
}

// The first zone of the region that has it: the same type is the same machine in all of them.
static const struct rb_node *machine_in(const struct rb_node *root, const char *region)
{
    const struct rb_node *items = rb_node_member(root, "items");
    const size_t n = strlen(region);
    for (const struct rb_node *s = items && items->kind == RB_NODE_MAP ? items->first : NULL; s; s = s->next) {
        const struct rb_node *list = rb_node_member(s, "machineTypes");
        if (strncmp(s->key, "zones/", 6) == 0 && strncmp(s->key + 6, region, n) == 0 && s->key[6 + n] == '-' && list &&
            list->kind == RB_NODE_LIST && list->first)
            return list->first;
    }
    return NULL;
}

bool rb_gcp_priced_machine(const char *body, size_t n, const char *region, struct rb_gcp_priced *p, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, "answer", body, n, err))
        return false;
    const struct rb_node *machine = machine_in(doc.root, region);
    const bool ok =
        machine ? read_machine(machine, p, err)
                : rb_err_set(err, RB_E_CLOUD_NOT_FOUND, "%s: no zone of gcp/%s sells it", p->instance_type, region);
    return ok;
}

// --- the price list ---

static const struct rb_node *only(const struct rb_node *list)
{
    return list && list->kind == RB_NODE_LIST && list->n_children == 1 ? list->first : NULL;
}

// Look-alikes (commitments, calendar mode, sole tenancy) have something before or after these words.
static bool is_called(const char *description, const char *part, enum rb_gcp_part kind, enum rb_market market)
{
    char start[128];
    if (market == RB_MARKET_ON_DEMAND)
        snprintf(start, sizeof start, "%s running in ", part);
    else if (kind == RB_GCP_GPU)
        snprintf(start, sizeof start, "%s attached to Spot Preemptible VMs running in ", part);
    else
        snprintf(start, sizeof start, "Spot Preemptible %s running in ", part);
    return strncmp(description, start, strlen(start)) == 0;
}

static bool is_sold_in(const struct rb_node *sku, const char *region)
{
    for (const struct rb_node *r = rb_node_first(rb_node_member(sku, "serviceRegions")); r; r = r->next)
        if (r->kind == RB_NODE_STRING && strcmp(r->text, region) == 0)
            return true;
    return false;
}

static bool odd_price(const struct rb_node *sku, struct rb_err *err)
{
    return rb_err_set(err, RB_E_CLOUD_PRICES, "price list: %.100s: expected one price in USD per hour",
                      rb_node_member_text(sku, "description"));
}

// {"units": "2", "nanos": 933908000}, of one tier, by the hour.
static bool read_nanos(const struct rb_node *sku, enum rb_gcp_part kind, int64_t *out, struct rb_err *err)
{
    const struct rb_node *expression = rb_node_member(only(rb_node_member(sku, "pricingInfo")), "pricingExpression");
    const struct rb_node *price = rb_node_member(only(rb_node_member(expression, "tieredRates")), "unitPrice");
    const struct rb_node *nanos = rb_node_member(price, "nanos");
    const char *units = rb_node_member_text(price, "units");
    int64_t dollars = 0;
    if (!price || strcmp(rb_node_member_text(expression, "usageUnit"), kind == RB_GCP_MEMORY ? "GiBy.h" : "h") != 0 ||
        strcmp(rb_node_member_text(price, "currencyCode"), "USD") != 0 || (*units && !rb_parse_int(units, &dollars)) ||
        dollars < 0 || dollars > 100000 ||
        (nanos && (nanos->kind != RB_NODE_INT || nanos->integer < 0 || nanos->integer >= NANOS_PER_USD)))
        return odd_price(sku, err);
    const int64_t total = dollars * NANOS_PER_USD + (nanos ? nanos->integer : 0);
    if (total == 0)
        return odd_price(sku, err); // nothing here is given away
    *out = total;
    return true;
}

static bool take_sku(const struct rb_node *sku, enum rb_market market, struct rb_gcp_priced *p, struct rb_err *err)
{
    for (int kind = 0; kind < RB_GCP_N_PARTS; kind++) {
        int64_t nanos = 0, *kept = &p->nanos[market][kind];
        if (!p->names[kind] ||
            !is_called(rb_node_member_text(sku, "description"), p->names[kind], (enum rb_gcp_part)kind, market))
            continue;
        if (!read_nanos(sku, (enum rb_gcp_part)kind, &nanos, err))
            return false;
        if (*kept >= 0 && *kept != nanos)
            return rb_err_set(err, RB_E_CLOUD_PRICES, "price list: %.100s: listed twice, at different prices",
                              rb_node_member_text(sku, "description"));
        *kept = nanos;
    }
    return true;
}

static bool read_sku(const struct rb_node *sku, const char *region, struct rb_gcp_priced *machines, int n,
                     struct rb_err *err)
{
    const char *usage = rb_node_member_text(rb_node_member(sku, "category"), "usageType");
    const bool spot = strcmp(usage, "Preemptible") == 0;
    if ((!spot && strcmp(usage, "OnDemand") != 0) || !is_sold_in(sku, region))
        return true;
    for (int i = 0; i < n; i++)
        if (!take_sku(sku, spot ? RB_MARKET_SPOT : RB_MARKET_ON_DEMAND, &machines[i], err))
            return false;
    return true;
}

static bool read_page(const struct rb_node *root, const char *region, struct rb_gcp_priced *machines, int n,
                      char *out_next, struct rb_err *err)
{
    const struct rb_node *skus = rb_node_member(root, "skus");
    const char *next = rb_node_member_text(root, "nextPageToken");
    if (!skus || skus->kind != RB_NODE_LIST || strlen(next) >= MAX_PAGE_TOKEN)
        return rb_err_set(err, RB_E_ANSWER, "answer: skus: expected a list");
    for (const struct rb_node *sku = skus->first; sku; sku = sku->next)
        if (!read_sku(sku, region, machines, n, err))
            return false;
    snprintf(out_next, MAX_PAGE_TOKEN, "%s", next);
    return true;
}

bool rb_gcp_priced_page(const char *body, size_t size, const char *region, struct rb_gcp_priced *machines, int n,
                        char *out_next, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, size, err) &&
           read_page(doc.root, region, machines, n, out_next, err);
}

// --- the sum ---

bool rb_gcp_priced_rate(const struct rb_gcp_priced *p, enum rb_market market, struct rb_rate *out, struct rb_err *err)
{
    const int64_t amounts[RB_GCP_N_PARTS] = {p->cpus, p->memory_mib, p->gpus};
    int64_t nanos = 0;
    for (int kind = 0; kind < RB_GCP_N_PARTS; kind++) {
        const int64_t unit = p->nanos[market][kind];
        if (!p->names[kind])
            continue;
        if (unit < 0)
            return rb_err_set(err, RB_E_CLOUD_PRICES,
                              "%s (%s): the price list has no \"%s running in ...\" for this region", p->instance_type,
                              rb_market_name(market), p->names[kind]);
        nanos += kind == RB_GCP_MEMORY ? (unit * amounts[kind] + 1023) / 1024 : unit * amounts[kind];
    }
    out->uusd_per_hour = (nanos + NANOS_PER_UUSD - 1) / NANOS_PER_UUSD;
    return true;
}
