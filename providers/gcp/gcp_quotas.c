// Reads the quotas of a Compute Engine project that a plan counts against: those of its region and those of all regions.
// Asks machineTypes.aggregatedList for vCPUs that the demands do not know, regions.get, then projects.get. Reports every
// metric that Google lists and the demands count against; a kind of GPU whose metric Google does not list has a limit of
// -1 (families from H100 on are counted elsewhere). Spot machines count against the preemptible metric where that was
// ever granted, else against the ordinary one. NOT_FOUND: a type that no zone of the region sells.
// Source: "Allocation quotas" (Compute Engine documentation) and the metrics of Quota in its API (compute v1).
#include "base/document/doc.h"
#include "base/text/table.h"
#include "profiles/catalog/cpu_slots.h"
#include "providers/gcp/gcp_encode.h"
#include "providers/gcp/gcp_verbs.h"
#include "providers/wire/percent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 3, MAX_METRICS = 512, MAX_QUOTAS = 32 };

struct metric {
    char name[64];
    double limit, usage;
};

struct metrics {
    struct metric list[MAX_METRICS];
    int n;
};

struct survey {
    struct rb_arena arena;
    const struct rb_gcp *gcp;
    struct rb_demand *demands; // [n_demands], copies
    int n_demands, at;         // at: the demand whose vCPUs are being looked up
    double found_vcpus;        // -1: no zone sells it
    struct metrics of_region, of_project;
    struct rb_quota quotas[MAX_QUOTAS];
    int n_quotas;
    rb_quotas_fn *fn;
    void *arg;
};

// --- Google's answers

static bool read_metric(const struct rb_node *node, struct metric *out, struct rb_err *err)
{
    const struct rb_node *usage = rb_node_member(node, "usage");
    const char *name;
    out->usage = -1;
    if (!rb_node_string(rb_node_member(node, "metric"), &name, err) ||
        !rb_node_double(rb_node_member(node, "limit"), -1, 1e19, &out->limit, err) ||
        (usage && !rb_node_double(usage, 0, 1e19, &out->usage, err)))
        return false;
    snprintf(out->name, sizeof out->name, "%s", name);
    return true;
}

static bool read_metrics(const char *body, size_t n, struct metrics *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    out->n = 0;
    if (!rb_doc_parse_json(&doc, "answer", body, n, err))
        return false;
    const struct rb_node *quotas = rb_node_member(doc.root, "quotas");
    bool ok = rb_node_list(quotas, err);
    for (const struct rb_node *q = ok ? quotas->first : NULL; q && ok; q = q->next)
        ok = out->n < MAX_METRICS ? read_metric(q, &out->list[out->n++], err)
                                  : rb_err_set(err, RB_E_ANSWER, "quotas: expected at most %d", MAX_METRICS);
    return ok;
}

static const struct metric *find(const struct metrics *m, const char *name)
{
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->list[i].name, name) == 0)
            return &m->list[i];
    return NULL;
}

// --- what counts against what

struct count {
    const struct survey *survey;
    const char *metric;
};

static const char *gpu_metric(const char *accelerator)
{
    static const struct row {
        const char *accelerator, *metric;
    } rows[] = {
        {"T4", "NVIDIA_T4_GPUS"},     {"P4", "NVIDIA_P4_GPUS"},     {"P100", "NVIDIA_P100_GPUS"},
        {"V100", "NVIDIA_V100_GPUS"}, {"L4", "NVIDIA_L4_GPUS"},     {"A100", "NVIDIA_A100_GPUS"},
        {"K80", "NVIDIA_K80_GPUS"},   {"H100", "NVIDIA_H100_GPUS"}, {"A100-80GB", "NVIDIA_A100_80GB_GPUS"},
    };
    const struct row *row = RB_ROW_OF(rows, accelerator);
    return row ? row->metric : NULL;
}

static bool has_gpus(const struct rb_demand *d)
{
    return !rb_accelerator_is_cpu(d->accelerator);
}

