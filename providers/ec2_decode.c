// The order of elements is not promised, so everything is looked up by name.
#include "providers/ec2_decode.h"

#include "base/number.h"
#include "providers/untrusted.h"
#include "providers/xml.h"

#include <stdio.h>
#include <string.h>

static bool missing(const char *element, const char *expected, struct rb_err *err)
{
    return rb_err_set(err, RB_ERR_IO, "answer: %s: expected %s", element, expected);
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
    rb_err_set(err, RB_ERR_IO, "answer: expected <%s>, got <%.60s>", root_name, root->name);
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
        {0, RB_INSTANCE_PENDING},
        {16, RB_INSTANCE_RUNNING},
        {32, RB_INSTANCE_STOPPING},
        {48, RB_INSTANCE_TERMINATED},
        {64, RB_INSTANCE_STOPPING},
        {80, RB_INSTANCE_STOPPED},
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

static bool decode_address(const struct rb_xml *item, const char *element, const char **out, struct rb_err *err)
{
    *out = text_or_null(item, element);
    return !*out || rb_is_ip_address(*out) || missing(element, "a numeric IP address", err);
}

// The cloud's clock says when it was launched; billing counts from running, which follows within seconds.
static bool decode_times(const struct rb_xml *item, struct rb_instance *out, struct rb_err *err)
{
    const char *launched = text_or_null(item, "launchTime");
    out->running_at_us = out->terminated_at_us = -1;
    if (launched && out->state != RB_INSTANCE_PENDING && !rb_parse_instant(launched, &out->running_at_us, NULL))
        return missing("launchTime", "an instant such as 2026-01-01T00:00:00Z", err);
    if (out->state != RB_INSTANCE_PENDING && out->state != RB_INSTANCE_RUNNING)
        out->terminated_at_us = time_of_reason(text_or_null(item, "reason"));
    return true;
}

static bool decode_instance(const struct rb_xml *item, const char *region, struct rb_instance *out, struct rb_err *err)
{
    const char *lifecycle = text_or_null(item, "instanceLifecycle"), *public_address;
    struct rb_instance i = {
        .id = text_or_null(item, "instanceId"),
        .instance_type = text_or_null(item, "instanceType"),
        .zone = text_or_null(rb_xml_child(item, "placement"), "availabilityZone"),
        .region = region,
        .market = lifecycle && strcmp(lifecycle, "spot") == 0 ? RB_MARKET_SPOT : RB_MARKET_ON_DEMAND,
        .token = text_or_null(item, "clientToken"),
        .run_id = tag(item, "rb:run-id"),
        .launch_id = tag(item, "rb:launch-id"),
        .owner = tag(item, "rb:owner"),
        .state_reason = text_or_null(rb_xml_child(item, "stateReason"), "code"),
    };
    if (!i.id || !rb_is_instance_id(i.id))
        return missing("instanceId", "letters, digits and dashes", err);
    if (!decode_state(rb_xml_text(rb_xml_child(item, "instanceState"), "code"), &i.state, err) ||
        !decode_times(item, &i, err) || !decode_address(item, "privateIpAddress", &i.private_address, err) ||
        !decode_address(item, "ipAddress", &public_address, err))
        return rb_err_prefix(err, "%s", i.id);
    i.address = public_address ? public_address : i.private_address;
    *out = i;
    return true;
}

bool rb_ec2_decode_run(const char *body, size_t n, const char *region, struct rb_arena *arena, struct rb_instance *out,
                       struct rb_err *err)
{
    const struct rb_xml *root = open_answer(body, n, "RunInstancesResponse", arena, err);
    if (!root)
        return false;
    const struct rb_xml *item = first_item(root, "instancesSet");
    if (count_items(item) != 1)
        return missing("instancesSet", "exactly one instance", err);
    return decode_instance(item, rb_arena_strdup(arena, region), out, err);
}

static int count_instances(const struct rb_xml *reservation)
{
    int n = 0;
    for (; reservation; reservation = rb_xml_next(reservation, "item"))
        n += count_items(first_item(reservation, "instancesSet"));
    return n;
}

bool rb_ec2_decode_list(const char *body, size_t n, const char *region, struct rb_arena *arena,
                        struct rb_ec2_instances *out, struct rb_err *err)
{
    const struct rb_xml *root = open_answer(body, n, "DescribeInstancesResponse", arena, err);
    if (!root)
        return false;
    if (!rb_xml_child(root, "reservationSet"))
        return missing("reservationSet", "a list, even if empty", err);
    const struct rb_xml *reservation = first_item(root, "reservationSet");
    const char *region_copy = rb_arena_strdup(arena, region);
    struct rb_ec2_instances page = {.next_page = next_page(root)};
    page.instances = rb_arena_array(arena, (size_t)count_instances(reservation), sizeof *page.instances);
    for (; reservation; reservation = rb_xml_next(reservation, "item"))
        for (const struct rb_xml *i = first_item(reservation, "instancesSet"); i; i = rb_xml_next(i, "item"))
            if (!decode_instance(i, region_copy, &page.instances[page.n++], err))
                return false;
    *out = page;
    return true;
}

bool rb_ec2_decode_terminate(const char *body, size_t n, const char *id, struct rb_err *err)
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
        return state == RB_INSTANCE_STOPPING || state == RB_INSTANCE_TERMINATED ||
               missing("currentState", "shutting-down or terminated", err);
    }
    return missing("instancesSet", id, err);
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
    return rb_err_set(err, RB_ERR_NOT_FOUND, "image %s is not in this region; give resources.image_id one that is",
                      image_id);
}

