// AWSPriceListService.GetProducts: the on-demand rows of the price list, in the shape of AWS's. Beside each machine are
// entries that a careless client takes for it: the same under Windows, and as capacity that was reserved before, at no
// price.
#include "providers/mock/ec2/mock_aws_json.h"
#include "base/text/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RESULTS = 100 };

static const char term_code[] = "JRTCKXETXF", rate_code[] = "6YS6EN2CT7"; // on demand, by the hour: AWS's own constants
static const char *const list_regions[] = {"us-east-1", "eu-central-1", "ap-south-1"};

enum variant { MACHINE, WINDOWS, RESERVED, N_VARIANTS };

struct product {
    const struct rb_offer *offer;
    const char *region;
    enum variant variant;
};

struct question {
    const char *service, *token;
    int64_t max_results;
    const struct rb_node *filters; // NULL: none
    struct rb_mock_page page;
};

// --- the question ---

static bool invalid(struct rb_mock_json_call *call, const char *what)
{
    return rb_mock_json_refuse(call, 400, "InvalidParameterException", "%s", what);
}

static const char *attribute(const struct product *p, const char *field)
{
    const struct row {
        const char *field, *value;
    } attributes[] = {
        {"servicecode", "AmazonEC2"},
        {"instanceType", p->offer->instance_type},
        {"regionCode", p->region},
        {"locationType", "AWS Region"},
        {"marketoption", "OnDemand"},
        {"tenancy", "Shared"},
        {"preInstalledSw", "NA"},
        {"operatingSystem", p->variant == WINDOWS ? "Windows" : "Linux"},
        {"capacitystatus", p->variant == RESERVED ? "AllocatedCapacityReservation" : "Used"},
    };
    const struct row *row = RB_ROW_OF(attributes, field);
    return row ? row->value : NULL;
}

static bool check_filter(struct rb_mock_json_call *call, const struct rb_node *filter)
{
    static const struct rb_offer any = {.instance_type = ""};
    const struct product probe = {.offer = &any, .region = ""};
    static const struct rb_member members[] = {{"Type", RB_MEMBER_TEXT, RB_MEMBER_IGNORED, .needed = true},
                                               {"Field", RB_MEMBER_TEXT, 0, .needed = true},
                                               {"Value", RB_MEMBER_TEXT, RB_MEMBER_IGNORED, .needed = true},
                                               {0}};
    const char *field;
    if (!rb_members_read(filter, members, NULL, &field, NULL))
        return invalid(call, "Filters: expected Type, Field and Value, and nothing else");
    if (strcmp(rb_node_member(filter, "Type")->text, "TERM_MATCH") != 0)
        return invalid(call, "Filters: Type: this mock cloud understands TERM_MATCH");
    return attribute(&probe, field) ||
           rb_mock_json_refuse(call, 400, "InvalidParameterException", "Filters: Field: products have no %.60s", field);
}

static bool read_question(struct rb_mock_json_call *call, struct question *q)
{
    static const struct rb_member members[] = {
        {"ServiceCode", RB_MEMBER_TEXT, offsetof(struct question, service)},
        {"FormatVersion", RB_MEMBER_WORD, RB_MEMBER_IGNORED, .choices = {"aws_v1"}},
        {"MaxResults", RB_MEMBER_INT, offsetof(struct question, max_results), .min = 1, .max = MAX_RESULTS},
        {"Filters", RB_MEMBER_LIST, offsetof(struct question, filters)},
        {"NextToken", RB_MEMBER_TEXT, offsetof(struct question, token)},
        {0},
    };
    *q = (struct question){.max_results = MAX_RESULTS};
    if (!rb_mock_json_read(call, members, q, "InvalidParameterException"))
        return false;
    if (!q->service || strcmp(q->service, "AmazonEC2") != 0)
        return rb_mock_json_refuse(call, 400, "NotFoundException", "ServiceCode: this mock cloud sells AmazonEC2");
    for (const struct rb_node *f = q->filters ? q->filters->first : NULL; f; f = f->next)
        if (!check_filter(call, f))
            return false;
    return rb_mock_page_begin(&q->page, q->max_results, q->token, &call->chaos) ||
           rb_mock_json_refuse(call, 400, "InvalidNextTokenException", "The pagination token is invalid");
}

static bool matches(const struct question *q, const struct product *p)
{
    for (const struct rb_node *f = q->filters ? q->filters->first : NULL; f; f = f->next) {
        const char *own = attribute(p, rb_node_member(f, "Field")->text);
        if (strcmp(own, rb_node_member(f, "Value")->text) != 0)
            return false;
    }
    return true;
}