// A project that was never given preemptible quota (0) uses its ordinary one.
static void by_market(const struct survey *s, const struct rb_demand *d, const char *metric, char out[static 64])
{
    char preemptible[64];
    snprintf(preemptible, sizeof preemptible, "PREEMPTIBLE_%.50s", metric);
    const struct metric *m = find(&s->of_region, preemptible);
    snprintf(out, 64, "%s", d->market == RB_MARKET_SPOT && m && m->limit > 0 ? preemptible : metric);
}

static void gpu_metric_of(const struct survey *s, const struct rb_demand *d, char out[static 64])
{
    const char *metric = gpu_metric(d->accelerator);
    if (metric)
        by_market(s, d, metric, out);
    else
        snprintf(out, 64, "GPUs of kind %.40s", d->accelerator);
}

// Families have a metric of their own (A2_CPUS) or share CPUS.
static void cpu_metric_of(const struct survey *s, const struct rb_demand *d, char out[static 64])
{
    char family[64];
    int n = 0;
    for (const char *c = d->instance_type; *c && *c != '-' && n < 16; c++)
        family[n++] = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    snprintf(family + n, sizeof family - (size_t)n, "_CPUS");
    if (find(&s->of_region, family))
        snprintf(out, 64, "%s", family);
    else
        by_market(s, d, "CPUS", out);
}

static double gpus_of_kind(const struct rb_demand *d, const void *ctx)
{
    const struct count *c = ctx;
    char metric[64];
    gpu_metric_of(c->survey, d, metric);
    return has_gpus(d) && strcmp(metric, c->metric) == 0 ? d->gpus : 0;
}

static double cpus_of_kind(const struct rb_demand *d, const void *ctx)
{
    const struct count *c = ctx;
    char metric[64];
    cpu_metric_of(c->survey, d, metric);
    return strcmp(metric, c->metric) == 0 ? d->vcpus : 0;
}

static double all_gpus(const struct rb_demand *d, const void *ctx)
{
    (void)ctx;
    return has_gpus(d) ? d->gpus : 0;
}

static double all_cpus(const struct rb_demand *d, const void *ctx)
{
    (void)ctx;
    return d->vcpus;
}

static double machines(const struct rb_demand *d, const void *ctx)
{
    (void)d, (void)ctx;
    return 1;
}

// --- the comparison

static void add(struct survey *s, const struct metrics *from, const char *metric, const char *unit,
                rb_demand_units_fn *units, bool even_if_unlisted)
{
    const struct count count = {s, metric};
    const struct metric *m = find(from, metric);
    const double wanted = rb_demand_peak(s->demands, s->n_demands, units, &count);
    const char *place = from == &s->of_project ? "all regions" : s->gcp->region;
    const char *name = rb_arena_printf(&s->arena, "%s of %s", metric, place);
    for (int i = 0; i < s->n_quotas; i++)
        if (strcmp(s->quotas[i].name, name) == 0)
            return;
    if (wanted > 0 && s->n_quotas < MAX_QUOTAS && (m || even_if_unlisted))
        s->quotas[s->n_quotas++] = (struct rb_quota){name, unit, m ? m->limit : -1, m ? m->usage : -1, wanted};
}

static void compare(struct survey *s)
{
    char metric[64];
    for (int i = 0; i < s->n_demands; i++) {
        gpu_metric_of(s, &s->demands[i], metric);
        add(s, &s->of_region, metric, "GPUs", gpus_of_kind, true);
    }
    for (int i = 0; i < s->n_demands; i++) {
        cpu_metric_of(s, &s->demands[i], metric);
        add(s, &s->of_region, metric, "vCPUs", cpus_of_kind, false);
    }
    add(s, &s->of_region, "INSTANCES", "instances", machines, false);
    add(s, &s->of_region, "IN_USE_ADDRESSES", "addresses", machines, false);
    add(s, &s->of_project, "GPUS_ALL_REGIONS", "GPUs", all_gpus, false);
    add(s, &s->of_project, "CPUS_ALL_REGIONS", "vCPUs", all_cpus, false);
}

// --- the questions

static bool decode_region(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    return read_metrics(body, n, &s->of_region, err);
}

static bool decode_project(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    return read_metrics(body, n, &s->of_project, err);
}

