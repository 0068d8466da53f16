// The parameters of RunInstances. What a mock machine cannot honour (key pairs, launch templates) is
// refused, never silently dropped; what does not matter to it (security groups, metadata options,
// monitoring) is checked and accepted.
#include "base/limits.h"
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/mock/ec2/mock_ec2_network.h"
#include "providers/mock/node/user_data.h"
#include "providers/wire/digest.h"

#include <string.h>

#define MAX_TOKEN     64
#define MAX_TAGS      50
#define MAX_TAG_KEY   128
#define MAX_TAG_VALUE 256
#define MAX_DISK_GB   16384 // gp3's largest volume

static bool missing(struct rb_mock_call *call, const char *name)
{
    return rb_mock_refuse(call, 400, "MissingParameter", "The request must contain the parameter %s", name);
}

static bool invalid(struct rb_mock_call *call, const char *name, const char *value)
{
    return rb_mock_refuse(call, 400, "InvalidParameterValue", "Value (%.80s) for parameter %s is invalid", value, name);
}

static bool one_of(struct rb_mock_call *call, const char *name, const char *const *allowed, const char **out)
{
    const char *value = rb_form_get(call->form, "%s", name);
    if (out)
        *out = value;
    for (; value && *allowed; allowed++)
        if (strcmp(*allowed, value) == 0)
            return true;
    return !value || invalid(call, name, value);
}

// --- what is launched ---

static bool read_image(struct rb_mock_call *call, struct rb_cloud_launch *l)
{
    const struct rb_cloud_config *config = rb_cloud_config_of(call->cloud);
    const char *id = rb_form_get(call->form, "ImageId");
    if (!id)
        return missing(call, "ImageId");
    // A public parameter of Systems Manager names the newest image of a family; here all families are one
    // image.
    bool by_parameter = strncmp(id, "resolve:ssm:/aws/service/", 25) == 0;
    if (!by_parameter && strncmp(id, "ami-", 4) != 0)
        return rb_mock_refuse(call, 400, "InvalidAMIID.Malformed", "Invalid id: \"%.60s\" (expecting \"ami-...\")", id);
    for (int i = 0; i < config->n_images; i++)
        if (by_parameter || strcmp(config->images[i], id) == 0) {
            l->image_id = config->images[i];
            return true;
        }
    return rb_mock_refuse(
        call, 400, "InvalidAMIID.NotFound",
        "The image id '[%.60s]' does not exist; this cloud has %s, and those listed under `images` in "
        "its file",
        id, config->images[0]);
}

static bool read_counts(struct rb_mock_call *call, struct rb_cloud_launch *l)
{
    int64_t min = 0, max = 0;
    if (!rb_mock_read_int(call, "MinCount", 1, RB_LIMIT_NODES, &min) ||
        !rb_mock_read_int(call, "MaxCount", 1, RB_LIMIT_NODES, &max))
        return false;
    if (min == 0 || max == 0)
        return missing(call, min ? "MaxCount" : "MinCount");
    if (min > max)
        return rb_mock_refuse(call, 400, "InvalidParameterValue", "MinCount must not be greater than MaxCount");
    l->min_count = (int)min;
    l->max_count = (int)max;
    return true;
}

static bool read_market(struct rb_mock_call *call, struct rb_cloud_launch *l)
{
    static const char *const markets[] = {"spot", "capacity-block", NULL}, *const once[] = {"one-time", NULL},
                             *const ends[] = {"terminate", NULL};
    const char *market;
    if (!one_of(call, "InstanceMarketOptions.MarketType", markets, &market))
        return false;
    l->market = market && strcmp(market, "spot") == 0 ? RB_MARKET_SPOT : RB_MARKET_ON_DEMAND;
    l->of_block = market && strcmp(market, "capacity-block") == 0;
    if (!market && rb_form_has_prefix(call->form, "InstanceMarketOptions."))
        return missing(call, "InstanceMarketOptions.MarketType");
    return one_of(call, "InstanceMarketOptions.SpotOptions.SpotInstanceType", once, NULL) &&
           one_of(call, "InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior", ends, NULL);
}

