// Reads the quotas of an EC2 account that a plan counts against: vCPUs by family and market, from Service Quotas. Asks
// DescribeInstanceTypes for vCPUs that the demands lack, then ListServiceQuotas page by page, and
// ListAWSDefaultServiceQuotas for a quota that was never changed. Service Quotas does not report use: -1. A quota that
// neither lists, or of an unknown family, has a limit of -1. NOT_FOUND: a type that EC2 does not describe.
// Source: "Amazon EC2 On-Demand Instance quotas" and "Spot Instance quotas" (EC2 User Guide), whose codes Service
// Quotas lists; "ListServiceQuotas" (Service Quotas API reference), AWS JSON 1.1.
#include "base/document/doc.h"
#include "base/document/json.h"
#include "providers/ec2/ec2_decode.h"
#include "providers/ec2/ec2_encode.h"
#include "providers/ec2/ec2_verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 3, PAGE = 100, MAX_PAGES = 50 };

// First match wins. A family is the part before the first digit of a type ("g" of g5.xlarge), with the digits where the
// generation counts.
static const struct bucket {
    const char *families; // each between spaces
    enum rb_market market;
    const char *code, *name;
} buckets[] = {
    {" g gr vt ", RB_MARKET_ON_DEMAND, "L-DB2E81BA", "Running On-Demand G and VT instances"},
    {" g gr vt ", RB_MARKET_SPOT, "L-3819A6DF", "All G and VT Spot Instance Requests"},
    {" p ", RB_MARKET_ON_DEMAND, "L-417A185B", "Running On-Demand P instances"},
    {" p2 p3 p4 ", RB_MARKET_SPOT, "L-7212CCBC", "All P4, P3 and P2 Spot Instance Requests"},
    {" p5 ", RB_MARKET_SPOT, "L-C4BD4855", "All P5 Spot Instance Requests"},
    {" a c d h i im is m r t z ", RB_MARKET_ON_DEMAND, "L-1216C47A", "Running On-Demand Standard instances"},
    {" a c d h i im is m r t z ", RB_MARKET_SPOT, "L-34B43A08", "All Standard Spot Instance Requests"},
    {" inf ", RB_MARKET_ON_DEMAND, "L-1945791B", "Running On-Demand Inf instances"},
    {" inf ", RB_MARKET_SPOT, "L-B5D1601B", "All Inf Spot Instance Requests"},
    {" trn ", RB_MARKET_ON_DEMAND, "L-2C3B7624", "Running On-Demand Trn instances"},
    {" trn ", RB_MARKET_SPOT, "L-6B0D517C", "All Trn Spot Instance Requests"},
    {" dl ", RB_MARKET_ON_DEMAND, "L-6E869C2A", "Running On-Demand DL instances"},
    {" dl ", RB_MARKET_SPOT, "L-85EED4F7", "All DL Spot Instance Requests"},
    {" f ", RB_MARKET_ON_DEMAND, "L-74FC7D96", "Running On-Demand F instances"},
    {" f ", RB_MARKET_SPOT, "L-88CF9481", "All F Spot Instance Requests"},
    {" x ", RB_MARKET_ON_DEMAND, "L-7295265B", "Running On-Demand X instances"},
    {" x ", RB_MARKET_SPOT, "L-E3A00192", "All X Spot Instance Requests"},
};
enum { N_BUCKETS = sizeof buckets / sizeof *buckets };

struct survey {
    struct rb_arena arena;
    struct rb_ec2 *ec2;
    struct rb_aws_client *quotas;
    struct rb_demand *demands; // [n_demands], copies
    int n_demands;
    double limits[N_BUCKETS]; // -1: not listed so far
    const char *next_page;    // NULL: the first, or none after it
    int n_pages;
    bool of_defaults; // the second list is being read
    rb_quotas_fn *fn;
    void *arg;
};

// --- what counts against what

static bool holds(const struct bucket *b, const char *family)
{
    char word[40];
    snprintf(word, sizeof word, " %.36s ", family);
    return strstr(b->families, word) != NULL;
}

// NULL: a family that AWS counts in a way not known here.
static const struct bucket *bucket_of(const struct rb_demand *d)
{
    const size_t n = strcspn(d->instance_type, "0123456789.-"), digits = strspn(d->instance_type + n, "0123456789");
    char family[32], generation[32];
    snprintf(family, sizeof family, "%.*s", (int)n, d->instance_type);
    snprintf(generation, sizeof generation, "%.*s", (int)(n + digits), d->instance_type);
    for (int i = 0; i < N_BUCKETS; i++)
        if (buckets[i].market == d->market && (holds(&buckets[i], family) || holds(&buckets[i], generation)))
            return &buckets[i];
    return NULL;
}

static double vcpus_in(const struct rb_demand *d, const void *bucket)
{
    return bucket_of(d) == bucket ? d->vcpus : 0;
}

static bool is_wanted(const struct survey *s, int bucket)
{
    return rb_demand_peak(s->demands, s->n_demands, vcpus_in, &buckets[bucket]) > 0;
}

static bool is_anything_missing(const struct survey *s)
{
    for (int i = 0; i < N_BUCKETS; i++)
        if (s->limits[i] < 0 && is_wanted(s, i))
            return true;
    return false;
}

// --- the answer

