// Where the cloud is and what it boots: DescribeRegions, DescribeAvailabilityZones, DescribeImages. And
// DescribeAddresses, which libcloud asks whenever it lists instances.
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/mock/ec2/mock_ec2_xml.h"

#include <string.h>

static bool is_ec2(const struct rb_cloud_region *r)
{
    return r && !r->is_gcp;
}

bool rb_mock_describe_regions(struct rb_mock_call *call)
{
    const struct rb_cloud_regions *r = rb_cloud_regions(call->cloud);
    const char *const *names;
    bool all;
    int n = rb_form_list(call->form, "RegionName", call->arena, &names);
    if (!rb_mock_read_bool(call, "AllRegions", &all) || !rb_mock_call_checked(call))
        return false;
    for (int k = 0; k < n; k++)
        if (!is_ec2(rb_cloud_regions_find(r, names[k])))
            return rb_mock_refuse(call, 400, "InvalidParameterValue", "Invalid region: [%.60s]", names[k]);
    rb_mock_xml_open(call->out, "regionInfo");
    for (int k = 0; k < r->n; k++) {
        if (!is_ec2(&r->regions[k]) || !rb_mock_is_among(r->regions[k].name, names, n))
            continue;
        rb_mock_xml_open(call->out, "item");
        rb_mock_xml_text(call->out, "regionName", r->regions[k].name);
        rb_mock_xml_text(call->out, "regionEndpoint",
                         rb_arena_printf(call->arena, "ec2.%s.amazonaws.com", r->regions[k].name));
        rb_mock_xml_text(call->out, "optInStatus", "opt-in-not-required");
        rb_mock_xml_close(call->out, "item");
    }
    rb_mock_xml_close(call->out, "regionInfo");
    return true;
}

static bool zone_matches(const struct rb_mock_filters *filters, const char *region, const char *zone)
{
    for (int k = 0; k < filters->n; k++) {
        const char *name = filters->filters[k].name;
        const char *text = strcmp(name, "zone-name") == 0     ? zone
                           : strcmp(name, "region-name") == 0 ? region
                           : strcmp(name, "state") == 0       ? "available"
                                                              : "availability-zone";
        if (!rb_mock_filter_matches(&filters->filters[k], text))
            return false;
    }
    return true;
}

bool rb_mock_describe_availability_zones(struct rb_mock_call *call)
{
    static const char *const known[] = {"region-name", "state", "zone-name", "zone-type", NULL};
    const struct rb_cloud_region *r = rb_cloud_regions_find(rb_cloud_regions(call->cloud), call->region);
    struct rb_mock_filters filters;
    const char *const *names;
    bool all;
    int n = rb_form_list(call->form, "ZoneName", call->arena, &names);
    if (!rb_mock_read_bool(call, "AllAvailabilityZones", &all) || !rb_mock_read_filters(call, known, &filters) ||
        !rb_mock_call_checked(call))
        return false;
    for (int k = 0; k < n; k++)
        if (!rb_cloud_region_has_zone(r, names[k]))
            return rb_mock_refuse(call, 400, "InvalidParameterValue", "Invalid availability zone: [%.60s]", names[k]);
    rb_mock_xml_open(call->out, "availabilityZoneInfo");
    for (int k = 0; k < r->n_zones; k++) {
        if (!rb_mock_is_among(r->zones[k], names, n) || !zone_matches(&filters, r->name, r->zones[k]))
            continue;
        rb_mock_xml_open(call->out, "item");
        rb_mock_xml_text(call->out, "zoneName", r->zones[k]);
        rb_mock_xml_text(call->out, "zoneState", "available");
        rb_mock_xml_text(call->out, "optInStatus", "opt-in-not-required");
        rb_mock_xml_text(call->out, "regionName", r->name);
        rb_mock_xml_text(call->out, "zoneId", rb_arena_printf(call->arena, "mock%d-az%d", 1, k + 1));
        rb_mock_xml_text(call->out, "groupName", r->name);
        rb_mock_xml_text(call->out, "networkBorderGroup", r->name);
        rb_mock_xml_text(call->out, "zoneType", "availability-zone");
        rb_mock_xml_empty(call->out, "messageSet");
        rb_mock_xml_close(call->out, "item");
    }
    rb_mock_xml_close(call->out, "availabilityZoneInfo");
    return true;
}

