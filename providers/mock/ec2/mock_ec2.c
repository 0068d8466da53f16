// From request to answer: authentication, the action's row in the table, and the two envelopes (success and
// error).
#include "providers/mock/ec2/mock_ec2.h"
#include "base/text/table.h"
#include "providers/mock/ec2/mock_aws_json.h"
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/mock/ec2/mock_ec2_xml.h"

#include <stdio.h>
#include <string.h>

static const struct action {
    const char *name;
    rb_mock_action_fn *fn;
} actions[] = {
    {"CreatePlacementGroup", rb_mock_create_placement_group},
    {"CreateTags", rb_mock_create_tags},
    {"DeletePlacementGroup", rb_mock_delete_placement_group},
    {"DeleteTags", rb_mock_delete_tags},
    {"DescribeAddresses", rb_mock_describe_addresses},
    {"DescribeAvailabilityZones", rb_mock_describe_availability_zones},
    {"DescribeCapacityReservations", rb_mock_describe_capacity_reservations},
    {"DescribeImages", rb_mock_describe_images},
    {"DescribeInstanceAttribute", rb_mock_describe_instance_attribute},
    {"DescribeInstanceCreditSpecifications", rb_mock_describe_instance_credit_specifications},
    {"DescribeInstanceStatus", rb_mock_describe_instance_status},
    {"DescribeInstanceTypeOfferings", rb_mock_describe_instance_type_offerings},
    {"DescribeInstanceTypes", rb_mock_describe_instance_types},
    {"DescribeInstances", rb_mock_describe_instances},
    {"DescribePlacementGroups", rb_mock_describe_placement_groups},
    {"DescribeRegions", rb_mock_describe_regions},
    {"DescribeSecurityGroups", rb_mock_describe_security_groups},
    {"DescribeSpotPriceHistory", rb_mock_describe_spot_price_history},
    {"DescribeSubnets", rb_mock_describe_subnets},
    {"DescribeTags", rb_mock_describe_tags},
    {"DescribeVolumes", rb_mock_describe_volumes},
    {"DescribeVpcs", rb_mock_describe_vpcs},
    {"ModifyInstanceAttribute", rb_mock_modify_instance_attribute},
    {"MonitorInstances", rb_mock_monitor_instances},
    {"RunInstances", rb_mock_run_instances},
    {"TerminateInstances", rb_mock_terminate_instances},
    {"UnmonitorInstances", rb_mock_unmonitor_instances},
};

// Parameters by which clients sign in the query string; they belong to no action.
static const char *const signature_parameters[] = {"X-Amz-Algorithm",     "X-Amz-Credential",    "X-Amz-Date",
                                                   "X-Amz-Expires",       "X-Amz-SignedHeaders", "X-Amz-Signature",
                                                   "X-Amz-Security-Token"};

// NULL, or what was broken in the parameters. They are read before it is known who asks, since faults depend on them.
static const char *read_form(struct rb_mock_call *call, const struct rb_exchange_request *r)
{
    const char *bad;
    if (!rb_form_decode(call->form, r->query, strlen(r->query), call->arena, &bad) ||
        !rb_form_decode(call->form, r->body, r->body_len, call->arena, &bad))
        return bad;
    for (size_t i = 0; i < sizeof signature_parameters / sizeof *signature_parameters; i++)
        rb_form_get(call->form, "%s", signature_parameters[i]);
    return NULL;
}

static const struct action *find_action(struct rb_mock_call *call)
{
    const char *name = rb_form_get(call->form, "Action"), *version = rb_form_get(call->form, "Version");
    if (!name) {
        rb_mock_refuse(call, 400, "MissingAction", "The request is missing an Action parameter");
        return NULL;
    }
    if (!version || strcmp(version, "2016-11-15") != 0) {
        rb_mock_refuse(call, 400, "InvalidParameterValue", "Version must be 2016-11-15, got '%.40s'",
                       version ? version : "");
        return NULL;
    }
    const struct action *action = RB_ROW_OF(actions, name);
    if (!action)
        rb_mock_refuse(call, 400, "InvalidAction", "The action %.80s is not one that this mock cloud understands",
                       name);
    return action;
}

// The region that the signature is scoped to, unverified: KEY/DATE/REGION/ec2/aws4_request.
static const char *claimed_region(struct rb_mock_call *call, const struct rb_exchange_request *r)
{
    const char *header = rb_exchange_header(r, "Authorization"), *at = header ? strstr(header, "Credential=") : NULL;
    const char *scope = at ? at + strlen("Credential=") : rb_form_peek(call->form, "X-Amz-Credential");
    for (int k = 0; k < 2 && scope; k++)
        scope = (scope = strchr(scope, '/')) ? scope + 1 : NULL;
    return scope ? rb_arena_strndup(call->arena, scope, strcspn(scope, "/, ")) : NULL;
}

static void ask_chaos(struct rb_mock_call *call, const struct rb_exchange_request *r)
{
    const char *type = rb_form_peek(call->form, "InstanceType");
    struct rb_chaos_subject s = {.front = "ec2",
                                 .action = rb_form_peek(call->form, "Action"),
                                 .region = claimed_region(call, r),
                                 .zone = rb_form_peek(call->form, "Placement.AvailabilityZone"),
                                 .instance_type = type ? type : rb_form_peek(call->form, "InstanceType.1"),
                                 .has_market = type != NULL};
    const char *market = rb_form_peek(call->form, "InstanceMarketOptions.MarketType");
    s.market = market && strcmp(market, "spot") == 0 ? RB_MARKET_SPOT : RB_MARKET_ON_DEMAND;
    rb_chaos_request(rb_cloud_chaos(call->cloud), &s, call->now_us, &call->chaos);
}