static bool decode_number(const struct rb_xml *x, const char *group, const char *element, double *out,
                          struct rb_err *err)
{
    const char *text = rb_xml_text(rb_xml_child(x, group), element);
    return (text && rb_parse_double(text, out) && *out >= 0) || missing(element, "a number", err);
}

// What the API calls by another name than price lists and people do.
// Source: SkyPilot's catalogue fetcher for AWS, which mends the same entries.
static const char *accelerator_name(const char *instance_type, const char *reported)
{
    static const struct {
        const char *prefix, *name;
    } known[] = {
        {"p3dn.", "V100-32GB"},
        {"p4de.", "A100-80GB"},
        {"p5e.", "H200"},
        {"p5en.", "H200"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(instance_type, known[i].prefix, strlen(known[i].prefix)) == 0)
            return known[i].name;
    return reported;
}

// False without an error: the GPUs are not described well enough to sell them (a fraction of a GPU has count 0).
static bool decode_gpus(const struct rb_xml *item, struct rb_ec2_machine *m)
{
    const struct rb_xml *info = rb_xml_child(item, "gpuInfo"), *gpu = first_item(info, "gpus");
    int64_t count;
    double memory_mib;
    m->accelerator = "CPU";
    m->gpus = 1;
    if (!info)
        return true;
    const char *name = text_or_null(gpu, "name"), *count_text = rb_xml_text(gpu, "count");
    const char *memory = rb_xml_text(rb_xml_child(gpu, "memoryInfo"), "sizeInMiB");
    if (!name || !count_text || !rb_parse_int(count_text, &count) || count < 1 || count > 64 || !memory ||
        !rb_parse_double(memory, &memory_mib) || memory_mib < 0)
        return false;
    m->accelerator = accelerator_name(m->instance_type, name);
    m->gpus = (int)count;
    m->gpu_memory_gb = memory_mib / 1024;
    return true;
}

static bool sold_as_spot(const struct rb_xml *item)
{
    for (const struct rb_xml *i = first_item(item, "supportedUsageClasses"); i; i = rb_xml_next(i, "item"))
        if (strcmp(i->text, "spot") == 0)
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
        struct rb_ec2_machine m = {.instance_type = text_or_null(item, "instanceType"), .spot = sold_as_spot(item)};
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
    }
    *out = page;
    return true;
}
