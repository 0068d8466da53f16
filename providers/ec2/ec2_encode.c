// Parameter names are those of the API model; lists are numbered from 1.
#include "providers/ec2/ec2_encode.h"

#include "base/arena.h"
#include "base/limits.h"
#include "providers/wire/digest.h"
#include "providers/wire/percent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKEN_LEN = 64 };

#define ACTION(name) "Action=" name "&Version=2016-11-15"

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

static void put_tags(const struct rb_tags *tags, const char *resource, int i, struct rb_buf *out)
{
    struct rb_tag all[RB_TAGS];
    const int n = rb_tags_list(tags, all);
    if (n > 0)
        rb_percent_put(out, "&TagSpecification.%d.ResourceType=%s", i, resource);
    for (int t = 0; t < n; t++)
        rb_percent_put(out, "&TagSpecification.%d.Tag.%d.Key=%s&TagSpecification.%d.Tag.%d.Value=%s", i, t + 1,
                       all[t].key, i, t + 1, all[t].value);
}

// Tags are part of the launch itself: tagging afterwards would leave a moment in which a crash orphans the machine.
static void put_all_tags(const struct rb_launch *l, struct rb_buf *out)
{
    put_tags(&l->tags, "instance", 1, out);
    put_tags(&l->tags, "volume", 2, out);
    if (l->market == RB_MARKET_SPOT)
        put_tags(&l->tags, "spot-instances-request", 3, out);
}

static void put_user_data(const char *user_data, struct rb_buf *out)
{
    if (!user_data)
        return;
    const size_t n = strlen(user_data), size = 4 * ((n + 2) / 3) + 1;
    RB_AUTO(rb_auto_free) char *encoded = rb_xcalloc(size, 1);
    rb_base64_encode(user_data, n, encoded);
    rb_percent_put(out, "&UserData=%s", encoded);
    explicit_bzero(encoded, size); // may hold the run's host key
}

// Shutdown terminates: the default, stop, would keep billing the disk.
void rb_ec2_encode_run(const struct rb_launch *l, const char *image_id, const char *root_device, struct rb_buf *out)
{
    const bool by_arn = l->instance_profile && strncmp(l->instance_profile, "arn:", 4) == 0;
    rb_percent_put(out,
                   ACTION("RunInstances") "&ClientToken=%s&ImageId=%s&InstanceType=%s&MinCount=%d&MaxCount=%d"
                                          "&InstanceInitiatedShutdownBehavior=terminate"
                                          "&MetadataOptions.HttpTokens=required&MetadataOptions.HttpEndpoint=enabled"
                                          "&MetadataOptions.HttpPutResponseHopLimit=1",
                   l->token, image_id, l->instance_type, rb_launch_count(l), rb_launch_count(l));
    if (l->market == RB_MARKET_SPOT)
        rb_buf_puts(out, "&InstanceMarketOptions.MarketType=spot"
                         "&InstanceMarketOptions.SpotOptions.SpotInstanceType=one-time"
                         "&InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior=terminate");
    if (l->reservation && l->reservation->is_block)
        rb_buf_puts(out, "&InstanceMarketOptions.MarketType=capacity-block");
    if (l->reservation)
        rb_percent_put(out, "&CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId=%s",
                       l->reservation->id);
    rb_percent_put(out, "&Placement.AvailabilityZone=%s&Placement.GroupName=%s&SubnetId=%s", l->zone,
                   l->placement_group, l->subnet);
    for (int i = 0; i < l->n_security_groups; i++)
        rb_percent_put(out, "&SecurityGroupId.%d=%s", i + 1, l->security_groups[i]);
    rb_percent_put(out, by_arn ? "&IamInstanceProfile.Arn=%s" : "&IamInstanceProfile.Name=%s", l->instance_profile);
    if (l->disk_gb > 0)
        rb_percent_put(out,
                       "&BlockDeviceMapping.1.DeviceName=%s&BlockDeviceMapping.1.Ebs.VolumeSize=%jd"
                       "&BlockDeviceMapping.1.Ebs.VolumeType=gp3&BlockDeviceMapping.1.Ebs.DeleteOnTermination=true",
                       root_device, l->disk_gb);
    put_all_tags(l, out);
    put_user_data(l->user_data, out);
}