static void project_known(void *arg, const struct rb_err *err)
{
    struct survey *s = arg;
    if (!err)
        compare(s);
    s->fn(s->arg, err, s->quotas, s->n_quotas);
    rb_api_state_free(s);
}

static void ask(struct survey *s, const char *name, const char *region, rb_api_decode_fn *decode, rb_api_done_fn *done)
{
    struct rb_api_call call = rb_api_call_new(name, TRIES, s, decode, done);
    rb_percent_put(&call.target, "/projects/%s", s->gcp->project);
    if (region)
        rb_percent_put(&call.target, "/regions/%s", region);
    rb_percent_put(&call.target, "?fields=%s", "quotas(metric,limit,usage)");
    rb_google_send(s->gcp->client, RB_GOOGLE_COMPUTE, &call);
}

static void region_known(void *arg, const struct rb_err *err)
{
    struct survey *s = arg;
    if (err)
        project_known(s, err);
    else
        ask(s, "projects.get", NULL, decode_project, project_known);
}

// --- the machines

// A machine type is the same in all zones that have it.
static bool decode_machine(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    double cpus = -1;
    if (!rb_doc_parse_json(&doc, "answer", body, n, err))
        return false;
    const struct rb_node *scopes = rb_node_member(doc.root, "items");
    bool ok = true;
    for (const struct rb_node *z = scopes && scopes->kind == RB_NODE_MAP ? scopes->first : NULL; z && ok; z = z->next) {
        const struct rb_node *machine = rb_node_first(rb_node_member(z, "machineTypes"));
        if (machine && strncmp(z->key, "zones/", 6) == 0 &&
            strncmp(z->key + 6, s->gcp->region, strlen(s->gcp->region)) == 0)
            ok = rb_node_double(rb_node_member(machine, "guestCpus"), 1, 1e5, &cpus, err);
    }
    s->found_vcpus = cpus;
    return ok;
}

static void ask_machines(struct survey *s);

// Every demand of the same type is answered at once.
static void machine_known(void *arg, const struct rb_err *failed)
{
    struct survey *s = arg;
    const char *type = s->demands[s->at].instance_type;
    struct rb_err err;
    if (!failed && s->found_vcpus < 0)
        rb_err_set(&err, RB_E_CLOUD_NOT_FOUND, "no zone of gcp/%s sells %s", s->gcp->region, type);
    if (failed || s->found_vcpus < 0) {
        project_known(s, failed ? failed : &err);
        return;
    }
    for (int i = s->n_demands - 1; i >= 0; i--)
        if (strcmp(s->demands[i].instance_type, type) == 0)
            s->demands[i].vcpus = s->found_vcpus;
    ask_machines(s);
}

static void ask_machine(struct survey *s)
{
    struct rb_api_call call = rb_api_call_new("machineTypes.aggregatedList", TRIES, s, decode_machine, machine_known);
    struct rb_gcp_machine_type type;
    struct rb_err err;
    if (!rb_gcp_machine_type_parse(s->demands[s->at].instance_type, &type, &err)) {
        call.done = project_known;
        rb_google_refuse(s->gcp->client, &call, &err);
        return;
    }
    type.n_accelerators = 0; // the machine itself
    rb_gcp_target_sold(s->gcp->project, &type, &call.target);
    rb_google_send(s->gcp->client, RB_GOOGLE_COMPUTE, &call);
}

static void ask_machines(struct survey *s)
{
    for (s->at = 0; s->at < s->n_demands; s->at++)
        if (s->demands[s->at].vcpus < 0) {
            ask_machine(s);
            return;
        }
    ask(s, "regions.get", s->gcp->region, decode_region, region_known);
}

void rb_gcp_quotas(struct rb_provider *p, const struct rb_demand *demands, int n, rb_quotas_fn *fn, void *arg)
{
    struct survey *s = rb_api_state_create(sizeof *s);
    s->gcp = p->state;
    s->demands = rb_demands_copy(demands, n, &s->arena);
    s->n_demands = n;
    s->fn = fn;
    s->arg = arg;
    ask_machines(s);
}
