// One instance's attributes, its checks and its credits: DescribeInstanceAttribute, ModifyInstanceAttribute,
// MonitorInstances, UnmonitorInstances, DescribeInstanceStatus, DescribeInstanceCreditSpecifications. An attribute that
// a mock machine does not have is an error, not an empty answer.
#include "providers/mock/ec2/mock_ec2_action.h"
#include "base/text/table.h"
#include "providers/mock/ec2/mock_ec2_xml.h"
#include "providers/wire/digest.h"

#include <string.h>

// --- DescribeInstanceAttribute ---

static const char *user_data_of(struct rb_mock_call *call, const struct rb_cloud_instance *i)
{
    char *text = rb_arena_alloc(call->arena, 4 * ((i->user_data_len + 2) / 3) + 1);
    rb_base64_encode(i->user_data, i->user_data_len, text);
    return text;
}

static const char *type_of(struct rb_mock_call *call, const struct rb_cloud_instance *i)
{
    (void)call;
    return i->offer->instance_type;
}

static const char *behaviour_of(struct rb_mock_call *call, const struct rb_cloud_instance *i)
{
    (void)call;
    return i->terminate_on_shutdown ? "terminate" : "stop";
}

static const char *is_ebs_optimized(struct rb_mock_call *call, const struct rb_cloud_instance *i)
{
    (void)call;
    return i->traits.ebs_optimized ? "true" : "false";
}

static const struct attribute {
    const char *name, *constant;                                                           // the same for all
    const char *(*value_of)(struct rb_mock_call *call, const struct rb_cloud_instance *i); // NULL, both: the groups
} attributes[] = {
    {"disableApiStop", "false", NULL},
    {"disableApiTermination", "false", NULL},
    {"ebsOptimized", NULL, is_ebs_optimized},
    {"groupSet", NULL, NULL},
    {"instanceInitiatedShutdownBehavior", NULL, behaviour_of},
    {"instanceType", NULL, type_of},
    {"rootDeviceName", RB_MOCK_ROOT_DEVICE, NULL},
    {"sourceDestCheck", "true", NULL},
    {"userData", NULL, user_data_of},
};

static void write_attribute(struct rb_mock_call *call, const struct rb_cloud_instance *i, const struct attribute *a)
{
    const char *value = a->value_of ? a->value_of(call, i) : a->constant;
    if (!value)
        rb_mock_write_groups(call, i);
    else if (*value)
        rb_mock_xml_put(call->out, "%s{value:%s}", a->name, value);
    else
        rb_mock_xml_put(call->out, "%s/", a->name);
}

static const struct attribute *find_attribute(struct rb_mock_call *call)
{
    const char *name = rb_form_get(call->form, "Attribute");
    const struct attribute *found = RB_ROW_OF(attributes, name);
    if (found)
        return found;
    if (name)
        rb_mock_refuse(
            call, 400, "InvalidParameterValue",
            "Value (%.60s) for parameter attribute is invalid. This cloud's instances have no such attribute", name);
    else
        rb_mock_refuse(call, 400, "MissingParameter", "The request must contain the parameter attribute");
    return NULL;
}

// The one instance of the request, NULL: refused.
static struct rb_cloud_instance *find_instance(struct rb_mock_call *call)
{
    const char *id = rb_form_get(call->form, "InstanceId");
    if (!id)
        rb_mock_refuse(call, 400, "MissingParameter", "The request must contain the parameter InstanceId");
    else if (!rb_mock_well_formed_id(id, "i-"))
        rb_mock_refuse(call, 400, "InvalidInstanceID.Malformed", "Invalid id: \"%.60s\"", id);
    else if (rb_mock_check_listed(call, &id, 1))
        return rb_cloud_find(call->cloud, id);
    return NULL;
}

bool rb_mock_describe_instance_attribute(struct rb_mock_call *call)
{
    const struct attribute *attribute = find_attribute(call);
    const struct rb_cloud_instance *i = attribute ? find_instance(call) : NULL;
    if (!i || !rb_mock_call_checked(call))
        return false;
    rb_mock_xml_put(call->out, "instanceId:%s", i->id);
    write_attribute(call, i, attribute);
    return true;
}

