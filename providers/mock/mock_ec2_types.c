// What the cloud sells: DescribeInstanceTypes and DescribeSpotPriceHistory, read off the catalogue. Prices do
// not move yet, so the history is today's price.
#include "providers/mock/mock_ec2_action.h"
#include "providers/mock/mock_ec2_xml.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MIB_PER_GIB 1024

static const struct rb_catalog *catalog_of(const struct rb_mock_call *call)
{
    return &rb_cloud_config_of(call->cloud)->catalog;
}

static const struct rb_cloud_region *region_of(const struct rb_mock_call *call)
{
    return rb_cloud_regions_find(rb_cloud_regions(call->cloud), call->region);
}

// --- DescribeInstanceTypes ---

static const char *manufacturer(const char *accelerator)
{
    if (strncmp(accelerator, "MI", 2) == 0 || strncmp(accelerator, "Radeon", 6) == 0)
        return "AMD";
    return strstr(accelerator, "Gaudi") ? "Habana" : "NVIDIA";
}

static void write_gpus(struct rb_buf *out, const struct rb_offer *o)
{
    int64_t mib = (int64_t)llround(o->gpu_memory_gb * MIB_PER_GIB);
    if (o->gpus == 0 || strcmp(o->accelerator, "CPU") == 0)
        return;
    rb_buf_puts(out, "<gpuInfo><gpus><item>");
    rb_mock_xml_text(out, "name", o->accelerator);
    rb_mock_xml_text(out, "manufacturer", manufacturer(o->accelerator));
    rb_mock_xml_int(out, "count", o->gpus);
    rb_mock_xml_open(out, "memoryInfo");
    rb_mock_xml_int(out, "sizeInMiB", mib);
    rb_buf_puts(out, "</memoryInfo></item></gpus>");
    rb_mock_xml_int(out, "totalGpuMemoryInMiB", mib * o->gpus);
    rb_mock_xml_close(out, "gpuInfo");
}

static void write_usage_classes(struct rb_buf *out, const struct rb_catalog *c, const char *region, const char *type)
{
    rb_mock_xml_open(out, "supportedUsageClasses");
    if (rb_cloud_offer(c, region, NULL, type, RB_MARKET_ON_DEMAND))
        rb_mock_xml_text(out, "item", "on-demand");
    if (rb_cloud_offer(c, region, NULL, type, RB_MARKET_SPOT))
        rb_mock_xml_text(out, "item", "spot");
    rb_mock_xml_close(out, "supportedUsageClasses");
}

static void write_type(struct rb_mock_call *call, const struct rb_offer *o)
{
    struct rb_buf *out = call->out;
    int64_t vcpus = (int64_t)llround(o->vcpus);
    rb_mock_xml_open(out, "item");
    rb_mock_xml_text(out, "instanceType", o->instance_type);
    rb_mock_xml_bool(out, "currentGeneration", true);
    rb_mock_xml_bool(out, "freeTierEligible", false);
    write_usage_classes(out, catalog_of(call), call->region, o->instance_type);
    rb_buf_puts(out, "<supportedRootDeviceTypes><item>ebs</item></supportedRootDeviceTypes>"
                     "<supportedVirtualizationTypes><item>hvm</item></supportedVirtualizationTypes>");
    rb_mock_xml_bool(out, "bareMetal", false);
    rb_mock_xml_text(out, "hypervisor", "nitro");
    rb_buf_puts(out, "<processorInfo><supportedArchitectures><item>x86_64</item></supportedArchitectures>"
                     "</processorInfo><vCpuInfo>");
    rb_mock_xml_int(out, "defaultVCpus", vcpus);
    rb_buf_puts(out, "</vCpuInfo><memoryInfo>");
    rb_mock_xml_int(out, "sizeInMiB", (int64_t)llround(o->memory_gb * MIB_PER_GIB));
    rb_buf_puts(out, "</memoryInfo>");
    rb_mock_xml_bool(out, "instanceStorageSupported", false);
    write_gpus(out, o);
    rb_mock_xml_close(out, "item");
}

// Each type once, whatever the number of its rows: true for the offer that speaks for its type.
static bool speaks_for_type(const struct rb_mock_call *call, const struct rb_offer *o)
{
    return rb_cloud_offer_any(catalog_of(call), call->region, o->instance_type) == o;
}

static bool type_matches(const struct rb_mock_filters *filters, const struct rb_mock_call *call,
                         const struct rb_offer *o)
{
    for (int k = 0; k < filters->n; k++) {
        const struct rb_mock_filter *f = &filters->filters[k];
        const struct rb_catalog *c = catalog_of(call);
        bool is_type = strcmp(f->name, "instance-type") == 0;
        bool matched = is_type && rb_mock_filter_matches(f, o->instance_type);
        if (!is_type) { // supported-usage-class
            matched |= rb_cloud_offer(c, call->region, NULL, o->instance_type, RB_MARKET_ON_DEMAND) &&
                       rb_mock_filter_matches(f, "on-demand");
            matched |= rb_cloud_offer(c, call->region, NULL, o->instance_type, RB_MARKET_SPOT) &&
                       rb_mock_filter_matches(f, "spot");
        }
        if (!matched)
            return false;
    }
    return true;
}

