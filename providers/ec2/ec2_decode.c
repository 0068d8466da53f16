// The order of elements is not promised, so everything is looked up by name.
#include "providers/ec2/ec2_decode.h"

#include "base/limits.h"
#include "base/text/number.h"
#include "base/text/table.h"
#include "providers/wire/untrusted.h"
#include "providers/wire/xml.h"

#include <stdio.h>
#include <string.h>

static bool missing(const char *element, const char *expected, struct rb_err *err)
{
    return rb_err_set(err, RB_E_ANSWER, "answer: %s: expected %s", element, expected);
}

// The root of a successful answer to that action; NULL, and err says why, where the body is anything else.
static const struct rb_xml *open_answer(const char *body, size_t n, const char *root_name, struct rb_arena *arena,
                                        struct rb_err *err)
{
    const struct rb_xml *root;
    if (!rb_xml_parse(body, n, arena, &root, err))
        return NULL;
    if (strcmp(root->name, root_name) == 0)
        return root;
    rb_err_set(err, RB_E_ANSWER, "answer: expected <%s>, got <%.60s>", root_name, root->name);
    return NULL;
}

static const struct rb_xml *first_item(const struct rb_xml *parent, const char *set)
{
    return rb_xml_child(rb_xml_child(parent, set), "item");
}

static int count_items(const struct rb_xml *item)
{
    int n = 0;
    for (; item; item = rb_xml_next(item, "item"))
        n++;
    return n;
}

static const char *text_or_null(const struct rb_xml *x, const char *name)
{
    const char *text = rb_xml_text(x, name);
    return text && *text ? text : NULL;
}

static const char *next_page(const struct rb_xml *root)
{
    return text_or_null(root, "nextToken"); // an empty element ends the list, too
}

// Source: InstanceState in the API reference; the high byte is internal to EC2.
static bool decode_state(const char *code_text, enum rb_instance_state *out, struct rb_err *err)
{
    static const struct {
        int code;
        enum rb_instance_state state;
    } states[] = {
        {0, RB_INSTANCE_PENDING},     {16, RB_INSTANCE_RUNNING},  {32, RB_INSTANCE_STOPPING},
        {48, RB_INSTANCE_TERMINATED}, {64, RB_INSTANCE_STOPPING}, {80, RB_INSTANCE_STOPPED},
    };
    int64_t code;
    if (!code_text || !rb_parse_int(code_text, &code) || code < 0)
        return missing("instanceState/code", "a number", err);
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if ((code & 0xff) == states[i].code) {
            *out = states[i].state;
            return true;
        }
    return missing("instanceState/code", "0, 16, 32, 48, 64 or 80", err);
}

// "User initiated (2026-01-01 00:00:00 GMT)" -> that instant; -1 if it does not end like that.
static int64_t time_of_reason(const char *reason)
{
    const char *open = reason ? strrchr(reason, '(') : NULL;
    char date[11], clock[9], end, instant[32];
    int64_t unix_us;
    if (!open || sscanf(open, "(%10[0-9-] %8[0-9:] GMT%c", date, clock, &end) != 3 || end != ')')
        return -1;
    snprintf(instant, sizeof instant, "%sT%sZ", date, clock);
    return rb_parse_instant(instant, &unix_us, NULL) ? unix_us : -1;
}

static const char *tag(const struct rb_xml *item, const char *key)
{
    for (const struct rb_xml *t = first_item(item, "tagSet"); t; t = rb_xml_next(t, "item")) {
        const char *name = rb_xml_text(t, "key");
        if (name && strcmp(name, key) == 0)
            return text_or_null(t, "value");
    }
    return NULL;
}

static const char *tag_of(void *item, const char *key)
{
    return tag(item, key);
}

static bool decode_address(const struct rb_xml *item, const char *element, const char **out, struct rb_err *err)
{
    *out = text_or_null(item, element);
    return !*out || rb_is_ip_address(*out) || missing(element, "a numeric IP address", err);
}

// An instance that EC2 could not start ends without having run; launchTime, the request's second, stays. Source:
// StateReason in the API reference.
static bool failed_to_start(const char *reason_code)
{
    static const char *const codes[] = {"Server.InsufficientInstanceCapacity", "Client.VolumeLimitExceeded",
                                        "Client.InvalidSnapshot.NotFound", "Client.InternalError"};
    return RB_ROW_OF(codes, reason_code) != NULL;
}