// --- the answer ---

static void write_sku(const struct product *p, char out[static 17])
{
    static const char alphabet[] = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";
    uint64_t h = UINT64_C(14695981039346656037) + p->variant; // FNV-1a: the same in every run
    for (const char *s = p->region; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
    for (const char *s = p->offer->instance_type; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
    for (int i = 0; i < 16; i++, h = (h ^ (h >> 31)) * UINT64_C(0x9e3779b97f4a7c15))
        out[i] = alphabet[(h >> 33) % (sizeof alphabet - 1)];
    out[16] = '\0';
}

static void write_attributes(struct rb_json *j, const struct product *p)
{
    static const char *const fields[] = {"servicecode",  "locationType",    "instanceType",
                                         "regionCode",   "operatingSystem", "tenancy",
                                         "marketoption", "capacitystatus",  "preInstalledSw"};
    char vcpus[32], memory[32];
    snprintf(vcpus, sizeof vcpus, "%.0f", p->offer->vcpus);
    snprintf(memory, sizeof memory, "%.6g GiB", p->offer->memory_gb);
    rb_json_put(j, "attributes: {");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        rb_json_kstring(j, fields[i], attribute(p, fields[i]));
    rb_json_put(j, "vcpu: %s, memory: %s}", vcpus, memory);
}

// A document of its own, in a string.
static void write_product(struct rb_mock_json_call *call, const struct product *p)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    const int64_t uusd = p->offer->rate.uusd_per_hour * (p->variant == RESERVED ? 0 : p->variant == WINDOWS ? 2 : 1);
    const char *usd = rb_arena_printf(call->arena, "%" PRId64 ".%06" PRId64 "0000", uusd / RB_UUSD, uusd % RB_UUSD);
    struct rb_json j;
    char sku[17];
    write_sku(p, sku);
    const char *term = rb_arena_printf(call->arena, "%s.%s", sku, term_code);
    const char *dimension = rb_arena_printf(call->arena, "%s.%s", term, rate_code);
    rb_json_init(&j, &text, false);
    rb_json_put(&j, "{product: {productFamily: 'Compute Instance'");
    write_attributes(&j, p);
    rb_json_put(
        &j,
        "sku: %s}, serviceCode: 'AmazonEC2', terms: {OnDemand: {%s: {priceDimensions: {%s: {unit: 'Hrs',"
        "beginRange: '0', endRange: 'Inf', rateCode: %s, pricePerUnit: {USD: %s}}}, sku: %s, offerTermCode: %s}}}}",
        sku, term, dimension, dimension, usd, sku, term_code);
    rb_json_string(&call->json, rb_buf_str(&text));
}

// One price per type and region, as AWS has it: the row of the region, or of any zone where only zones are priced.
static bool is_listed(const struct rb_catalog *c, const struct rb_offer *o, const char *region)
{
    return o->market == RB_MARKET_ON_DEMAND &&
           rb_cloud_offer(c, region, NULL, o->instance_type, RB_MARKET_ON_DEMAND) == o;
}

static void write_page(struct rb_mock_json_call *call, struct question *q)
{
    const struct rb_catalog *c = &rb_cloud_config_of(call->cloud)->catalog;
    const struct rb_cloud_regions *regions = rb_cloud_regions(call->cloud);
    int64_t position = 0;
    for (int r = 0; r < regions->n; r++) {
        const struct rb_cloud_region *region = &regions->regions[r];
        for (int i = 0; !region->is_gcp && i < c->n_offers; i++, position += N_VARIANTS)
            for (int v = 0; v < N_VARIANTS && is_listed(c, &c->offers[i], region->name); v++) {
                const struct product p = {&c->offers[i], region->name, (enum variant)v};
                if (matches(q, &p) && rb_mock_page_take(&q->page, position + v))
                    write_product(call, &p);
            }
    }
}

bool rb_mock_get_products(struct rb_mock_json_call *call)
{
    struct question q;
    if (!RB_ROW_OF(list_regions, call->region))
        return rb_mock_json_refuse(call, 400, "InvalidSignatureException",
                                   "Credential should be scoped to a region that serves the price list, not %.40s",
                                   call->region);
    if (!read_question(call, &q))
        return false;
    rb_json_put(&call->json, "{FormatVersion: 'aws_v1', PriceList: [");
    write_page(call, &q);
    rb_json_put(&call->json, "], NextToken: %s}", rb_mock_page_next(&q.page, call->arena));
    return true;
}