static void put_run_filter(const char *run_id, struct rb_buf *out)
{
    rb_percent_put(out, "&Filter.1.Name=%s&Filter.1.Value.1=%s", run_id ? "tag:" RB_TAG_RUN : "tag-key",
                   run_id ? run_id : RB_TAG_OWNER);
}

void rb_ec2_encode_list(const char *run_id, const char *page, struct rb_buf *out)
{
    rb_buf_puts(out, ACTION("DescribeInstances"));
    put_run_filter(run_id, out);
    rb_percent_put(out, "&MaxResults=1000&NextToken=%s", page);
}

void rb_ec2_encode_look(const char *id, struct rb_buf *out)
{
    rb_percent_put(out, ACTION("DescribeInstances") "&InstanceId.1=%s", id);
}

void rb_ec2_encode_terminate(const char *id, struct rb_buf *out)
{
    rb_percent_put(out, ACTION("TerminateInstances") "&InstanceId.1=%s", id);
}

void rb_ec2_encode_tag(const char *const *ids, int n, const struct rb_tag *tag, struct rb_buf *out)
{
    rb_buf_puts(out, ACTION("CreateTags"));
    for (int i = 0; i < n; i++)
        rb_percent_put(out, "&ResourceId.%d=%s", i + 1, ids[i]);
    rb_percent_put(out, "&Tag.1.Key=%s&Tag.1.Value=%s", tag->key, tag->value);
}

void rb_ec2_encode_create_group(const struct rb_launch *l, struct rb_buf *out)
{
    const struct rb_tags of_the_run = {.owner = l->tags.owner, .run_id = l->tags.run_id};
    rb_percent_put(out, ACTION("CreatePlacementGroup") "&GroupName=%s&Strategy=cluster", l->placement_group);
    put_tags(&of_the_run, "placement-group", 1, out);
}

void rb_ec2_encode_groups(const char *run_id, struct rb_buf *out)
{
    rb_buf_puts(out, ACTION("DescribePlacementGroups"));
    put_run_filter(run_id, out);
}

void rb_ec2_encode_delete_group(const char *name, struct rb_buf *out)
{
    rb_percent_put(out, ACTION("DeletePlacementGroup") "&GroupName=%s", name);
}

void rb_ec2_encode_image(const char *image_id, struct rb_buf *out)
{
    rb_percent_put(out, ACTION("DescribeImages") "&ImageId.1=%s", image_id);
}

static void put_types(const char *const *types, int n, struct rb_buf *out)
{
    for (int i = 0; i < n; i++)
        rb_percent_put(out, "&InstanceType.%d=%s", i + 1, types[i]);
}

void rb_ec2_encode_machines(const char *const *types, int n, const char *page, struct rb_buf *out)
{
    rb_buf_puts(out, ACTION("DescribeInstanceTypes"));
    put_types(types, n, out);
    rb_percent_put(out, "&MaxResults=%s&NextToken=%s", n == 0 ? "100" : NULL, page); // named types come in one answer
}

// Those that are there or to come: what is over stays listed for a while.
void rb_ec2_encode_reservations(const char *page, struct rb_buf *out)
{
    rb_percent_put(out, ACTION("DescribeCapacityReservations") "&Filter.1.Name=%s&Filter.1.Value.1=%s&Filter.1.Value.2=%s"
                                                               "&MaxResults=1000&NextToken=%s",
                   "state", "active", "scheduled", page);
}

// From an instant on, with the last change before it, per pool.
void rb_ec2_encode_spot_prices(const char *const *types, int n, int64_t unix_us, const char *page, struct rb_buf *out)
{
    char now[32];
    rb_buf_puts(out, ACTION("DescribeSpotPriceHistory"));
    put_types(types, n, out);
    rb_percent_put(out, "&ProductDescription.1=%s&StartTime=%s&MaxResults=1000&NextToken=%s", "Linux/UNIX",
                   rb_format_instant(unix_us, now), page);
}