// The cloud's clock says when it was launched, in whole seconds; billing counts from running, which follows soon. What
// was ended while it was pending looks the same as what ran: only the answer to TerminateInstances shows the difference
// (ec2.c).
static bool decode_times(const struct rb_xml *item, struct rb_instance *out, struct rb_err *err)
{
    const char *launched = text_or_null(item, "launchTime");
    out->running_at_us = out->terminated_at_us = -1;
    if (launched && out->state != RB_INSTANCE_PENDING && !rb_parse_instant(launched, &out->running_at_us, NULL))
        return missing("launchTime", "an instant such as 2026-01-01T00:00:00Z", err);
    if (out->state != RB_INSTANCE_PENDING && out->state != RB_INSTANCE_RUNNING)
        out->terminated_at_us = time_of_reason(text_or_null(item, "reason"));
    if (out->state == RB_INSTANCE_TERMINATED && failed_to_start(out->state_reason))
        out->running_at_us = -1;
    return true;
}

// Which of its launch it is; one that was launched alone is the first.
static bool decode_member(const struct rb_xml *item, int *out, struct rb_err *err)
{
    const char *text = text_or_null(item, "amiLaunchIndex");
    int64_t index = 0;
    if (text && (!rb_parse_int(text, &index) || index < 0 || index >= RB_LIMIT_NODES))
        return missing("amiLaunchIndex", "a place in its launch", err);
    *out = (int)index;
    return true;
}

// One that only happens to run in an open reservation was not launched into it.
static enum rb_market market_of(const struct rb_xml *item)
{
    const char *lifecycle = text_or_null(item, "instanceLifecycle");
    const struct rb_xml *asked = rb_xml_child(item, "capacityReservationSpecification");
    if (lifecycle && strcmp(lifecycle, "spot") == 0)
        return RB_MARKET_SPOT;
    return text_or_null(rb_xml_child(asked, "capacityReservationTarget"), "capacityReservationId") ? RB_MARKET_RESERVED
                                                                                                 : RB_MARKET_ON_DEMAND;
}

static bool decode_instance(const struct rb_xml *item, const char *region, struct rb_instance *out, struct rb_err *err)
{
    const char *public_address;
    struct rb_instance i = {
        .id = text_or_null(item, "instanceId"),
        .instance_type = text_or_null(item, "instanceType"),
        .zone = text_or_null(rb_xml_child(item, "placement"), "availabilityZone"),
        .region = region,
        .market = market_of(item),
        .token = text_or_null(item, "clientToken"),
        .state_reason = text_or_null(rb_xml_child(item, "stateReason"), "code"),
    };
    rb_instance_read_tags(&i, tag_of, (void *)item);
    i.sold_out = i.state_reason && strcmp(i.state_reason, "Server.InsufficientInstanceCapacity") == 0;
    if (!i.id || !rb_is_instance_id(i.id))
        return missing("instanceId", "letters, digits and dashes", err);
    if (!decode_state(rb_xml_text(rb_xml_child(item, "instanceState"), "code"), &i.state, err) ||
        !decode_member(item, &i.member, err) || !decode_times(item, &i, err) ||
        !decode_address(item, "privateIpAddress", &i.private_address, err) ||
        !decode_address(item, "ipAddress", &public_address, err))
        return rb_err_prefix(err, "%s", i.id);
    i.address = public_address ? public_address : i.private_address;
    *out = i;
    return true;
}

bool rb_ec2_decode_run(const char *body, size_t n, int count, const char *region, struct rb_arena *arena,
                       struct rb_instance *out, struct rb_err *err)
{
    const struct rb_xml *root = open_answer(body, n, "RunInstancesResponse", arena, err);
    if (!root)
        return false;
    const struct rb_xml *item = first_item(root, "instancesSet");
    if (count_items(item) != count)
        return rb_err_set(err, RB_E_ANSWER, "answer: instancesSet: expected %d instances, got %d", count,
                          count_items(item));
    struct rb_instance *all = rb_arena_array(arena, (size_t)count, sizeof *all);
    const char *region_copy = rb_arena_strdup(arena, region);
    for (; item; item = rb_xml_next(item, "item")) {
        struct rb_instance i;
        if (!decode_instance(item, region_copy, &i, err))
            return false;
        if (i.member >= count || all[i.member].id)
            return missing("amiLaunchIndex", "one instance at each place of the launch", err);
        all[i.member] = i;
    }
    memcpy(out, all, (size_t)count * sizeof *out);
    return true;
}

