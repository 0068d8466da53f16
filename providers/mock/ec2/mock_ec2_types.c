// What the cloud sells, and where: DescribeInstanceTypes and DescribeInstanceTypeOfferings, read off the catalogue.
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/mock/ec2/mock_ec2_xml.h"

#include <math.h>
#include <string.h>

#define MIB_PER_GIB 1024

static const struct rb_catalog *catalog_of(const struct rb_mock_call *call)
{
    return &rb_cloud_config_of(call->cloud)->catalog;
}

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

bool rb_mock_is_burstable(const char *type)
{
    static const char *const families[] = {"t2.", "t3.", "t3a.", "t4g."};
    for (size_t k = 0; k < sizeof families / sizeof families[0]; k++)
        if (strncmp(type, families[k], strlen(families[k])) == 0)
            return true;
    return false;
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
    rb_mock_xml_bool(out, "hibernationSupported", false);
    rb_mock_xml_bool(out, "burstablePerformanceSupported", rb_mock_is_burstable(o->instance_type));
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

// --- DescribeInstanceTypeOfferings ---

static bool offering_matches(const struct rb_mock_filters *filters, const char *type, const char *location)
{
    for (int k = 0; k < filters->n; k++) {
        const struct rb_mock_filter *f = &filters->filters[k];
        if (!rb_mock_filter_matches(f, strcmp(f->name, "location") == 0 ? location : type))
            return false;
    }
    return true;
}

static void write_offering(struct rb_mock_call *call, const char *type, const char *kind, const char *location)
{
    rb_mock_xml_open(call->out, "item");
    rb_mock_xml_text(call->out, "instanceType", type);
    rb_mock_xml_text(call->out, "locationType", kind);
    rb_mock_xml_text(call->out, "location", location);
    rb_mock_xml_close(call->out, "item");
}

static bool is_sold_in(const struct rb_mock_call *call, const char *zone, const char *type)
{
    const struct rb_catalog *c = catalog_of(call);
    return rb_cloud_offer(c, call->region, zone, type, RB_MARKET_ON_DEMAND) ||
           rb_cloud_offer(c, call->region, zone, type, RB_MARKET_SPOT);
}

bool rb_mock_describe_instance_type_offerings(struct rb_mock_call *call)
{
    static const char *const known[] = {"instance-type", "location", NULL};
    const struct rb_catalog *c = catalog_of(call);
    const struct rb_cloud_region *region = rb_cloud_regions_find(rb_cloud_regions(call->cloud), call->region);
    const char *kind = rb_form_get(call->form, "LocationType");
    struct rb_mock_filters filters;
    struct rb_mock_page page;
    kind = kind ? kind : "region";
    bool by_zone = strcmp(kind, "availability-zone") == 0;
    if (!rb_mock_read_filters(call, known, &filters) || !rb_mock_read_page(call, 5, 1000, &page) ||
        !rb_mock_call_checked(call))
        return false;
    if (!by_zone && strcmp(kind, "region") != 0)
        return rb_mock_refuse(
            call, 400, "InvalidParameterValue",
            "Value (%.40s) for parameter LocationType is invalid. Expected region or availability-zone", kind);
    rb_mock_xml_open(call->out, "instanceTypeOfferingSet");
    for (int i = 0; i < c->n_offers; i++) {
        const char *type = c->offers[i].instance_type;
        for (int z = 0; z < (by_zone ? region->n_zones : 1) && speaks_for_type(call, &c->offers[i]); z++) {
            const char *location = by_zone ? region->zones[z] : call->region;
            if ((!by_zone || is_sold_in(call, location, type)) && offering_matches(&filters, type, location) &&
                rb_mock_page_take(&page, (int64_t)i * region->n_zones + z))
                write_offering(call, type, kind, location);
        }
    }
    rb_mock_xml_close(call->out, "instanceTypeOfferingSet");
    rb_mock_write_next_token(call, &page);
    return true;
}
