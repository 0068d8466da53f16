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
    rb_mock_xml_put(out, "%s{code:%d name:%s}", name, state_code(state), rb_cloud_state_name(state));
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
        rb_mock_xml_put(out, "reason/");
        return;
    }
    time_t s = (time_t)((i->terminated_us >= 0 ? i->terminated_us : i->ended_us) / RB_US_PER_S);
    struct tm tm;
    char when[32];
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", gmtime_r(&s, &tm));
    rb_mock_xml_put(out, "reason:'%s (%s GMT)' stateReason{code:%s message:%s}", reasons[i->cause].transition, when,
                    i->failure_code ? i->failure_code : reasons[i->cause].code,
                    i->failure_code ? i->failure_code : reasons[i->cause].message);
}

void rb_mock_write_done(struct rb_mock_call *call)
{
    rb_mock_xml_put(call->out, "return:true");
}

void rb_mock_write_tag_set(struct rb_buf *out, const struct rb_cloud_tag *tags, int n)
{
    rb_mock_xml_open(out, "tagSet");
    for (int k = 0; k < n; k++)
        rb_mock_xml_put(out, "item{key:%s value:%s}", tags[k].key, tags[k].value);
    rb_mock_xml_close(out, "tagSet");
}

static void write_tags(struct rb_mock_call *call, const struct rb_cloud_instance *i)
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
        rb_mock_xml_put(call->out, strcmp(id, own) == 0 ? "item{groupId:%s groupName:default}" : "item{groupId:%s}",
                        id);
    }
    rb_mock_xml_close(call->out, "groupSet");
}

// Its place in the network; a terminated instance has none.
static void write_network(struct rb_buf *out, const struct rb_cloud_instance *i)
{
    char vpc[RB_MOCK_EC2_ID], subnet[RB_MOCK_EC2_ID];
    if (i->state == RB_CLOUD_TERMINATED)
        return;
    rb_mock_vpc_id(i->region, vpc);
    rb_mock_subnet_id(i->zone, subnet);
    rb_mock_xml_put(out, "subnetId:%s vpcId:%s sourceDestCheck:true", i->traits.subnet ? i->traits.subnet : subnet,
                    vpc);
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
        rb_mock_xml_put(out, "privateIpAddress:%s", address);
    if (has_public)
        rb_mock_xml_put(out, "ipAddress:%s", address);
    rb_mock_xml_put(out, "privateDnsName:%s dnsName:%s", has_one ? address : "", has_public ? address : "");
}

static int64_t whole_second(int64_t unix_us)
{
    return unix_us - unix_us % RB_US_PER_S;
}

// The root volume, if one of a given size was requested; it ends with the instance.
static void write_volume(struct rb_buf *out, const struct rb_cloud_instance *i)
{
    char id[24];
    rb_mock_volume_id(i, id);
    if (i->disk_gb == 0 || i->state == RB_CLOUD_TERMINATED)
        rb_mock_xml_put(out, "blockDeviceMapping/");
    else
        rb_mock_xml_put(out,
                        "blockDeviceMapping{item{deviceName:%s ebs{volumeId:%s status:attached attachTime@%jd "
                        "deleteOnTermination:true}}}",
                        RB_MOCK_ROOT_DEVICE, id, whole_second(i->requested_us));
}

static void write_reserved(struct rb_mock_call *call, const struct rb_cloud_instance *i)
{
    const struct rb_cloud_reserved *r = i->reserved;
    if (r && r->is_block)
        rb_mock_xml_put(call->out, "instanceLifecycle:capacity-block");
    if (r && call->now_us < i->paid_until_us)
        rb_mock_xml_put(call->out, "capacityReservationId:%s", r->id);
    if (r && i->names_reserved)
        rb_mock_xml_put(call->out,
                        "capacityReservationSpecification{capacityReservationTarget{capacityReservationId:%s}}", r->id);
    else if (i->offer->market == RB_MARKET_ON_DEMAND)
        rb_mock_xml_put(call->out, "capacityReservationSpecification{capacityReservationPreference:open}");
}

