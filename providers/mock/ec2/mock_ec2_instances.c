// DescribeInstances and TerminateInstances, and how an instance looks in XML.
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/mock/ec2/mock_ec2_network.h"
#include "providers/mock/ec2/mock_ec2_xml.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

// The low byte of EC2's instance state code; the high byte is internal to EC2 and to be ignored.
static int state_code(enum rb_cloud_state state)
{
    static const int codes[] = {
        [RB_CLOUD_PENDING] = 0,     [RB_CLOUD_RUNNING] = 16,  [RB_CLOUD_SHUTTING_DOWN] = 32,
        [RB_CLOUD_TERMINATED] = 48, [RB_CLOUD_STOPPING] = 64, [RB_CLOUD_STOPPED] = 80,
    };
    return codes[state];
}

void rb_mock_write_state(struct rb_buf *out, const char *name, enum rb_cloud_state state)
{
    rb_mock_xml_open(out, name);
    rb_mock_xml_int(out, "code", state_code(state));
    rb_mock_xml_text(out, "name", rb_cloud_state_name(state));
    rb_mock_xml_close(out, name);
}

// "User initiated (2026-08-01 12:00:00 GMT)": the second at which billing ended.
static void write_reason(struct rb_buf *out, const struct rb_cloud_instance *i)
{
    static const struct {
        const char *transition, *code, *message;
    } reasons[] = {
        [RB_CLOUD_CAUSE_NONE] = {0},
        [RB_CLOUD_CAUSE_USER] = {"User initiated", "Client.UserInitiatedShutdown",
                                 "Client.UserInitiatedShutdown: User initiated shutdown"},
        [RB_CLOUD_CAUSE_GUEST] = {"Instance initiated", "Client.InstanceInitiatedShutdown",
                                  "Client.InstanceInitiatedShutdown: Instance initiated shutdown"},
        [RB_CLOUD_CAUSE_CAPACITY] = {"Server.InsufficientInstanceCapacity", "Server.InsufficientInstanceCapacity",
                                     "Server.InsufficientInstanceCapacity: Insufficient capacity to satisfy instance "
                                     "request"},
        [RB_CLOUD_CAUSE_TAKEN] = {"Server.SpotInstanceTermination", "Server.SpotInstanceTermination",
                                  "Server.SpotInstanceTermination: Spot instance termination"},
        // Nothing that EC2 offers ends an instance at a given age; the front never asks for it.
        [RB_CLOUD_CAUSE_EXPIRED] = {"Server.ScheduledStop", "Server.ScheduledStop", "Server.ScheduledStop"},
    };
    if (i->cause == RB_CLOUD_CAUSE_NONE) {
        rb_mock_xml_empty(out, "reason");
        return;
    }
    time_t s = (time_t)((i->terminated_us >= 0 ? i->terminated_us : i->ended_us) / RB_US_PER_S);
    struct tm tm;
    char when[32], reason[128];
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", gmtime_r(&s, &tm));
    snprintf(reason, sizeof reason, "%s (%s GMT)", reasons[i->cause].transition, when);
    rb_mock_xml_text(out, "reason", reason);
    rb_mock_xml_open(out, "stateReason");
    rb_mock_xml_text(out, "code", i->failure_code ? i->failure_code : reasons[i->cause].code);
    rb_mock_xml_text(out, "message", i->failure_code ? i->failure_code : reasons[i->cause].message);
    rb_mock_xml_close(out, "stateReason");
}

void rb_mock_write_tag_set(struct rb_buf *out, const struct rb_cloud_tag *tags, int n)
{
    rb_mock_xml_open(out, "tagSet");
    for (int k = 0; k < n; k++) {
        rb_mock_xml_open(out, "item");
        rb_mock_xml_text(out, "key", tags[k].key);
        rb_mock_xml_text(out, "value", tags[k].value);
        rb_mock_xml_close(out, "item");
    }
    rb_mock_xml_close(out, "tagSet");
}

void rb_mock_write_tags(struct rb_mock_call *call, const struct rb_cloud_instance *i)
{
    int n;
    const struct rb_cloud_tag *tags = rb_cloud_tags(call->cloud, i, call->now_us, &n);
    rb_mock_write_tag_set(call->out, tags, n);
}

// A group's name is known of the default one only: others are taken as they come.
void rb_mock_write_groups(struct rb_mock_call *call, const struct rb_cloud_instance *i)
{
    const struct rb_cloud_traits *t = &i->traits;
    char own[RB_MOCK_EC2_ID];
    rb_mock_security_group_id(i->region, own);
    const bool has_one = i->state != RB_CLOUD_TERMINATED;
    rb_mock_xml_open(call->out, "groupSet");
    for (int k = 0; k < (t->n_security_groups > 0 ? t->n_security_groups : 1) && has_one; k++) {
        const char *id = t->n_security_groups > 0 ? t->security_groups[k] : own;
        rb_mock_xml_open(call->out, "item");
        rb_mock_xml_text(call->out, "groupId", id);
        if (strcmp(id, own) == 0)
            rb_mock_xml_text(call->out, "groupName", "default");
        rb_mock_xml_close(call->out, "item");
    }
    rb_mock_xml_close(call->out, "groupSet");
}