static void write_image(struct rb_buf *out, const char *id, bool built_in)
{
    rb_mock_xml_open(out, "item");
    rb_mock_xml_text(out, "imageId", id);
    rb_mock_xml_text(out, "imageLocation", "amazon/rbmock-linux");
    rb_mock_xml_text(out, "imageState", "available");
    rb_mock_xml_text(out, "imageOwnerId", RB_MOCK_ACCOUNT);
    rb_mock_xml_text(out, "imageOwnerAlias", "amazon");
    rb_mock_xml_bool(out, "isPublic", true);
    rb_mock_xml_text(out, "architecture", "x86_64");
    rb_mock_xml_text(out, "imageType", "machine");
    rb_mock_xml_text(out, "name", built_in ? "rbmock-linux" : id);
    rb_mock_xml_text(out, "description", "This host, as a mock cloud's node sees it");
    rb_mock_xml_text(out, "rootDeviceType", "ebs");
    rb_mock_xml_text(out, "rootDeviceName", "/dev/sda1");
    rb_mock_xml_empty(out, "blockDeviceMapping");
    rb_mock_xml_text(out, "virtualizationType", "hvm");
    rb_mock_xml_text(out, "hypervisor", "xen");
    rb_mock_xml_close(out, "item");
}

static bool image_matches(const struct rb_mock_filters *filters, const char *id, bool built_in)
{
    for (int k = 0; k < filters->n; k++) {
        const char *name = filters->filters[k].name;
        const char *text = strcmp(name, "image-id") == 0       ? id
                           : strcmp(name, "name") == 0         ? (built_in ? "rbmock-linux" : id)
                           : strcmp(name, "architecture") == 0 ? "x86_64"
                                                               : "available";
        if (!rb_mock_filter_matches(&filters->filters[k], text))
            return false;
    }
    return true;
}

bool rb_mock_describe_images(struct rb_mock_call *call)
{
    static const char *const known[] = {"architecture", "image-id", "name", "state", NULL};
    const struct rb_cloud_config *config = rb_cloud_config_of(call->cloud);
    struct rb_mock_filters filters;
    const char *const *ids, *const *owners;
    int n_ids = rb_form_list(call->form, "ImageId", call->arena, &ids);
    int n_owners = rb_form_list(call->form, "Owner", call->arena, &owners);
    if (!rb_mock_read_filters(call, known, &filters) || !rb_mock_call_checked(call))
        return false;
    for (int k = 0; k < n_ids; k++)
        if (!rb_mock_is_among(ids[k], config->images, config->n_images))
            return rb_mock_refuse(call, 400, "InvalidAMIID.NotFound", "The image id '[%.60s]' does not exist", ids[k]);
    bool owned = rb_mock_is_among("amazon", owners, n_owners) || rb_mock_is_among(RB_MOCK_ACCOUNT, owners, n_owners) ||
                 rb_mock_is_among("self", owners, n_owners);
    rb_mock_xml_open(call->out, "imagesSet");
    for (int k = 0; k < config->n_images && owned; k++)
        if (rb_mock_is_among(config->images[k], ids, n_ids) && image_matches(&filters, config->images[k], k == 0))
            write_image(call->out, config->images[k], k == 0);
    rb_mock_xml_close(call->out, "imagesSet");
    return true;
}

// Elastic addresses are bought apart from instances; nobody has any here.
bool rb_mock_describe_addresses(struct rb_mock_call *call)
{
    static const char *const known[] = {"instance-id", "public-ip", "allocation-id", "domain", NULL};
    struct rb_mock_filters filters;
    if (!rb_mock_read_filters(call, known, &filters) || !rb_mock_call_checked(call))
        return false;
    rb_mock_xml_empty(call->out, "addressesSet");
    return true;
}
