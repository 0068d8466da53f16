// The cloud's offers and their places: DescribeInstanceTypes and DescribeInstanceTypeOfferings, from the catalogue.
#include "providers/mock/ec2/mock_ec2_action.h"
#include "base/text/table.h"
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
    if (o->gpus > 0 && strcmp(o->accelerator, "CPU") != 0)
        rb_mock_xml_put(out,
                        "gpuInfo{gpus{item{name:%s manufacturer:%s count:%d memoryInfo{sizeInMiB:%jd}}} "
                        "totalGpuMemoryInMiB:%jd}",
                        o->accelerator, manufacturer(o->accelerator), o->gpus, mib, mib * o->gpus);
}

bool rb_mock_is_burstable(const char *type)
{
    static const char *const families[] = {"t2.", "t3.", "t3a.", "t4g."};
    return RB_ROW_STARTING(families, type) != NULL;
}

static bool is_sold(const struct rb_mock_call *call, const char *zone, const char *type, enum rb_market market)
{
    return rb_cloud_offer(catalog_of(call), call->region, zone, type, market) != NULL;
}

static void write_type(struct rb_mock_call *call, const struct rb_offer *o)
{
    struct rb_buf *out = call->out;
    const char *type = o->instance_type;
    rb_mock_xml_open(out, "item");
    rb_mock_xml_put(out,
                    "instanceType:%s currentGeneration:true freeTierEligible:false "
                    "supportedUsageClasses{item:%s item:%s} supportedRootDeviceTypes{item:ebs} "
                    "supportedVirtualizationTypes{item:hvm} bareMetal:false hypervisor:nitro "
                    "processorInfo{supportedArchitectures{item:x86_64}} vCpuInfo{defaultVCpus:%jd} "
                    "memoryInfo{sizeInMiB:%jd} instanceStorageSupported:false",
                    type, is_sold(call, NULL, type, RB_MARKET_ON_DEMAND) ? "on-demand" : NULL,
                    is_sold(call, NULL, type, RB_MARKET_SPOT) ? "spot" : NULL, (int64_t)llround(o->vcpus),
                    (int64_t)llround(o->memory_gb * MIB_PER_GIB));
    write_gpus(out, o);
    rb_mock_xml_put(out, "hibernationSupported:false burstablePerformanceSupported:%i", rb_mock_is_burstable(type));
    rb_mock_xml_close(out, "item");
}

// Each type once, whatever the number of its rows: true for the offer that represents its type.
static bool represents_type(const struct rb_mock_call *call, const struct rb_offer *o)
{
    return rb_cloud_offer_any(catalog_of(call), call->region, o->instance_type) == o;
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
        const char *type = o->instance_type;
        const struct rb_mock_fact facts[] = {
            {"instance-type", type},
            {"supported-usage-class", is_sold(call, NULL, type, RB_MARKET_ON_DEMAND) ? "on-demand" : NULL},
            {"supported-usage-class", is_sold(call, NULL, type, RB_MARKET_SPOT) ? "spot" : NULL},
            {0}};
        if (represents_type(call, o) && rb_mock_is_among(type, types, n_types) &&
            rb_mock_filters_match(&filters, facts, NULL, 0) && rb_mock_page_take(&page, i))
            write_type(call, o);
    }
    rb_mock_xml_close(call->out, "instanceTypeSet");
    rb_mock_write_next_token(call, &page);
    return true;
}

// --- DescribeInstanceTypeOfferings ---

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
        for (int z = 0; z < (by_zone ? region->n_zones : 1) && represents_type(call, &c->offers[i]); z++) {
            const char *location = by_zone ? region->zones[z] : call->region;
            const bool sold = !by_zone || is_sold(call, location, type, RB_MARKET_ON_DEMAND) ||
                              is_sold(call, location, type, RB_MARKET_SPOT);
            const struct rb_mock_fact facts[] = {{"instance-type", type}, {"location", location}, {0}};
            if (sold && rb_mock_filters_match(&filters, facts, NULL, 0) &&
                rb_mock_page_take(&page, (int64_t)i * region->n_zones + z))
                rb_mock_xml_put(call->out, "item{instanceType:%s locationType:%s location:%s}", type, kind, location);
        }
    }
    rb_mock_xml_close(call->out, "instanceTypeOfferingSet");
    rb_mock_write_next_token(call, &page);
    return true;
}