static void compare(struct survey *s)
{
    struct rb_quota quotas[N_BUCKETS + 1];
    int n = 0;
    for (int i = 0; i < N_BUCKETS; i++)
        if (is_wanted(s, i))
            quotas[n++] = (struct rb_quota){
                .name = rb_arena_printf(&s->arena, "%s (%s)", buckets[i].name, buckets[i].code),
                .unit = "vCPUs",
                .limit = s->limits[i],
                .used = -1,
                .wanted = rb_demand_peak(s->demands, s->n_demands, vcpus_in, &buckets[i]),
            };
    const double elsewhere = rb_demand_peak(s->demands, s->n_demands, vcpus_in, NULL);
    if (elsewhere > 0)
        quotas[n++] = (struct rb_quota){"families that no known quota counts", "vCPUs", -1, -1, elsewhere};
    s->fn(s->arg, NULL, quotas, n);
    rb_api_state_free(s);
}

static bool read_quota(struct survey *s, const struct rb_node *node, struct rb_err *err)
{
    const char *code;
    double value;
    if (!rb_node_string(rb_node_member(node, "QuotaCode"), &code, err))
        return false;
    for (int i = 0; i < N_BUCKETS; i++) {
        if (strcmp(buckets[i].code, code) != 0 || s->limits[i] >= 0)
            continue;
        if (!rb_node_double(rb_node_member(node, "Value"), 0, 1e10, &value, err))
            return false;
        s->limits[i] = value;
    }
    return true;
}

static bool decode(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    const char *token = NULL;
    if (!rb_doc_parse_json(&doc, "answer", body, n, err))
        return false;
    const struct rb_node *quotas = rb_node_member(doc.root, "Quotas"), *next = rb_node_member(doc.root, "NextToken");
    bool ok = rb_node_list(quotas, err) && (!next || next->kind == RB_NODE_NULL || rb_node_string(next, &token, err));
    for (const struct rb_node *q = ok ? quotas->first : NULL; q && ok; q = q->next)
        ok = read_quota(s, q, err);
    if (ok)
        s->next_page = token && *token ? rb_arena_strdup(&s->arena, token) : NULL;
    return ok;
}

static void ask(struct survey *s);

static void fail(void *arg, const struct rb_err *err)
{
    struct survey *s = arg;
    s->fn(s->arg, err, NULL, 0);
    rb_api_state_free(s);
}

static void page_known(void *arg, const struct rb_err *failed)
{
    struct survey *s = arg;
    struct rb_err err;
    if (failed) {
        fail(s, failed);
    } else if (++s->n_pages == MAX_PAGES) {
        rb_err_set(&err, RB_E_ENDLESS, "ListServiceQuotas: no end after %d pages", MAX_PAGES);
        fail(s, &err);
    } else if (s->next_page) {
        ask(s);
    } else if (!s->of_defaults && is_anything_missing(s)) {
        s->of_defaults = true;
        ask(s);
    } else {
        compare(s);
    }
}

static void ask(struct survey *s)
{
    const char *name = s->of_defaults ? "ListAWSDefaultServiceQuotas" : "ListServiceQuotas";
    struct rb_api_call call = rb_api_call_new(name, TRIES, s, decode, page_known);
    struct rb_json j;
    rb_json_init(&j, &call.body, false);
    rb_json_put(&j, "{ServiceCode: 'ec2', MaxResults: %d, NextToken: %s}", PAGE, s->next_page);
    rb_aws_send(s->quotas, &call);
}

// --- the machines

static bool knows_all(const struct survey *s, struct rb_err *err)
{
    for (int i = 0; i < s->n_demands; i++)
        if (s->demands[i].vcpus < 0)
            return rb_err_set(err, RB_E_CLOUD_NOT_FOUND, "EC2 does not describe %s here", s->demands[i].instance_type);
    return true;
}

static bool decode_machines(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    struct rb_ec2_machines machines;
    if (!rb_ec2_decode_machines(body, n, &s->arena, &machines, err))
        return false;
    for (int i = 0; i < machines.n; i++)
        for (int k = 0; k < s->n_demands; k++)
            if (strcmp(machines.machines[i].instance_type, s->demands[k].instance_type) == 0)
                s->demands[k].vcpus = machines.machines[i].vcpus;
    return true;
}

static void machines_known(void *arg, const struct rb_err *failed)
{
    struct survey *s = arg;
    struct rb_err err;
    if (failed)
        fail(s, failed);
    else if (!knows_all(s, &err))
        fail(s, &err);
    else
        ask(s);
}

static void ask_machines(struct survey *s)
{
    struct rb_api_call call = rb_api_call_new("DescribeInstanceTypes", TRIES, s, decode_machines, machines_known);
    const char *types[RB_EC2_MAX_TYPES];
    int n = 0;
    for (int i = 0; i < s->n_demands && n < RB_EC2_MAX_TYPES; i++) {
        bool known = false;
        for (int k = 0; k < n; k++)
            known = known || strcmp(types[k], s->demands[i].instance_type) == 0;
        if (!known)
            types[n++] = s->demands[i].instance_type;
    }
    rb_ec2_encode_machines(types, n, NULL, &call.body);
    rb_aws_send(s->ec2->client, &call);
}

void rb_ec2_quotas(struct rb_provider *p, const struct rb_demand *demands, int n, rb_quotas_fn *fn, void *arg)
{
    struct survey *s = rb_api_state_create(sizeof *s);
    struct rb_err err;
    s->ec2 = p->state;
    s->quotas = rb_ec2_service(s->ec2, RB_EC2_SERVICE_QUOTAS, &err);
    s->demands = rb_demands_copy(demands, n, &s->arena);
    s->n_demands = n;
    s->fn = fn;
    s->arg = arg;
    for (int i = 0; i < N_BUCKETS; i++)
        s->limits[i] = -1;
    if (!s->quotas) {
        struct rb_api_call call = rb_api_call_new(NULL, 1, s, NULL, fail);
        rb_aws_refuse(s->ec2->client, &call, &err);
    } else if (knows_all(s, NULL)) {
        ask(s);
    } else {
        ask_machines(s);
    }
}