// Where it is in the network; a terminated one is nowhere.
static void write_network(struct rb_buf *out, const struct rb_cloud_instance *i)
{
    char vpc[RB_MOCK_EC2_ID], subnet[RB_MOCK_EC2_ID];
    if (i->state == RB_CLOUD_TERMINATED)
        return;
    rb_mock_vpc_id(i->region, vpc);
    rb_mock_subnet_id(i->zone, subnet);
    rb_mock_xml_text(out, "subnetId", i->traits.subnet ? i->traits.subnet : subnet);
    rb_mock_xml_text(out, "vpcId", vpc);
    rb_mock_xml_bool(out, "sourceDestCheck", true);
}

// As they were asked for. A node's metadata service refuses IMDSv1, so tokens are required where nothing else was said.
static void write_metadata_options(struct rb_buf *out, const struct rb_cloud_traits *t)
{
    rb_mock_xml_open(out, "metadataOptions");
    rb_mock_xml_text(out, "state", "applied");
    rb_mock_xml_text(out, "httpTokens", t->http_tokens ? t->http_tokens : "required");
    rb_mock_xml_int(out, "httpPutResponseHopLimit", t->hop_limit > 0 ? t->hop_limit : 1);
    rb_mock_xml_text(out, "httpEndpoint", t->http_endpoint ? t->http_endpoint : "enabled");
    rb_mock_xml_text(out, "httpProtocolIpv6", "disabled");
    rb_mock_xml_text(out, "instanceMetadataTags", t->metadata_tags ? t->metadata_tags : "disabled");
    rb_mock_xml_close(out, "metadataOptions");
}

static void write_switch(struct rb_buf *out, const char *name, const char *member, const char *value)
{
    rb_mock_xml_open(out, name);
    rb_mock_xml_text(out, member, value);
    rb_mock_xml_close(out, name);
}

// Addresses belong to machines: a terminated one has none.
static void write_addresses(struct rb_buf *out, const struct rb_cloud_instance *i)
{
    char address[INET_ADDRSTRLEN];
    struct in_addr in = {.s_addr = htonl(i->address)};
    bool has_one = i->state != RB_CLOUD_TERMINATED;
    bool has_public = has_one && i->state != RB_CLOUD_PENDING;
    inet_ntop(AF_INET, &in, address, sizeof address);
    if (has_one)
        rb_mock_xml_text(out, "privateIpAddress", address);
    if (has_public)
        rb_mock_xml_text(out, "ipAddress", address);
    rb_mock_xml_text(out, "privateDnsName", has_one ? address : "");
    rb_mock_xml_text(out, "dnsName", has_public ? address : "");
}

// launchTime, in whole seconds as EC2 gives it: when billing began, and the request where the instance does not run yet or
// never did. So launchTime does not prove that something is to be paid.
static void write_launch_time(struct rb_buf *out, const struct rb_cloud_instance *i)
{
    const int64_t at_us = i->running_us >= 0 ? i->running_us : i->requested_us;
    rb_mock_xml_second(out, "launchTime", at_us);
}

static void write_placement(struct rb_buf *out, const struct rb_cloud_instance *i)
{
    rb_mock_xml_open(out, "placement");
    rb_mock_xml_text(out, "availabilityZone", i->zone);
    rb_mock_xml_text(out, "groupName", i->group ? i->group->name : "");
    rb_mock_xml_text(out, "tenancy", "default");
    rb_mock_xml_close(out, "placement");
}

// The root volume, where one of given size was asked for; it goes with the instance.
static void write_volume(struct rb_buf *out, const struct rb_cloud_instance *i)
{
    char id[24];
    rb_mock_volume_id(i, id);
    if (i->disk_gb == 0 || i->state == RB_CLOUD_TERMINATED) {
        rb_mock_xml_empty(out, "blockDeviceMapping");
        return;
    }
    rb_buf_puts(out, "<blockDeviceMapping><item>");
    rb_mock_xml_text(out, "deviceName", RB_MOCK_ROOT_DEVICE);
    rb_mock_xml_open(out, "ebs");
    rb_mock_xml_text(out, "volumeId", id);
    rb_mock_xml_text(out, "status", "attached");
    rb_mock_xml_second(out, "attachTime", i->requested_us);
    rb_mock_xml_bool(out, "deleteOnTermination", true);
    rb_buf_puts(out, "</ebs></item></blockDeviceMapping>");
}

