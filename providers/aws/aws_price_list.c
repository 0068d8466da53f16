// Source: "GetProducts" (AWS Price List API reference), AWS JSON 1.1; the products' attributes as in the EC2 offer
// file.
#include "providers/aws/aws_price_list.h"

#include "base/document/doc.h"
#include "base/document/json.h"
#include "providers/wire/untrusted.h"

#include <string.h>

// The attributes of a product, also used as the filter.
static const struct {
    const char *attribute, *value;
} wanted[] = {
    {"operatingSystem", "Linux"},
    {"tenancy", "Shared"},
    {"capacitystatus", "Used"},
    {"preInstalledSw", "NA"},
};

bool rb_aws_price_list_check(const char *region, struct rb_err *err)
{
    static const char *const elsewhere[] = {"cn-", "us-gov-", "eusc-"};
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        if (strncmp(region, elsewhere[i], strlen(elsewhere[i])) == 0)
            return rb_err_set(err, RB_E_CLOUD_PRICES,
                              "aws/%s: its price list is another partition's and is not read here; import a price list "
                              "of your own (rbprofile import prices.csv)",
                              region);
    return true;
}

static void put_filter(struct rb_json *j, const char *field, const char *value)
{
    rb_json_put(j, "{Type: 'TERM_MATCH', Field: %s, Value: %s}", field, value);
}

void rb_aws_price_list_encode(const char *region, const char *instance_type, const char *page, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_json_put(&j, "{ServiceCode: 'AmazonEC2', FormatVersion: 'aws_v1', Filters: [");
    put_filter(&j, "regionCode", region);
    if (instance_type)
        put_filter(&j, "instanceType", instance_type);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        put_filter(&j, wanted[i].attribute, wanted[i].value);
    rb_json_put(&j, "], MaxResults: 100, NextToken: %s}", page);
}

// --- the answer ---

static const struct rb_node *children_of(const struct rb_node *n)
{
    return n && n->kind == RB_NODE_MAP ? n->first : NULL;
}

static bool is_absent_or(const struct rb_node *attributes, const char *attribute, const char *value)
{
    const char *found = rb_node_member_text(attributes, attribute);
    return !*found || strcmp(found, value) == 0;
}

// Blocks of capacity bought ahead are listed beside the machines themselves, distinguished by their market only, and
// what is in a Local Zone of the region by its kind of place.
static bool is_wanted(const struct rb_node *attributes, const char *region)
{
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (strcmp(rb_node_member_text(attributes, wanted[i].attribute), wanted[i].value) != 0)
            return false;
    return strcmp(rb_node_member_text(attributes, "regionCode"), region) == 0 &&
           is_absent_or(attributes, "marketoption", "OnDemand") &&
           is_absent_or(attributes, "locationType", "AWS Region");
}

static bool is_zero(const char *decimal)
{
    return *decimal && strspn(decimal, "0.") == strlen(decimal);
}

static bool odd(const char *instance_type, const char *what, struct rb_err *err)
{
    return rb_err_set(err, RB_E_CLOUD_PRICES, "price list: %.64s: %s", instance_type, what);
}

static bool read_dimension(const struct rb_node *dimension, const char *instance_type, struct rb_rate *rate,
                           struct rb_err *err)
{
    const char *usd = rb_node_member_text(rb_node_member(dimension, "pricePerUnit"), "USD");
    struct rb_rate found;
    if (strcmp(rb_node_member_text(dimension, "unit"), "Hrs") != 0 || !*usd)
        return odd(instance_type, "expected a price in USD by the hour (Hrs)", err);
    if (is_zero(usd))
        return true;
    if (!rb_parse_rate(usd, false, &found, err))
        return rb_err_prefix(err, "price list: %.64s", instance_type);
    if (rate->uusd_per_hour > 0 && rate->uusd_per_hour != found.uusd_per_hour)
        return odd(instance_type, "is listed twice, at different prices", err);
    *rate = found;
    return true;
}

// *rate stays 0 where the product has no price on demand.
static bool read_terms(const struct rb_node *terms, const char *instance_type, struct rb_rate *rate, struct rb_err *err)
{
    for (const struct rb_node *t = children_of(rb_node_member(terms, "OnDemand")); t; t = t->next)
        for (const struct rb_node *d = children_of(rb_node_member(t, "priceDimensions")); d; d = d->next)
            if (!read_dimension(d, instance_type, rate, err))
                return false;
    return true;
}

static bool keep(struct rb_aws_prices *page, const char *instance_type, struct rb_rate rate, struct rb_arena *arena,
                 struct rb_err *err)
{
    for (int i = 0; i < page->n; i++)
        if (strcmp(page->prices[i].instance_type, instance_type) == 0)
            return page->prices[i].rate.uusd_per_hour == rate.uusd_per_hour ||
                   odd(instance_type, "is listed twice, at different prices", err);
    page->prices[page->n++] = (struct rb_aws_price){rb_arena_strdup(arena, instance_type), rate};
    return true;
}

static bool read_product(const struct rb_node *root, const char *region, struct rb_arena *arena,
                         struct rb_aws_prices *page, struct rb_err *err)
{
    const struct rb_node *attributes = rb_node_member(rb_node_member(root, "product"), "attributes");
    const char *instance_type = rb_node_member_text(attributes, "instanceType");
    struct rb_rate rate = {0};
    if (!is_wanted(attributes, region))
        return true;
    if (!rb_is_instance_id(instance_type))
        return rb_err_set(err, RB_E_ANSWER, "answer: product.attributes.instanceType: expected a name");
    if (!read_terms(rb_node_member(root, "terms"), instance_type, &rate, err))
        return false;
    return rate.uusd_per_hour == 0 || keep(page, instance_type, rate, arena, err);
}

// Every product is a separate document, written into a string.
static bool read_entry(const struct rb_node *entry, const char *region, struct rb_arena *arena,
                       struct rb_aws_prices *page, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (entry->kind != RB_NODE_STRING)
        return rb_err_set(err, RB_E_ANSWER, "answer: PriceList[%d]: expected a document in a string", entry->index);
    if (!rb_doc_parse_json(&doc, "product", entry->text, entry->text_len, err))
        return rb_err_prefix(err, "answer: PriceList[%d]", entry->index);
    return read_product(doc.root, region, arena, page, err);
}

static bool read_page(const struct rb_node *root, const char *region, struct rb_arena *arena,
                      struct rb_aws_prices *page, struct rb_err *err)
{
    const struct rb_node *list = rb_node_member(root, "PriceList");
    const char *next = rb_node_member_text(root, "NextToken");
    if (!list || list->kind != RB_NODE_LIST)
        return rb_err_set(err, RB_E_ANSWER, "answer: PriceList: expected a list");
    page->prices = rb_arena_array(arena, (size_t)list->n_children, sizeof *page->prices);
    for (const struct rb_node *entry = list->first; entry; entry = entry->next)
        if (!read_entry(entry, region, arena, page, err))
            return false;
    page->next_page = *next ? rb_arena_strdup(arena, next) : NULL;
    return true;
}

bool rb_aws_price_list_decode(const char *body, size_t n, const char *region, struct rb_arena *arena,
                              struct rb_aws_prices *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_aws_prices page = {0};
    if (!rb_doc_parse_json(&doc, "answer", body, n, err))
        return false;
    const bool ok = read_page(doc.root, region, arena, &page, err);
    if (ok)
        *out = page;
    return ok;
}