static bool read_reservation(struct rb_mock_call *call, struct rb_cloud_launch *l)
{
    static const char *const preferences[] = {"open", NULL};
    l->reserved = rb_form_get(call->form, "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId");
    if (!one_of(call, "CapacityReservationSpecification.CapacityReservationPreference", preferences, NULL))
        return false;
    if (l->reserved && !rb_mock_well_formed_id(l->reserved, "cr-"))
        return rb_mock_refuse(call, 400, "InvalidCapacityReservationId.Malformed", "Invalid id: \"%.60s\"", l->reserved);
    if (l->reserved && l->market == RB_MARKET_SPOT)
        return rb_mock_refuse(call, 400, "InvalidParameterCombination",
                              "Spot instances do not run in capacity reservations");
    if (l->of_block && !l->reserved)
        return missing(call, "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId");
    return true;
}

static bool check_max_price(struct rb_mock_call *call, const struct rb_cloud_launch *l)
{
    const char *text = rb_form_get(call->form, "InstanceMarketOptions.SpotOptions.MaxPrice");
    struct rb_rate max;
    const struct rb_offer *offer = rb_cloud_offer(&rb_cloud_config_of(call->cloud)->catalog, call->region, l->zone,
                                                  l->instance_type, RB_MARKET_SPOT);
    if (text && !rb_parse_rate(text, false, &max, NULL))
        return invalid(call, "InstanceMarketOptions.SpotOptions.MaxPrice", text);
    if (text && offer && max.uusd_per_hour < offer->rate.uusd_per_hour)
        return rb_mock_refuse(call, 400, "SpotMaxPriceTooLow",
                              "Your Spot request price of %.20s is lower than the minimum required Spot request "
                              "fulfillment price",
                              text);
    return true;
}

// EC2's defaults for a volume. Source: EBS user guide, "Amazon EBS volume types".
static void complete_volume(struct rb_cloud_launch *l, const char *type, int64_t iops, int64_t throughput)
{
    const int64_t least = 3 * l->disk_gb < 100 ? 100 : 3 * l->disk_gb > 16000 ? 16000 : 3 * l->disk_gb;
    const bool is_gp3 = type && strcmp(type, "gp3") == 0;
    l->traits.volume_type = is_gp3 ? "gp3" : "gp2";
    l->traits.volume_iops = !is_gp3 ? least : iops > 0 ? iops : 3000;
    l->traits.volume_throughput = !is_gp3 ? 0 : throughput > 0 ? throughput : 125;
}

// One disk, the root one, which ends with the instance.
static bool read_disk(struct rb_mock_call *call, struct rb_cloud_launch *l)
{
    static const char *const types[] = {"gp2", "gp3", NULL}, p[] = "BlockDeviceMapping.1.";
    int64_t iops = 0, throughput = 0;
    bool ends = true, encrypted = false;
    const char *type, *device = rb_form_get(call->form, "%sDeviceName", p);
    if (!rb_form_has_prefix(call->form, "%s", p))
        return true;
    if (!device)
        return missing(call, "BlockDeviceMapping.1.DeviceName");
    if (strcmp(device, RB_MOCK_ROOT_DEVICE) != 0 || rb_form_has_prefix(call->form, "BlockDeviceMapping.2."))
        return rb_mock_refuse(call, 400, "UnsupportedOperation",
                              "An instance of this cloud has one disk, " RB_MOCK_ROOT_DEVICE);
    if (!rb_mock_read_int(call, "BlockDeviceMapping.1.Ebs.VolumeSize", 1, MAX_DISK_GB, &l->disk_gb) ||
        !one_of(call, "BlockDeviceMapping.1.Ebs.VolumeType", types, &type) ||
        !rb_mock_read_int(call, "BlockDeviceMapping.1.Ebs.Iops", 100, 256000, &iops) ||
        !rb_mock_read_int(call, "BlockDeviceMapping.1.Ebs.Throughput", 125, 2000, &throughput) ||
        !rb_mock_read_bool(call, "BlockDeviceMapping.1.Ebs.DeleteOnTermination", &ends) ||
        !rb_mock_read_bool(call, "BlockDeviceMapping.1.Ebs.Encrypted", &encrypted))
        return false;
    if (l->disk_gb == 0)
        return missing(call, "BlockDeviceMapping.1.Ebs.VolumeSize"); // the image has no size of its own
    if (!ends || encrypted)
        return rb_mock_refuse(call, 400, "UnsupportedOperation",
                              "A disk of this cloud ends with its instance, and is not encrypted");
    if ((iops > 0 || throughput > 0) && (!type || strcmp(type, "gp3") != 0))
        return rb_mock_refuse(call, 400, "InvalidParameterCombination",
                              "The parameters iops and throughput are for volumes of type gp3");
    complete_volume(l, type, iops, throughput);
    return true;
}