static bool check_types_exist(struct rb_mock_call *call, const char *const *types, int n)
{
    for (int k = 0; k < n; k++)
        if (!rb_cloud_offer_any(catalog_of(call), call->region, types[k]))
            return rb_mock_refuse(call, 400, "InvalidInstanceType",
                                  "The following supplied instance types do not exist: [%.60s]", types[k]);
    return true;
}

bool rb_mock_describe_instance_types(struct rb_mock_call *call)
{
    static const char *const known[] = {"instance-type", "supported-usage-class", NULL};
    const struct rb_catalog *c = catalog_of(call);
    struct rb_mock_filters filters;
    struct rb_mock_page page;
    const char *const *types;
    int n_types = rb_form_list(call->form, "InstanceType", call->arena, &types);
    if (!rb_mock_read_filters(call, known, &filters) || !rb_mock_read_page(call, 5, 100, &page) ||
        !rb_mock_call_checked(call) || !check_types_exist(call, types, n_types))
        return false;
    rb_mock_xml_open(call->out, "instanceTypeSet");
    for (int i = 0; i < c->n_offers; i++) {
        const struct rb_offer *o = &c->offers[i];
        if (speaks_for_type(call, o) && rb_mock_is_among(o->instance_type, types, n_types) &&
            type_matches(&filters, call, o) && rb_mock_page_take(&page, i))
            write_type(call, o);
    }
    rb_mock_xml_close(call->out, "instanceTypeSet");
    rb_mock_write_next_token(call, &page);
    return true;
}

// --- DescribeSpotPriceHistory ---

static void write_spot_price(struct rb_mock_call *call, const struct rb_offer *o, const char *zone)
{
    struct rb_buf *out = call->out;
    int64_t since_us = o->fetched_at_us >= 0 ? o->fetched_at_us : rb_cloud_config_of(call->cloud)->epoch_us;
    rb_mock_xml_open(out, "item");
    rb_mock_xml_text(out, "instanceType", o->instance_type);
    rb_mock_xml_text(out, "productDescription", "Linux/UNIX");
    rb_buf_printf(out, "<spotPrice>%" PRId64 ".%06" PRId64 "</spotPrice>", o->rate.uusd_per_hour / RB_UUSD,
                  o->rate.uusd_per_hour % RB_UUSD);
    rb_mock_xml_instant(out, "timestamp", since_us);
    rb_mock_xml_text(out, "availabilityZone", zone);
    rb_mock_xml_close(out, "item");
}

struct spot_question {
    const char *const *types, *const *products;
    int n_types, n_products;
    const char *zone;
    struct rb_mock_filters filters;
    struct rb_mock_page page;
};

static bool spot_filters_match(const struct spot_question *q, const char *type, const char *zone)
{
    for (int k = 0; k < q->filters.n; k++) {
        const struct rb_mock_filter *f = &q->filters.filters[k];
        const char *text = strcmp(f->name, "instance-type") == 0       ? type
                           : strcmp(f->name, "availability-zone") == 0 ? zone
                                                                       : "Linux/UNIX";
        if (!rb_mock_filter_matches(f, text))
            return false;
    }
    return true;
}

static bool sells_linux(const struct spot_question *q)
{
    return rb_mock_is_among("Linux/UNIX", q->products, q->n_products) ||
           rb_mock_is_among("Linux/UNIX (Amazon VPC)", q->products, q->n_products);
}

static bool read_spot_question(struct rb_mock_call *call, struct spot_question *q)
{
    static const char *const known[] = {"availability-zone", "instance-type", "product-description", NULL};
    q->n_types = rb_form_list(call->form, "InstanceType", call->arena, &q->types);
    q->n_products = rb_form_list(call->form, "ProductDescription", call->arena, &q->products);
    q->zone = rb_form_get(call->form, "AvailabilityZone");
    rb_form_get(call->form, "StartTime"); // every window ends with the current price, and there is no other
    rb_form_get(call->form, "EndTime");
    return rb_mock_read_filters(call, known, &q->filters) && rb_mock_read_page(call, 1, 1000, &q->page) &&
           rb_mock_call_checked(call);
}

bool rb_mock_describe_spot_price_history(struct rb_mock_call *call)
{
    const struct rb_catalog *c = catalog_of(call);
    const struct rb_cloud_region *region = region_of(call);
    struct spot_question q;
    if (!read_spot_question(call, &q))
        return false;
    if (q.zone && !rb_cloud_region_has_zone(region, q.zone))
        return rb_mock_refuse(call, 400, "InvalidParameterValue", "Invalid availability zone: [%.60s]", q.zone);
    rb_mock_xml_open(call->out, "spotPriceHistorySet");
    for (int i = 0; i < c->n_offers && sells_linux(&q); i++) {
        const struct rb_offer *o = &c->offers[i];
        for (int z = 0; z < region->n_zones && o->market == RB_MARKET_SPOT; z++) {
            const char *zone = region->zones[z];
            bool wanted = (!q.zone || strcmp(q.zone, zone) == 0) &&
                          rb_mock_is_among(o->instance_type, q.types, q.n_types) &&
                          rb_cloud_offer(c, call->region, zone, o->instance_type, RB_MARKET_SPOT) == o &&
                          spot_filters_match(&q, o->instance_type, zone);
            if (wanted && rb_mock_page_take(&q.page, (int64_t)i * region->n_zones + z))
                write_spot_price(call, o, zone);
        }
    }
    rb_mock_xml_close(call->out, "spotPriceHistorySet");
    rb_mock_write_next_token(call, &q.page);
    return true;
}