// --- ModifyInstanceAttribute ---

// Protection that this cloud has not cannot be switched on; switching it off changes nothing.
static bool read_protection(struct rb_mock_call *call, const char *name, bool *seen)
{
    bool on = false;
    *seen |= rb_form_peek(call->form, name) != NULL;
    return rb_mock_read_bool(call, name, &on) &&
           (!on ||
            rb_mock_refuse(call, 400, "UnsupportedOperation", "This cloud does not protect instances: %s", name));
}

bool rb_mock_modify_instance_attribute(struct rb_mock_call *call)
{
    struct rb_cloud_instance *i = find_instance(call);
    const char *behaviour = rb_form_get(call->form, "InstanceInitiatedShutdownBehavior.Value");
    bool seen = behaviour != NULL;
    if (!i || !read_protection(call, "DisableApiTermination.Value", &seen) ||
        !read_protection(call, "DisableApiStop.Value", &seen) || !rb_mock_call_checked(call))
        return false;
    if (!seen)
        return rb_mock_refuse(call, 400, "MissingParameter",
                              "The request names no attribute that this cloud can modify");
    if (behaviour && strcmp(behaviour, "stop") != 0 && strcmp(behaviour, "terminate") != 0)
        return rb_mock_refuse(call, 400, "InvalidParameterValue",
                              "Value (%.40s) for parameter instanceInitiatedShutdownBehavior is invalid", behaviour);
    if (behaviour && i->offer->market == RB_MARKET_SPOT && strcmp(behaviour, "terminate") != 0)
        return rb_mock_refuse(call, 400, "UnsupportedOperation", "A one-time spot instance terminates at shutdown");
    if (behaviour)
        i->terminate_on_shutdown = strcmp(behaviour, "terminate") == 0;
    rb_mock_write_done(call);
    return true;
}

// --- MonitorInstances, UnmonitorInstances: a switch that is shown ---

static bool set_monitoring(struct rb_mock_call *call, bool on)
{
    const char *const *ids;
    int n;
    if (!rb_mock_read_ids(call, "InstanceId", "i-", &ids, &n) || !rb_mock_call_checked(call) ||
        !rb_mock_check_listed(call, ids, n))
        return false;
    rb_mock_xml_open(call->out, "instancesSet");
    for (int k = 0; k < n; k++) {
        rb_cloud_find(call->cloud, ids[k])->traits.monitoring = on;
        rb_mock_xml_put(call->out, "item{instanceId:%s monitoring{state:%s}}", ids[k], on ? "enabled" : "disabled");
    }
    rb_mock_xml_close(call->out, "instancesSet");
    return true;
}

bool rb_mock_monitor_instances(struct rb_mock_call *call)
{
    return set_monitoring(call, true);
}

bool rb_mock_unmonitor_instances(struct rb_mock_call *call)
{
    return set_monitoring(call, false);
}

// --- DescribeInstanceStatus ---

// The instance's own check is whether a login works.
static const char *instance_check(const struct rb_cloud_instance *i)
{
    return i->state != RB_CLOUD_RUNNING ? "not-applicable"
           : i->node_failure            ? "impaired"
           : i->ready_us >= 0           ? "ok"
                                        : "initializing";
}

static const char *system_check(const struct rb_cloud_instance *i)
{
    return i->state == RB_CLOUD_RUNNING ? "ok" : "not-applicable";
}

static void write_check(struct rb_buf *out, const char *name, const char *status)
{
    const char *details = strcmp(status, "ok") == 0         ? "passed"
                          : strcmp(status, "impaired") == 0 ? "failed"
                                                            : "initializing";
    if (strcmp(status, "not-applicable") == 0)
        rb_mock_xml_put(out, "%s{status:%s}", name, status);
    else
        rb_mock_xml_put(out, "%s{status:%s details{item{name:reachability status:%s}}}", name, status, details);
}