// --- where ---

// Any well-formed subnet exists; which zone it lies in is a matter of its name, and stays so. The default ones are
// their zones'.
static const char *subnet_zone(const struct rb_mock_call *call, const char *subnet)
{
    const struct rb_cloud_region *r = rb_cloud_regions_find(rb_cloud_regions(call->cloud), call->region);
    unsigned sum = 0;
    for (int z = 0; z < r->n_zones; z++) {
        char own[RB_MOCK_EC2_ID];
        rb_mock_subnet_id(r->zones[z], own);
        if (strcmp(own, subnet) == 0)
            return r->zones[z];
    }
    for (const char *c = subnet; *c; c++)
        sum = sum * 31 + (unsigned char)*c;
    return r->zones[sum % (unsigned)r->n_zones];
}

static bool read_groups(struct rb_mock_call *call, const char *prefix, struct rb_cloud_launch *l)
{
    const char *const *groups;
    int n = rb_form_list(call->form, prefix, call->arena, &groups);
    if (n > 0) {
        l->traits.security_groups = groups;
        l->traits.n_security_groups = n;
    }
    for (int i = 0; i < n; i++)
        if (!rb_mock_well_formed_id(groups[i], "sg-"))
            return rb_mock_refuse(call, 400, "InvalidGroupId.Malformed", "Invalid id: \"%.60s\" (expecting \"sg-...\")",
                                  groups[i]);
    return true;
}

static bool read_interface(struct rb_mock_call *call, const char **subnet, struct rb_cloud_launch *l)
{
    const char *p = "NetworkInterface.1.";
    static const char *const kinds[] = {"interface", NULL};
    int64_t index = 0;
    bool flag;
    if (!rb_form_has_prefix(call->form, "%s", p))
        return true;
    if (*subnet || rb_form_has_prefix(call->form, "SecurityGroup"))
        return rb_mock_refuse(call, 400, "InvalidParameterCombination",
                              "Network interfaces and an instance-level subnet ID or security groups may not be "
                              "specified on the same request");
    *subnet = rb_form_get(call->form, "%sSubnetId", p);
    return rb_mock_read_int(call, "NetworkInterface.1.DeviceIndex", 0, 0, &index) &&
           rb_mock_read_int(call, "NetworkInterface.1.NetworkCardIndex", 0, 0, &index) &&
           rb_mock_read_bool(call, "NetworkInterface.1.AssociatePublicIpAddress", &flag) &&
           rb_mock_read_bool(call, "NetworkInterface.1.DeleteOnTermination", &flag) &&
           one_of(call, "NetworkInterface.1.InterfaceType", kinds, NULL) &&
           read_groups(call, "NetworkInterface.1.SecurityGroupId", l);
}

static bool read_place(struct rb_mock_call *call, struct rb_cloud_launch *l)
{
    static const char *const tenancies[] = {"default", NULL};
    const char *subnet = rb_form_get(call->form, "SubnetId");
    l->zone = rb_form_get(call->form, "Placement.AvailabilityZone");
    if (l->zone && !*l->zone) // terraform sends this where none was chosen
        l->zone = NULL;
    l->group = rb_form_get(call->form, "Placement.GroupName");
    if (!one_of(call, "Placement.Tenancy", tenancies, NULL) || !read_interface(call, &subnet, l) ||
        !read_groups(call, "SecurityGroupId", l))
        return false;
    if (!subnet)
        return true;
    if (!rb_mock_well_formed_id(subnet, "subnet-"))
        return rb_mock_refuse(call, 400, "InvalidSubnetID.NotFound", "The subnet ID '%.60s' does not exist", subnet);
    const char *zone = subnet_zone(call, subnet);
    if (l->zone && strcmp(l->zone, zone) != 0)
        return rb_mock_refuse(call, 400, "InvalidParameterValue", "The subnet %.60s lies in %s, not in %.40s", subnet,
                              zone, l->zone);
    l->zone = zone;
    l->traits.subnet = subnet;
    return true;
}