static int count_instances(const struct rb_xml *reservation)
{
    int n = 0;
    for (; reservation; reservation = rb_xml_next(reservation, "item"))
        n += count_items(first_item(reservation, "instancesSet"));
    return n;
}

bool rb_ec2_decode_list(const char *body, size_t n, const char *region, struct rb_arena *arena,
                        struct rb_instance_page *out, struct rb_err *err)
{
    const struct rb_xml *root = open_answer(body, n, "DescribeInstancesResponse", arena, err);
    if (!root)
        return false;
    if (!rb_xml_child(root, "reservationSet"))
        return missing("reservationSet", "a list, even if empty", err);
    const struct rb_xml *reservation = first_item(root, "reservationSet");
    const char *region_copy = rb_arena_strdup(arena, region);
    struct rb_instance_page page = {.complete = true, .next_page = next_page(root)};
    page.instances = rb_arena_array(arena, (size_t)count_instances(reservation), sizeof *page.instances);
    for (; reservation; reservation = rb_xml_next(reservation, "item"))
        for (const struct rb_xml *i = first_item(reservation, "instancesSet"); i; i = rb_xml_next(i, "item"))
            if (!decode_instance(i, region_copy, &page.instances[page.n++], err))
                return false;
    *out = page;
    return true;
}

bool rb_ec2_decode_terminate(const char *body, size_t n, const char *id, bool *out_never_ran, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const struct rb_xml *root = open_answer(body, n, "TerminateInstancesResponse", &arena, err);
    if (!root)
        return false;
    for (const struct rb_xml *i = first_item(root, "instancesSet"); i; i = rb_xml_next(i, "item")) {
        const char *item_id = rb_xml_text(i, "instanceId");
        enum rb_instance_state state;
        if (!item_id || strcmp(item_id, id) != 0)
            continue;
        if (!decode_state(rb_xml_text(rb_xml_child(i, "currentState"), "code"), &state, err))
            return false;
        if (state != RB_INSTANCE_STOPPING && state != RB_INSTANCE_TERMINATED)
            return missing("currentState", "shutting-down or terminated", err);
        const char *previous = rb_xml_text(rb_xml_child(i, "previousState"), "code");
        if (previous && !decode_state(previous, &state, err))
            return false;
        *out_never_ran = state == RB_INSTANCE_PENDING;
        return true;
    }
    return missing("instancesSet", id, err);
}

bool rb_ec2_decode_tagged(const char *body, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const struct rb_xml *root = open_answer(body, n, "CreateTagsResponse", &arena, err);
    const char *done = root ? text_or_null(root, "return") : NULL;
    return done && strcmp(done, "true") == 0 ? true : root ? missing("return", "true", err) : false;
}

bool rb_ec2_decode_groups(const char *body, size_t n, struct rb_arena *arena, struct rb_ec2_groups *out,
                          struct rb_err *err)
{
    const struct rb_xml *root = open_answer(body, n, "DescribePlacementGroupsResponse", arena, err);
    if (!root)
        return false;
    if (!rb_xml_child(root, "placementGroupSet"))
        return missing("placementGroupSet", "a list, even if empty", err);
    const struct rb_xml *item = first_item(root, "placementGroupSet");
    struct rb_ec2_groups all = {0};
    all.groups = rb_arena_array(arena, (size_t)count_items(item), sizeof *all.groups);
    for (; item; item = rb_xml_next(item, "item")) {
        const char *name = text_or_null(item, "groupName"), *state = text_or_null(item, "state");
        if (!name)
            return missing("groupName", "a name", err);
        if (!state || strncmp(state, "delet", 5) != 0)
            all.groups[all.n++] = (struct rb_placement_group){name, tag(item, RB_TAG_RUN), tag(item, RB_TAG_OWNER)};
    }
    *out = all;
    return true;
}

bool rb_ec2_decode_image(const char *body, size_t n, const char *image_id, struct rb_arena *arena,
                         const char **out_root_device, struct rb_err *err)
{
    const struct rb_xml *root = open_answer(body, n, "DescribeImagesResponse", arena, err);
    if (!root)
        return false;
    for (const struct rb_xml *i = first_item(root, "imagesSet"); i; i = rb_xml_next(i, "item")) {
        const char *id = rb_xml_text(i, "imageId"), *device = text_or_null(i, "rootDeviceName");
        if (!id || strcmp(id, image_id) != 0)
            continue;
        if (!device)
            return missing("rootDeviceName", "the device that disk_size is the size of", err);
        *out_root_device = device;
        return true;
    }
    return rb_err_set(err, RB_E_CLOUD_NOT_FOUND, "image %s is not in this region; give resources.image_id one that is",
                      image_id);
}