static bool authenticate(struct rb_mock_call *call, const struct rb_mock_ec2 *ec2, const struct rb_exchange_request *r,
                         int64_t unix_us)
{
    const struct rb_chaos_rule *skew = call->chaos.by[RB_CHAOS_CLOCK_SKEW];
    const int64_t skew_us = skew ? skew->delay_us : 0;
    const int64_t clocks_us[] = {call->now_us + skew_us, unix_us + skew_us};
    if (!rb_mock_ec2_authenticate(&ec2->keys, r, "ec2", clocks_us, 2, call->arena, &call->region, call->refusal))
        return false;
    const struct rb_cloud_region *region = rb_cloud_regions_find(rb_cloud_regions(ec2->cloud), call->region);
    return (region && !region->is_gcp) ||
           rb_mock_refuse(call, 401, "AuthFailure",
                          "Credential should be scoped to a valid region: the price list has no %s", call->region);
}

static bool check_throttle(struct rb_mock_call *call, const struct action *action)
{
    bool admitted = rb_cloud_admit(call->cloud, call->region, action->name, call->now_us);
    return (admitted && !call->chaos.by[RB_CHAOS_THROTTLE]) ||
           rb_mock_refuse(call, 503, "RequestLimitExceeded", "Request limit exceeded.");
}

static bool act(struct rb_mock_call *call, const struct action *action)
{
    const struct rb_chaos_rule *error = call->chaos.by[RB_CHAOS_ERROR];
    if (error && !error->after_effect)
        return rb_mock_refuse(call, (int)error->status, error->code, "%s", error->message);
    if (!action->fn(call))
        return false;
    return !error || rb_mock_refuse(call, (int)error->status, error->code, "%s", error->message);
}

static const struct action *serve(struct rb_mock_call *call, const struct rb_mock_ec2 *ec2,
                                  const struct rb_exchange_request *r, const char *bad_form, int64_t unix_us)
{
    if (strcmp(r->path, "/") != 0) {
        rb_mock_refuse(call, 404, "InvalidAction", "EC2 is at /, not at %.80s", r->path);
        return NULL;
    }
    if (!authenticate(call, ec2, r, unix_us))
        return NULL;
    if (bad_form) {
        rb_mock_refuse(call, 400, "MalformedQueryString",
                       "'%.80s' is broken, not UTF-8, or names a parameter that was given before", bad_form);
        return NULL;
    }
    const struct action *action = find_action(call);
    return action && check_throttle(call, action) && act(call, action) ? action : NULL;
}

static void write_request_id(struct rb_cloud *cloud, struct rb_buf *out)
{
    uint64_t a = rb_cloud_fresh_id(cloud), b = rb_cloud_fresh_id(cloud);
    rb_buf_printf(out, "%08x-%04x-4%03x-a%03x-%012llx", (unsigned)(a >> 32), (unsigned)(a >> 16 & 0xffff),
                  (unsigned)(a & 0xfff), (unsigned)(b >> 52), (unsigned long long)(b & 0xffffffffffff));
}

static void write_success(const struct action *action, struct rb_cloud *cloud, const struct rb_buf *inside,
                          struct rb_buf *out)
{
    rb_buf_printf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<%sResponse xmlns=\"" RB_MOCK_EC2_NAMESPACE "\">",
                  action->name);
    rb_buf_puts(out, "<requestId>");
    write_request_id(cloud, out);
    rb_buf_puts(out, "</requestId>");
    rb_buf_append(out, inside->data ? inside->data : "", inside->len);
    rb_buf_printf(out, "</%sResponse>\n", action->name);
}

static void write_error(const struct rb_mock_refusal *refusal, struct rb_cloud *cloud, struct rb_buf *out)
{
    rb_buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response>");
    rb_mock_xml_put(out, "Errors{Error{Code:%s Message:%s}}", refusal->code, refusal->message);
    rb_buf_puts(out, "<RequestID>");
    write_request_id(cloud, out);
    rb_buf_puts(out, "</RequestID></Response>\n");
}

void rb_mock_ec2_answer(const struct rb_mock_ec2 *ec2, const struct rb_exchange_request *request, int64_t now_us,
                        int64_t unix_us, struct rb_exchange_answer *out)
{
    if (rb_exchange_header(request, "X-Amz-Target")) {
        rb_mock_aws_json_answer(ec2, request, now_us, unix_us, out);
        return;
    }
    struct rb_arena arena;
    struct rb_form form = {0};
    struct rb_mock_refusal refusal = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf inside = RB_BUF_INIT;
    struct rb_mock_call call = {
        .cloud = ec2->cloud, .form = &form, .arena = &arena, .now_us = now_us, .out = &inside, .refusal = &refusal};
    rb_arena_init(&arena);
    rb_cloud_advance(ec2->cloud, now_us);
    const char *bad_form = read_form(&call, request);
    ask_chaos(&call, request);
    if (!rb_exchange_forestall(&call.chaos, out)) {
        const struct action *action = serve(&call, ec2, request, bad_form, unix_us);
        out->content_type = "text/xml;charset=UTF-8";
        out->status = action ? 200 : refusal.status;
        if (action)
            write_success(action, ec2->cloud, &inside, &out->body);
        else
            write_error(&refusal, ec2->cloud, &out->body);
        rb_exchange_spoil(&call.chaos, out);
    }
    rb_arena_finish(&arena);
}