static void write_status(struct rb_mock_call *call, const struct rb_cloud_instance *i)
{
    rb_mock_xml_open(call->out, "item");
    rb_mock_xml_put(call->out, "instanceId:%s availabilityZone:%s", i->id, i->zone);
    rb_mock_write_state(call->out, "instanceState", i->state);
    write_check(call->out, "systemStatus", system_check(i));
    write_check(call->out, "instanceStatus", instance_check(i));
    rb_mock_xml_close(call->out, "item");
}

bool rb_mock_describe_instance_status(struct rb_mock_call *call)
{
    static const char *const known[] = {"availability-zone", "instance-state-name", "instance-status.status",
                                        "system-status.status", NULL};
    struct rb_mock_filters filters;
    struct rb_mock_page page;
    const char *const *ids;
    int n_ids;
    bool all = false;
    if (!rb_mock_read_optional_ids(call, &ids, &n_ids) || !rb_mock_read_bool(call, "IncludeAllInstances", &all) ||
        !rb_mock_read_filters(call, known, &filters) || !rb_mock_read_page(call, 5, 1000, &page) ||
        !rb_mock_call_checked(call) || !rb_mock_check_listed(call, ids, n_ids))
        return false;
    rb_mock_xml_open(call->out, "instanceStatusSet");
    for (int k = 0; k < rb_cloud_n_instances(call->cloud); k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(call->cloud, k);
        const struct rb_mock_fact facts[] = {{"availability-zone", i->zone},
                                             {"instance-state-name", rb_cloud_state_name(i->state)},
                                             {"instance-status.status", instance_check(i)},
                                             {"system-status.status", system_check(i)},
                                             {0}};
        if (rb_cloud_listed(i, call->region, call->now_us) && (all || i->state == RB_CLOUD_RUNNING) &&
            rb_mock_is_among(i->id, ids, n_ids) && rb_mock_filters_match(&filters, facts, NULL, 0) &&
            rb_mock_page_take(&page, k))
            write_status(call, i);
    }
    rb_mock_xml_close(call->out, "instanceStatusSet");
    rb_mock_write_next_token(call, &page);
    return true;
}

// --- DescribeInstanceCreditSpecifications ---

// The default of a burstable type; NULL: not burstable. Source: EC2's user guide.
static const char *credits_of(const char *type)
{
    return !rb_mock_is_burstable(type) ? NULL : strncmp(type, "t2.", 3) == 0 ? "standard" : "unlimited";
}

bool rb_mock_describe_instance_credit_specifications(struct rb_mock_call *call)
{
    static const char *const known[] = {"instance-id", NULL};
    struct rb_mock_filters filters;
    struct rb_mock_page page;
    const char *const *ids;
    int n_ids;
    if (!rb_mock_read_optional_ids(call, &ids, &n_ids) || !rb_mock_read_filters(call, known, &filters) ||
        !rb_mock_read_page(call, 5, 1000, &page) || !rb_mock_call_checked(call) ||
        !rb_mock_check_listed(call, ids, n_ids))
        return false;
    for (int k = 0; k < n_ids; k++)
        if (!credits_of(rb_cloud_find(call->cloud, ids[k])->offer->instance_type))
            return rb_mock_refuse(call, 400, "UnsupportedOperation", "The instance '%.40s' is not burstable", ids[k]);
    rb_mock_xml_open(call->out, "instanceCreditSpecificationSet");
    for (int k = 0; k < rb_cloud_n_instances(call->cloud); k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(call->cloud, k);
        const char *credits = credits_of(i->offer->instance_type);
        const struct rb_mock_fact facts[] = {{"instance-id", i->id}, {0}};
        if (credits && rb_cloud_listed(i, call->region, call->now_us) && rb_mock_is_among(i->id, ids, n_ids) &&
            rb_mock_filters_match(&filters, facts, NULL, 0) && rb_mock_page_take(&page, k))
            rb_mock_xml_put(call->out, "item{instanceId:%s cpuCredits:%s}", i->id, credits);
    }
    rb_mock_xml_close(call->out, "instanceCreditSpecificationSet");
    rb_mock_write_next_token(call, &page);
    return true;
}