static bool decode_number(const struct rb_xml *x, const char *group, const char *element, double *out,
                          struct rb_err *err)
{
    const char *text = rb_xml_text(rb_xml_child(x, group), element);
    return (text && rb_parse_double(text, out) && *out >= 0) || missing(element, "a number", err);
}

// Types that the API describes wrongly: named otherwise than in price lists, or with a count or memory of 0 or 1.
// Source: SkyPilot's catalogue fetcher for AWS, which mends the same entries.
static const struct override {
    const char *prefix, *accelerator;
    int gpus;             // 0: as in the API
    double gpu_memory_gb; // 0: likewise
} overrides[] = {
    {"p3dn.", "V100-32GB", 0, 0},
    {"p4de.24xlarge", "A100-80GB", 8, 80},
    {"p5e.48xlarge", "H200", 8, 141},
    {"p5en.48xlarge", "H200", 8, 141},
};

static bool read_count(const struct rb_xml *gpu, const struct override *o, int *out)
{
    const char *text = rb_xml_text(gpu, "count");
    int64_t count = 0;
    if (o && o->gpus > 0)
        *out = o->gpus;
    else if (text && rb_parse_int(text, &count) && count >= 1 && count <= RB_LIMIT_GPUS_PER_NODE)
        *out = (int)count;
    else
        return false;
    return true;
}

static bool read_gpu_memory(const struct rb_xml *gpu, const struct override *o, double *out_gb)
{
    const char *text = rb_xml_text(rb_xml_child(gpu, "memoryInfo"), "sizeInMiB");
    double mib = 0;
    const bool is_known = text && rb_parse_double(text, &mib) && mib >= 0;
    *out_gb = o && o->gpu_memory_gb > 0 ? o->gpu_memory_gb : mib / 1024;
    return is_known || (o && o->gpu_memory_gb > 0);
}

// False without an error: the GPUs are not described well enough to sell them (a fraction of a GPU has count 0).
static bool decode_gpus(const struct rb_xml *item, struct rb_ec2_machine *m)
{
    const struct rb_xml *info = rb_xml_child(item, "gpuInfo"), *gpu = first_item(info, "gpus");
    const struct override *o = RB_ROW_STARTING(overrides, m->instance_type);
    m->accelerator = "CPU";
    m->gpus = 1;
    if (!info)
        return true;
    m->accelerator = o ? o->accelerator : text_or_null(gpu, "name");
    return m->accelerator && read_count(gpu, o, &m->gpus) && read_gpu_memory(gpu, o, &m->gpu_memory_gb);
}

static bool is_sold_as(const struct rb_xml *item, const char *usage_class)
{
    for (const struct rb_xml *i = first_item(item, "supportedUsageClasses"); i; i = rb_xml_next(i, "item"))
        if (strcmp(i->text, usage_class) == 0)
            return true;
    return false;
}

bool rb_ec2_decode_machines(const char *body, size_t n, struct rb_arena *arena, struct rb_ec2_machines *out,
                            struct rb_err *err)
{
    const struct rb_xml *root = open_answer(body, n, "DescribeInstanceTypesResponse", arena, err);
    if (!root)
        return false;
    const struct rb_xml *item = first_item(root, "instanceTypeSet");
    struct rb_ec2_machines page = {.next_page = next_page(root)};
    page.machines = rb_arena_array(arena, (size_t)count_items(item), sizeof *page.machines);
    for (; item; item = rb_xml_next(item, "item")) {
        struct rb_ec2_machine m = {.instance_type = text_or_null(item, "instanceType"),
                                   .on_demand = is_sold_as(item, "on-demand"),
                                   .spot = is_sold_as(item, "spot")};
        if (!m.instance_type || !rb_is_instance_id(m.instance_type))
            return missing("instanceType", "a name", err);
        double memory_mib;
        if (!decode_number(item, "vCpuInfo", "defaultVCpus", &m.vcpus, err) ||
            !decode_number(item, "memoryInfo", "sizeInMiB", &memory_mib, err))
            return rb_err_prefix(err, "%s", m.instance_type);
        m.memory_gb = memory_mib / 1024;
        if (decode_gpus(item, &m))
            page.machines[page.n++] = m;
    }
    *out = page;
    return true;
}

