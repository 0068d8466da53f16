// Places and images of the cloud: DescribeRegions, DescribeAvailabilityZones, DescribeImages. And
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
        const char *name = r->regions[k].name;
        if (is_ec2(&r->regions[k]) && rb_mock_is_among(name, names, n))
            rb_mock_xml_put(call->out,
                            "item{regionName:%s regionEndpoint:'ec2.%s.amazonaws.com' optInStatus:opt-in-not-required}",
                            name, name);
    }
    rb_mock_xml_close(call->out, "regionInfo");
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
        const struct rb_mock_fact facts[] = {{"zone-name", r->zones[k]},
                                             {"region-name", r->name},
                                             {"state", "available"},
                                             {"zone-type", "availability-zone"},
                                             {0}};
        if (rb_mock_is_among(r->zones[k], names, n) && rb_mock_filters_match(&filters, facts, NULL, 0))
            rb_mock_xml_put(
                call->out,
                "item{zoneName:%s zoneState:available optInStatus:opt-in-not-required regionName:%s "
                "zoneId:'mock1-az%d' groupName:%s networkBorderGroup:%s zoneType:availability-zone messageSet/}",
                r->zones[k], r->name, k + 1, r->name, r->name);
    }
    rb_mock_xml_close(call->out, "availabilityZoneInfo");
    return true;
}

static void write_image(struct rb_buf *out, const char *id, const char *name)
{
    rb_mock_xml_put(out,
                    "item{imageId:%s imageLocation:amazon/rbmock-linux imageState:available imageOwnerId:%s "
                    "imageOwnerAlias:amazon isPublic:true architecture:x86_64 imageType:machine name:%s "
                    "description:'%s' rootDeviceType:ebs rootDeviceName:/dev/sda1 blockDeviceMapping/ "
                    "virtualizationType:hvm hypervisor:xen}",
                    id, RB_MOCK_ACCOUNT, name, "This host, as a mock cloud's node sees it");
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
    for (int k = 0; k < config->n_images && owned; k++) {
        const char *id = config->images[k], *name = k == 0 ? "rbmock-linux" : id; // the first is the built-in one
        const struct rb_mock_fact facts[] = {
            {"image-id", id}, {"name", name}, {"architecture", "x86_64"}, {"state", "available"}, {0}};
        if (rb_mock_is_among(id, ids, n_ids) && rb_mock_filters_match(&filters, facts, NULL, 0))
            write_image(call->out, id, name);
    }
    rb_mock_xml_close(call->out, "imagesSet");
    return true;
}

// Elastic addresses are allocated apart from instances; this cloud has none.
bool rb_mock_describe_addresses(struct rb_mock_call *call)
{
    static const char *const known[] = {"instance-id", "public-ip", "allocation-id", "domain", NULL};
    struct rb_mock_filters filters;
    if (!rb_mock_read_filters(call, known, &filters) || !rb_mock_call_checked(call))
        return false;
    rb_mock_xml_put(call->out, "addressesSet/");
    return true;
}