// --- user data, token, tags ---

static bool read_user_data(struct rb_mock_call *call, struct rb_cloud_launch *l)
{
    const char *text = rb_form_get(call->form, "UserData");
    if (!text)
        return true;
    size_t len = strlen(text);
    unsigned char *raw = rb_arena_alloc(call->arena, len + 4);
    int n = rb_base64_decode(text, len, raw);
    if (n < 0)
        return rb_mock_refuse(call, 400, "InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.");
    if (n > RB_LIMIT_USER_DATA)
        return rb_mock_refuse(call, 400, "InvalidParameterValue", "User data is limited to %d bytes, got %d",
                              RB_LIMIT_USER_DATA, n);
    l->user_data = raw;
    l->user_data_len = (size_t)n;
    struct rb_err err;
    if (!rb_user_data_is_harmless((const char *)raw, (size_t)n, &err))
        return rb_mock_refuse(call, 400, "InvalidUserData.HostPath", "user data, %.220s", err.message);
    return true;
}

static bool read_token(struct rb_mock_call *call, struct rb_cloud_launch *l)
{
    l->token = rb_form_get(call->form, "ClientToken");
    if (l->token && !*l->token)
        l->token = NULL;
    for (const char *c = l->token; c && *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e || c - l->token >= MAX_TOKEN)
            return rb_mock_refuse(call, 400, "InvalidParameterValue", "ClientToken must be at most %d ASCII characters",
                                  MAX_TOKEN);
    return true;
}

static bool read_tag(struct rb_mock_call *call, int spec, int n, struct rb_cloud_tag *out)
{
    out->key = rb_form_get(call->form, "TagSpecification.%d.Tag.%d.Key", spec, n);
    out->value = rb_form_get(call->form, "TagSpecification.%d.Tag.%d.Value", spec, n);
    if (!out->value)
        out->value = "";
    if (!out->key || !*out->key || strlen(out->key) > MAX_TAG_KEY || strncmp(out->key, "aws:", 4) == 0)
        return rb_mock_refuse(call, 400, "InvalidParameterValue",
                              "Tag keys have 1 to %d characters and do not begin with aws:", MAX_TAG_KEY);
    if (strlen(out->value) > MAX_TAG_VALUE)
        return rb_mock_refuse(call, 400, "InvalidParameterValue",
                              "Tag value exceeds the maximum length of %d characters", MAX_TAG_VALUE);
    return true;
}

bool rb_mock_read_tags(struct rb_mock_call *call, const char *const *kinds, const char *kept,
                       const struct rb_cloud_tag **out, int *out_n)
{
    struct rb_cloud_tag *tags = rb_arena_array(call->arena, MAX_TAGS + 1, sizeof *tags);
    int n_tags = 0;
    for (int spec = 1; rb_form_has_prefix(call->form, "TagSpecification.%d.", spec); spec++) {
        const char *kind, *name = rb_arena_printf(call->arena, "TagSpecification.%d.ResourceType", spec);
        if (!one_of(call, name, kinds, &kind))
            return false;
        if (!kind)
            return missing(call, name);
        for (int n = 1; rb_form_has_prefix(call->form, "TagSpecification.%d.Tag.%d.", spec, n); n++) {
            struct rb_cloud_tag tag;
            if (!read_tag(call, spec, n, &tag))
                return false;
            if (strcmp(kind, kept) != 0)
                continue;
            if (n_tags == MAX_TAGS)
                return rb_mock_refuse(call, 400, "TagLimitExceeded", "A resource has at most %d tags", MAX_TAGS);
            for (int k = 0; k < n_tags; k++)
                if (strcmp(tags[k].key, tag.key) == 0)
                    return rb_mock_refuse(call, 400, "InvalidParameterValue", "Duplicate tag key '%.100s' specified.",
                                          tag.key);
            tags[n_tags++] = tag;
        }
    }
    *out = tags;
    *out_n = n_tags;
    return true;
}