// -1: absent.
static bool decode_instant(const struct rb_xml *item, const char *element, int64_t *out_us, struct rb_err *err)
{
    const char *text = text_or_null(item, element);
    *out_us = -1;
    return !text || rb_parse_instant(text, out_us, NULL) || missing(element, "an instant such as 2026-01-01T00:00:00Z", err);
}

bool rb_ec2_decode_spot_prices(const char *body, size_t n, struct rb_arena *arena, struct rb_ec2_spot_prices *out,
                               struct rb_err *err)
{
    const struct rb_xml *root = open_answer(body, n, "DescribeSpotPriceHistoryResponse", arena, err);
    if (!root)
        return false;
    const struct rb_xml *item = first_item(root, "spotPriceHistorySet");
    struct rb_ec2_spot_prices page = {.next_page = next_page(root)};
    page.prices = rb_arena_array(arena, (size_t)count_items(item), sizeof *page.prices);
    for (; item; item = rb_xml_next(item, "item")) {
        struct rb_ec2_spot_price *p = &page.prices[page.n++];
        const char *price = text_or_null(item, "spotPrice");
        p->instance_type = text_or_null(item, "instanceType");
        p->zone = text_or_null(item, "availabilityZone");
        if (!p->instance_type || !rb_is_instance_id(p->instance_type) || !p->zone || !rb_is_instance_id(p->zone))
            return missing("spotPriceHistorySet", "instanceType and availabilityZone", err);
        if (!price || !rb_parse_rate(price, false, &p->rate, err))
            return missing("spotPrice", "a positive decimal", err);
        if (!decode_instant(item, "timestamp", &p->at_us, err))
            return rb_err_prefix(err, "%s in %s", p->instance_type, p->zone);
    }
    *out = page;
    return true;
}

static bool decode_reservation(const struct rb_xml *item, const char *infra, struct rb_arena *arena,
                               struct rb_reservation *out, struct rb_err *err)
{
    const char *zone = text_or_null(item, "availabilityZone"), *type = text_or_null(item, "reservationType");
    const char *state = text_or_null(item, "state");
    const bool has_begun = state && strcmp(state, "active") == 0;
    const char *count_text = text_or_null(item, has_begun ? "availableInstanceCount" : "totalInstanceCount");
    struct rb_reservation r = {
        .instance_type = text_or_null(item, "instanceType"),
        .id = text_or_null(item, "capacityReservationId"),
        .is_block = type && strcmp(type, "capacity-block") == 0,
        .notice_us = RB_RESERVATION_NOTICE_US,
    };
    int64_t count;
    if (!r.id || !rb_is_instance_id(r.id) || !r.instance_type || !zone)
        return missing("capacityReservationId", "an id, with instanceType and availabilityZone", err);
    if (!count_text || !rb_parse_int(count_text, &count) || count < 0)
        return missing("availableInstanceCount", "a number", err);
    if (!decode_instant(item, "startDate", &r.starts_at_us, err) || !decode_instant(item, "endDate", &r.ends_at_us, err))
        return false;
    r.count = count < RB_LIMIT_NODES ? (int)count : RB_LIMIT_NODES;
    r.infra = rb_arena_printf(arena, "%s/%s", infra, zone);
    if (has_begun)
        r.starts_at_us = -1;
    *out = r;
    return true;
}

bool rb_ec2_decode_reservations(const char *body, size_t n, const char *infra, struct rb_arena *arena,
                                struct rb_reservation_page *out, struct rb_err *err)
{
    const struct rb_xml *root = open_answer(body, n, "DescribeCapacityReservationsResponse", arena, err);
    if (!root)
        return false;
    if (!rb_xml_child(root, "capacityReservationSet"))
        return missing("capacityReservationSet", "a list, even if empty", err);
    const struct rb_xml *item = first_item(root, "capacityReservationSet");
    struct rb_reservation_page page = {.next_page = next_page(root)};
    page.reservations = rb_arena_array(arena, (size_t)count_items(item), sizeof *page.reservations);
    for (; item; item = rb_xml_next(item, "item"))
        if (!decode_reservation(item, infra, arena, &page.reservations[page.n++], err))
            return false;
    *out = page;
    return true;
}
