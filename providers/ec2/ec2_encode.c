// Parameter names are those of the API model; lists are numbered from 1.
#include "providers/ec2/ec2_encode.h"

#include "base/arena.h"
#include "base/limits.h"
#include "providers/aws/sigv4.h"
#include "providers/wire/digest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKEN_LEN = 64 };

static void begin(struct rb_buf *out, const char *action)
{
    rb_buf_printf(out, "Action=%s&Version=2016-11-15", action);
}

// Names are ours: letters, digits and dots, nothing to encode.
__attribute__((format(printf, 3, 4))) static void put(struct rb_buf *out, const char *value, const char *name_fmt, ...)
{
    va_list ap;
    rb_buf_putc(out, '&');
    va_start(ap, name_fmt);
    rb_buf_vprintf(out, name_fmt, ap);
    va_end(ap);
    rb_buf_putc(out, '=');
    rb_sigv4_encode(value, strlen(value), out);
}

static void put_if(struct rb_buf *out, const char *value, const char *name)
{
    if (value)
        put(out, value, "%s", name);
}

static bool is_printable_ascii(const char *s)
{
    for (; *s; s++)
        if (*s < 0x20 || *s > 0x7e)
            return false;
    return true;
}

bool rb_ec2_check_launch(const struct rb_launch *l, struct rb_err *err)
{
    const size_t token_len = l->token ? strlen(l->token) : 0;
    if (token_len == 0 || token_len > MAX_TOKEN_LEN || !is_printable_ascii(l->token))
        return rb_err_set(err, RB_E_LAUNCH, "launch token: expected 1..%d ASCII characters", MAX_TOKEN_LEN);
    if (!l->instance_type || !*l->instance_type)
        return rb_err_set(err, RB_E_LAUNCH, "launch: expected an instance type");
    if (l->user_data && strlen(l->user_data) > RB_LIMIT_USER_DATA)
        return rb_err_set(err, RB_E_USER_DATA, "user-data: %zu bytes, EC2 takes %d (RB_LIMIT_USER_DATA)",
                          strlen(l->user_data), RB_LIMIT_USER_DATA);
    if (l->disk_gb < 0)
        return rb_err_set(err, RB_E_LAUNCH, "disk size: expected at least 0 GB");
    if (l->count < 0 || l->count > RB_LIMIT_NODES)
        return rb_err_set(err, RB_E_LAUNCH, "launch: expected a gang of 1..%d machines, got %d", RB_LIMIT_NODES,
                          l->count);
    return true;
}

static void put_tags(const struct rb_launch *l, const char *resource, int i, struct rb_buf *out)
{
    put(out, resource, "TagSpecification.%d.ResourceType", i);
    for (int t = 0; t < l->n_tags; t++) {
        put(out, l->tags[t].key, "TagSpecification.%d.Tag.%d.Key", i, t + 1);
        put(out, l->tags[t].value, "TagSpecification.%d.Tag.%d.Value", i, t + 1);
    }
}

// Tags are part of the launch itself: tagging afterwards would leave a moment in which a crash orphans the machine.
static void put_all_tags(const struct rb_launch *l, struct rb_buf *out)
{
    if (l->n_tags == 0)
        return;
    put_tags(l, "instance", 1, out);
    put_tags(l, "volume", 2, out);
    if (l->market == RB_MARKET_SPOT)
        put_tags(l, "spot-instances-request", 3, out);
}

static void put_user_data(const char *user_data, struct rb_buf *out)
{
    if (!user_data)
        return;
    const size_t n = strlen(user_data), size = 4 * ((n + 2) / 3) + 1;
    RB_AUTO(rb_auto_free) char *encoded = rb_xcalloc(size, 1);
    rb_base64_encode(user_data, n, encoded);
    put(out, encoded, "UserData");
    explicit_bzero(encoded, size); // may hold the run's host key
}

static void put_disk(int64_t disk_gb, const char *root_device, struct rb_buf *out)
{
    char size[32];
    snprintf(size, sizeof size, "%lld", (long long)disk_gb);
    put(out, root_device, "BlockDeviceMapping.1.DeviceName");
    put(out, size, "BlockDeviceMapping.1.Ebs.VolumeSize");
    put(out, "gp3", "BlockDeviceMapping.1.Ebs.VolumeType");
    put(out, "true", "BlockDeviceMapping.1.Ebs.DeleteOnTermination");
}

static void put_network(const struct rb_launch *l, struct rb_buf *out)
{
    put_if(out, l->zone, "Placement.AvailabilityZone");
    put_if(out, l->placement_group, "Placement.GroupName");
    put_if(out, l->subnet, "SubnetId");
    for (int i = 0; i < l->n_security_groups; i++)
        put(out, l->security_groups[i], "SecurityGroupId.%d", i + 1);
}

static void put_market(enum rb_market market, struct rb_buf *out)
{
    if (market != RB_MARKET_SPOT)
        return;
    put(out, "spot", "InstanceMarketOptions.MarketType");
    put(out, "one-time", "InstanceMarketOptions.SpotOptions.SpotInstanceType");
    put(out, "terminate", "InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior");
}