// Tags of instance and volume are kept; this cloud has no spot requests and network interfaces.
static bool read_tags(struct rb_mock_call *call, struct rb_cloud_launch *l)
{
    static const char *const kinds[] = {"instance", "volume", "spot-instances-request", "network-interface", NULL};
    return rb_mock_read_tags(call, kinds, "instance", &l->tags, &l->n_tags) &&
           rb_mock_read_tags(call, kinds, "volume", &l->traits.volume_tags, &l->traits.n_volume_tags);
}

// They change nothing that a mock machine has; all but the profile are shown again.
static bool read_traits(struct rb_mock_call *call, struct rb_cloud_traits *t)
{
    static const char *const tokens[] = {"required", "optional", NULL}, *const on_off[] = {"enabled", "disabled", NULL},
                             *const off[] = {"disabled", NULL};
    bool hibernates = false;
    rb_form_get(call->form, "IamInstanceProfile.Name");
    rb_form_get(call->form, "IamInstanceProfile.Arn");
    if (!one_of(call, "MetadataOptions.HttpTokens", tokens, &t->http_tokens) ||
        !one_of(call, "MetadataOptions.HttpEndpoint", on_off, &t->http_endpoint) ||
        !one_of(call, "MetadataOptions.HttpProtocolIpv6", off, NULL) ||
        !one_of(call, "MetadataOptions.InstanceMetadataTags", on_off, &t->metadata_tags) ||
        !rb_mock_read_int(call, "MetadataOptions.HttpPutResponseHopLimit", 1, 64, &t->hop_limit) ||
        !rb_mock_read_bool(call, "EbsOptimized", &t->ebs_optimized) ||
        !rb_mock_read_bool(call, "Monitoring.Enabled", &t->monitoring) ||
        !rb_mock_read_bool(call, "HibernationOptions.Configured", &hibernates))
        return false;
    return !hibernates ||
           rb_mock_refuse(call, 400, "UnsupportedHibernationConfiguration", "Instances of this cloud do not hibernate");
}

static bool read_behaviour(struct rb_mock_call *call, struct rb_cloud_launch *l)
{
    static const char *const behaviours[] = {"stop", "terminate", NULL};
    const char *behaviour, *key = rb_form_get(call->form, "KeyName");
    bool protect = false;
    if (!one_of(call, "InstanceInitiatedShutdownBehavior", behaviours, &behaviour) ||
        !rb_mock_read_bool(call, "DisableApiTermination", &protect))
        return false;
    if (key)
        return rb_mock_refuse(call, 400, "InvalidKeyPair.NotFound",
                              "The key pair '%.60s' does not exist; this cloud has none: pass keys in user data", key);
    if (protect)
        return rb_mock_refuse(call, 400, "UnsupportedOperation", "This cloud has no termination protection");
    // A spot instance that is shut down from inside terminates, whatever the request was.
    l->terminate_on_shutdown = l->market == RB_MARKET_SPOT || (behaviour && strcmp(behaviour, "terminate") == 0);
    return true;
}

bool rb_mock_read_launch(struct rb_mock_call *call, struct rb_cloud_launch *l)
{
    l->instance_type = rb_form_get(call->form, "InstanceType");
    if (!l->instance_type) // EC2 would take m1.small, which no client means
        return missing(call, "InstanceType");
    return read_token(call, l) && read_image(call, l) && read_counts(call, l) && read_market(call, l) &&
           read_reservation(call, l) && read_place(call, l) && check_max_price(call, l) && read_disk(call, l) && read_user_data(call, l) &&
           read_tags(call, l) && read_behaviour(call, l) && read_traits(call, &l->traits) &&
           rb_mock_call_is_dry_run(call, &l->dry_run);
}