// A spot instance has come by a request of its own, even where RunInstances asked. launchTime is in whole seconds, as
// EC2 gives it: when billing began, or the request where the instance does not run yet or never did. So launchTime does
// not prove that something is to be paid. Metadata options are shown as they were requested; a node's metadata service
// refuses IMDSv1, so tokens are required by default.
void rb_mock_write_instance(struct rb_mock_call *call, const struct rb_cloud_instance *i)
{
    struct rb_buf *out = call->out;
    const struct rb_cloud_traits *t = &i->traits;
    rb_mock_xml_open(out, "item");
    rb_mock_xml_put(out, "instanceId:%s imageId:%s", i->id, i->image_id);
    rb_mock_write_state(out, "instanceState", i->state);
    write_addresses(out, i);
    write_reason(out, i);
    rb_mock_xml_put(out,
                    "amiLaunchIndex:%d instanceType:%s launchTime@%jd "
                    "placement{availabilityZone:%s groupName:%s tenancy:default} monitoring{state:%s}",
                    i->launch_index, i->offer->instance_type,
                    whole_second(i->running_us >= 0 ? i->running_us : i->requested_us), i->zone,
                    i->group ? i->group->name : "", t->monitoring ? "enabled" : "disabled");
    write_network(out, i);
    rb_mock_xml_put(out, "ebsOptimized:%i architecture:x86_64 rootDeviceType:ebs rootDeviceName:%s", t->ebs_optimized,
                    RB_MOCK_ROOT_DEVICE);
    write_volume(out, i);
    rb_mock_xml_put(out, "virtualizationType:hvm clientToken:%s", i->token);
    if (i->offer->market == RB_MARKET_SPOT)
        rb_mock_xml_put(out, "spotInstanceRequestId:'sir-%s' instanceLifecycle:spot", i->id + strlen(i->id) - 8);
    write_reserved(call, i);
    write_tags(call, i);
    rb_mock_xml_put(out, "hypervisor:xen");
    rb_mock_write_groups(call, i);
    rb_mock_xml_put(out,
                    "hibernationOptions{configured:false} enclaveOptions{enabled:false} metadataOptions{state:applied "
                    "httpTokens:%s httpPutResponseHopLimit:%jd httpEndpoint:%s httpProtocolIpv6:disabled "
                    "instanceMetadataTags:%s}",
                    t->http_tokens ? t->http_tokens : "required", t->hop_limit > 0 ? t->hop_limit : INT64_C(1),
                    t->http_endpoint ? t->http_endpoint : "enabled", t->metadata_tags ? t->metadata_tags : "disabled");
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

static bool matches(const struct rb_mock_call *call, const struct rb_mock_filters *filters,
                    const struct rb_cloud_instance *i)
{
    char vpc[RB_MOCK_EC2_ID], subnet[RB_MOCK_EC2_ID];
    const bool is_somewhere = i->state != RB_CLOUD_TERMINATED;
    rb_mock_vpc_id(i->region, vpc);
    rb_mock_subnet_id(i->zone, subnet);
    const struct rb_mock_fact facts[] = {
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
        {0},
    };
    int n;
    const struct rb_cloud_tag *tags = rb_cloud_tags(call->cloud, i, call->now_us, &n);
    return rb_mock_filters_match(filters, facts, tags, n);
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
            !matches(call, filters, i) || !rb_mock_page_take(page, k))
            continue;
        if (open && strcmp(open, i->reservation) != 0) {
            rb_buf_puts(call->out, "</instancesSet></item>");
            open = NULL;
        }
        if (!open) {
            rb_mock_xml_open(call->out, "item");
            rb_mock_xml_put(call->out, "reservationId:%s ownerId:%s groupSet/", i->reservation, RB_MOCK_ACCOUNT);
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
    const char *const *ids;
    int n_ids;
    if (!rb_mock_read_optional_ids(call, &ids, &n_ids) || !rb_mock_read_filters(call, instance_filters, &filters) ||
        !rb_mock_read_page(call, 5, 1000, &page) || !rb_mock_call_checked(call))
        return false;
    if (n_ids > 0 && rb_form_peek(call->form, "MaxResults"))
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
        rb_mock_xml_put(call->out, "instanceId:%s", ids[k]);
        rb_mock_write_state(call->out, "currentState", rb_cloud_find(call->cloud, ids[k])->state);
        rb_mock_write_state(call->out, "previousState", before[k]);
        rb_mock_xml_close(call->out, "item");
    }
    rb_mock_xml_close(call->out, "instancesSet");
    return true;
}