void rb_ec2_encode_run(const struct rb_launch *l, const char *image_id, const char *root_device, struct rb_buf *out)
{
    char count[16];
    snprintf(count, sizeof count, "%d", rb_launch_count(l));
    begin(out, "RunInstances");
    put(out, l->token, "ClientToken");
    put(out, image_id, "ImageId");
    put(out, l->instance_type, "InstanceType");
    put(out, count, "MinCount");
    put(out, count, "MaxCount");
    put(out, "terminate", "InstanceInitiatedShutdownBehavior"); // the default, stop, would keep billing the disk
    put(out, "required", "MetadataOptions.HttpTokens");
    put(out, "enabled", "MetadataOptions.HttpEndpoint");
    put(out, "1", "MetadataOptions.HttpPutResponseHopLimit");
    put_market(l->market, out);
    put_network(l, out);
    if (l->instance_profile)
        put(out, l->instance_profile, "IamInstanceProfile.%s",
            strncmp(l->instance_profile, "arn:", 4) == 0 ? "Arn" : "Name");
    if (l->disk_gb > 0)
        put_disk(l->disk_gb, root_device, out);
    put_all_tags(l, out);
    put_user_data(l->user_data, out);
}

static void put_page(struct rb_buf *out, const char *page)
{
    put_if(out, page, "NextToken");
}

static void put_run_filter(const char *run_id, struct rb_buf *out)
{
    put(out, run_id ? "tag:rb:run-id" : "tag-key", "Filter.1.Name");
    put(out, run_id ? run_id : "rb:owner", "Filter.1.Value.1");
}

void rb_ec2_encode_list(const char *run_id, const char *page, struct rb_buf *out)
{
    begin(out, "DescribeInstances");
    put_run_filter(run_id, out);
    put(out, "1000", "MaxResults");
    put_page(out, page);
}

void rb_ec2_encode_look(const char *id, struct rb_buf *out)
{
    begin(out, "DescribeInstances");
    put(out, id, "InstanceId.1");
}

void rb_ec2_encode_terminate(const char *id, struct rb_buf *out)
{
    begin(out, "TerminateInstances");
    put(out, id, "InstanceId.1");
}

void rb_ec2_encode_tag(const char *const *ids, int n, const struct rb_tag *tag, struct rb_buf *out)
{
    begin(out, "CreateTags");
    for (int i = 0; i < n; i++)
        put(out, ids[i], "ResourceId.%d", i + 1);
    put(out, tag->key, "Tag.1.Key");
    put(out, tag->value, "Tag.1.Value");
}

void rb_ec2_encode_create_group(const struct rb_launch *l, struct rb_buf *out)
{
    static const char *const of_the_run[] = {"rb:run-id", "rb:owner"};
    int n = 0;
    begin(out, "CreatePlacementGroup");
    put(out, l->placement_group, "GroupName");
    put(out, "cluster", "Strategy");
    for (int t = 0; t < l->n_tags; t++)
        for (size_t k = 0; k < sizeof of_the_run / sizeof of_the_run[0]; k++)
            if (strcmp(l->tags[t].key, of_the_run[k]) == 0) {
                if (n++ == 0)
                    put(out, "placement-group", "TagSpecification.1.ResourceType");
                put(out, l->tags[t].key, "TagSpecification.1.Tag.%d.Key", n);
                put(out, l->tags[t].value, "TagSpecification.1.Tag.%d.Value", n);
            }
}

void rb_ec2_encode_groups(const char *run_id, struct rb_buf *out)
{
    begin(out, "DescribePlacementGroups");
    put_run_filter(run_id, out);
}

void rb_ec2_encode_delete_group(const char *name, struct rb_buf *out)
{
    begin(out, "DeletePlacementGroup");
    put(out, name, "GroupName");
}

void rb_ec2_encode_image(const char *image_id, struct rb_buf *out)
{
    begin(out, "DescribeImages");
    put(out, image_id, "ImageId.1");
}

static void put_types(const char *const *types, int n, struct rb_buf *out)
{
    for (int i = 0; i < n; i++)
        put(out, types[i], "InstanceType.%d", i + 1);
}

void rb_ec2_encode_machines(const char *const *types, int n, const char *page, struct rb_buf *out)
{
    begin(out, "DescribeInstanceTypes");
    put_types(types, n, out);
    if (n == 0)
        put(out, "100", "MaxResults"); // named types come in one answer
    put_page(out, page);
}

void rb_ec2_encode_spot_prices(const char *const *types, int n, int64_t unix_us, const char *page, struct rb_buf *out)
{
    char now[32];
    begin(out, "DescribeSpotPriceHistory");
    put_types(types, n, out);
    put(out, "Linux/UNIX", "ProductDescription.1");
    put(out, rb_format_instant(unix_us, now), "StartTime"); // from now on: the last change before it, per pool
    put(out, "1000", "MaxResults");
    put_page(out, page);
}