// A spot instance has come by a request of its own, even where RunInstances asked.
static void write_spot_request(struct rb_buf *out, const struct rb_cloud_instance *i)
{
    char id[16];
    snprintf(id, sizeof id, "sir-%.8s", i->id + strlen(i->id) - 8);
    rb_mock_xml_text(out, "spotInstanceRequestId", id);
    rb_mock_xml_text(out, "instanceLifecycle", "spot");
}

void rb_mock_write_instance(struct rb_mock_call *call, const struct rb_cloud_instance *i)
{
    struct rb_buf *out = call->out;
    rb_mock_xml_open(out, "item");
    rb_mock_xml_text(out, "instanceId", i->id);
    rb_mock_xml_text(out, "imageId", i->image_id);
    rb_mock_write_state(out, "instanceState", i->state);
    write_addresses(out, i);
    write_reason(out, i);
    rb_mock_xml_int(out, "amiLaunchIndex", i->launch_index);
    rb_mock_xml_text(out, "instanceType", i->offer->instance_type);
    write_launch_time(out, i);
    write_placement(out, i);
    write_switch(out, "monitoring", "state", i->traits.monitoring ? "enabled" : "disabled");
    write_network(out, i);
    rb_mock_xml_bool(out, "ebsOptimized", i->traits.ebs_optimized);
    rb_mock_xml_text(out, "architecture", "x86_64");
    rb_mock_xml_text(out, "rootDeviceType", "ebs");
    rb_mock_xml_text(out, "rootDeviceName", RB_MOCK_ROOT_DEVICE);
    write_volume(out, i);
    rb_mock_xml_text(out, "virtualizationType", "hvm");
    rb_mock_xml_text(out, "clientToken", i->token);
    if (i->offer->market == RB_MARKET_SPOT)
        write_spot_request(out, i);
    rb_mock_write_tags(call, i);
    rb_mock_xml_text(out, "hypervisor", "xen");
    rb_mock_write_groups(call, i);
    write_switch(out, "hibernationOptions", "configured", "false");
    write_switch(out, "enclaveOptions", "enabled", "false");
    write_metadata_options(out, &i->traits);
    rb_mock_xml_close(out, "item");
}

// --- DescribeInstances ---

static const char *const instance_filters[] = {"availability-zone",
                                               "client-token",
                                               "image-id",
                                               "instance-id",
                                               "instance-lifecycle",
                                               "instance-state-name",
                                               "instance-type",
                                               "reservation-id",
                                               "subnet-id",
                                               "tag-key",
                                               "tag:",
                                               "vpc-id",
                                               NULL};

static bool tag_matches(const struct rb_mock_call *call, const struct rb_mock_filter *f,
                        const struct rb_cloud_instance *i)
{
    int n;
    const struct rb_cloud_tag *tags = rb_cloud_tags(call->cloud, i, call->now_us, &n);
    for (int k = 0; k < n; k++) {
        if (strcmp(f->name, "tag-key") == 0 && rb_mock_filter_matches(f, tags[k].key))
            return true;
        if (strncmp(f->name, "tag:", 4) == 0 && strcmp(f->name + 4, tags[k].key) == 0 &&
            rb_mock_filter_matches(f, tags[k].value))
            return true;
    }
    return false;
}

static bool filter_matches(const struct rb_mock_call *call, const struct rb_mock_filter *f,
                           const struct rb_cloud_instance *i)
{
    if (strncmp(f->name, "tag", 3) == 0)
        return tag_matches(call, f, i);
    char vpc[RB_MOCK_EC2_ID], subnet[RB_MOCK_EC2_ID];
    const bool is_somewhere = i->state != RB_CLOUD_TERMINATED;
    rb_mock_vpc_id(i->region, vpc);
    rb_mock_subnet_id(i->zone, subnet);
    const struct {
        const char *name, *value;
    } texts[] = {
        {"availability-zone", i->zone},
        {"client-token", i->token},
        {"image-id", i->image_id},
        {"instance-id", i->id},
        {"instance-lifecycle", i->offer->market == RB_MARKET_SPOT ? "spot" : NULL},
        {"instance-state-name", rb_cloud_state_name(i->state)},
        {"instance-type", i->offer->instance_type},
        {"reservation-id", i->reservation},
        {"subnet-id", !is_somewhere      ? NULL
                      : i->traits.subnet ? i->traits.subnet
                                         : subnet},
        {"vpc-id", is_somewhere ? vpc : NULL},
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        if (strcmp(texts[k].name, f->name) == 0)
            return rb_mock_filter_matches(f, texts[k].value);
    return false;
}

static bool matches_all(const struct rb_mock_call *call, const struct rb_mock_filters *filters,
                        const struct rb_cloud_instance *i)
{
    for (int k = 0; k < filters->n; k++)
        if (!filter_matches(call, &filters->filters[k], i))
            return false;
    return true;
}

static bool refuse_unknown(struct rb_mock_call *call, const char *id)
{
    return rb_mock_refuse(call, 400, "InvalidInstanceID.NotFound", "The instance ID '%.40s' does not exist", id);
}

bool rb_mock_check_listed(struct rb_mock_call *call, const char *const *ids, int n)
{
    for (int k = 0; k < n; k++) {
        const struct rb_cloud_instance *i = rb_cloud_find(call->cloud, ids[k]);
        if (!i || !rb_cloud_listed(i, call->region, call->now_us))
            return refuse_unknown(call, ids[k]);
    }
    return true;
}

// Consecutive instances of one reservation share an item; a page may end in the middle of a reservation.
static void write_reservations(struct rb_mock_call *call, const struct rb_mock_filters *filters, const char *const *ids,
                               int n_ids, struct rb_mock_page *page)
{
    const char *open = NULL;
    rb_mock_xml_open(call->out, "reservationSet");
    for (int k = 0; k < rb_cloud_n_instances(call->cloud); k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(call->cloud, k);
        if (!rb_cloud_listed(i, call->region, call->now_us) || !rb_mock_is_among(i->id, ids, n_ids) ||
            !matches_all(call, filters, i) || !rb_mock_page_take(page, k))
            continue;
        if (open && strcmp(open, i->reservation) != 0) {
            rb_buf_puts(call->out, "</instancesSet></item>");
            open = NULL;
        }
        if (!open) {
            rb_mock_xml_open(call->out, "item");
            rb_mock_xml_text(call->out, "reservationId", i->reservation);
            rb_mock_xml_text(call->out, "ownerId", RB_MOCK_ACCOUNT);
            rb_mock_xml_empty(call->out, "groupSet");
            rb_mock_xml_open(call->out, "instancesSet");
            open = i->reservation;
        }
        rb_mock_write_instance(call, i);
    }
    if (open)
        rb_buf_puts(call->out, "</instancesSet></item>");
    rb_mock_xml_close(call->out, "reservationSet");
}

bool rb_mock_describe_instances(struct rb_mock_call *call)
{
    struct rb_mock_filters filters;
    struct rb_mock_page page;
    const char *const *ids = NULL;
    int n_ids = 0;
    if (rb_form_has_prefix(call->form, "InstanceId.") && !rb_mock_read_ids(call, "InstanceId", "i-", &ids, &n_ids))
        return false;
    if (!rb_mock_read_filters(call, instance_filters, &filters) || !rb_mock_read_page(call, 5, 1000, &page) ||
        !rb_mock_call_checked(call))
        return false;
    if (n_ids > 0 && page.max_results != INT64_MAX)
        return rb_mock_refuse(call, 400, "InvalidParameterCombination",
                              "The parameter instancesSet cannot be used with the parameter maxResults");
    if (!rb_mock_check_listed(call, ids, n_ids))
        return false;
    write_reservations(call, &filters, ids, n_ids, &page);
    rb_mock_write_next_token(call, &page);
    return true;
}

// --- TerminateInstances ---

bool rb_mock_terminate_instances(struct rb_mock_call *call)
{
    const char *const *ids;
    int n, bad;
    if (!rb_mock_read_ids(call, "InstanceId", "i-", &ids, &n))
        return false;
    if (n > 1000)
        return rb_mock_refuse(call, 400, "InvalidParameterValue", "At most 1000 instances can be terminated at once");
    if (!rb_mock_call_checked(call) || !rb_mock_check_listed(call, ids, n))
        return false;
    enum rb_cloud_state *before = rb_arena_array(call->arena, (size_t)n, sizeof *before);
    for (int k = 0; k < n; k++)
        before[k] = rb_cloud_find(call->cloud, ids[k])->state;
    if (rb_cloud_terminate(call->cloud, call->region, ids, n, call->now_us, &bad) != RB_CLOUD_OK)
        return refuse_unknown(call, ids[bad]);
    rb_mock_xml_open(call->out, "instancesSet");
    for (int k = 0; k < n; k++) {
        rb_mock_xml_open(call->out, "item");
        rb_mock_xml_text(call->out, "instanceId", ids[k]);
        rb_mock_write_state(call->out, "currentState", rb_cloud_find(call->cloud, ids[k])->state);
        rb_mock_write_state(call->out, "previousState", before[k]);
        rb_mock_xml_close(call->out, "item");
    }
    rb_mock_xml_close(call->out, "instancesSet");
    return true;
}
