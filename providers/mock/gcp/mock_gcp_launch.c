// instances: insert and bulkInsert. What is asked for becomes machines of the cloud, each under its name, and
// operations.
#include "providers/mock/gcp/mock_gcp_call.h"

#include <stdio.h>
#include <string.h>

#define STOCKOUT_US (2 * RB_US_PER_S) // how long an operation takes to find that there is no machine

// --- keeping ---

static const char *copy(struct rb_arena *a, const char *s)
{
    return s ? rb_arena_strdup(a, s) : NULL;
}

static void copy_lists(struct rb_arena *a, struct rb_mock_gcp_instance *i)
{
    struct rb_mock_gcp_pair *metadata = rb_arena_array(a, (size_t)i->n_metadata + 1, sizeof *metadata);
    struct rb_cloud_tag *labels = rb_arena_array(a, (size_t)i->n_labels + 1, sizeof *labels);
    const char **tags = rb_arena_array(a, (size_t)i->n_network_tags + 1, sizeof *tags);
    for (int k = 0; k < i->n_metadata; k++)
        metadata[k] = (struct rb_mock_gcp_pair){copy(a, i->metadata[k].key), copy(a, i->metadata[k].value)};
    for (int k = 0; k < i->n_labels; k++)
        labels[k] = (struct rb_cloud_tag){copy(a, i->labels[k].key), copy(a, i->labels[k].value)};
    const char **reservations = rb_arena_array(a, (size_t)i->n_reservations + 1, sizeof *reservations);
    for (int k = 0; k < i->n_network_tags; k++)
        tags[k] = copy(a, i->network_tags[k]);
    for (int k = 0; k < i->n_reservations; k++)
        reservations[k] = copy(a, i->reservations[k]);
    i->reservations = reservations;
    i->metadata = metadata;
    i->labels = labels;
    i->network_tags = tags;
}

// A copy that outlives the call.
static const struct rb_mock_gcp_instance *keep(struct rb_mock_gcp *gcp, const struct rb_mock_gcp_instance *i)
{
    struct rb_arena *a = &gcp->arena;
    if (gcp->n_instances == gcp->cap_instances) {
        gcp->cap_instances = gcp->cap_instances ? 2 * gcp->cap_instances : 16;
        gcp->instances = rb_xrealloc(gcp->instances, (size_t)gcp->cap_instances, sizeof *gcp->instances);
    }
    struct rb_mock_gcp_instance *kept = &gcp->instances[gcp->n_instances++];
    *kept = *i;
    kept->id = rb_cloud_fresh_id(gcp->cloud) >> 1; // Google's ids fit an int64
    kept->name = copy(a, i->name);
    kept->zone = copy(a, i->zone);
    kept->description = copy(a, i->description);
    kept->machine_type = copy(a, i->machine_type);
    kept->source_image = copy(a, i->source_image);
    kept->disk_type = copy(a, i->disk_type);
    kept->network = copy(a, i->network);
    kept->subnetwork = copy(a, i->subnetwork);
    kept->accelerator_type = copy(a, i->accelerator_type);
    kept->consumes = copy(a, i->consumes);
    kept->service_account = copy(a, i->service_account);
    copy_lists(a, kept);
    return kept;
}

// --- insert ---

// The offer for this machine type with these accelerators; NULL: not sold in the zone.
static const struct rb_offer *find_offer(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i,
                                         const struct rb_cloud_region *region, enum rb_market market)
{
    const struct rb_catalog *c = &rb_cloud_config_of(call->cloud)->catalog;
    for (int k = 0; k < c->n_offers; k++) {
        const struct rb_offer *o = &c->offers[k];
        const char *own = rb_gcp_accelerator_type(o);
        bool guest = rb_gcp_takes_guest_accelerators(i->machine_type);
        if (o->market != market || strcmp(rb_gcp_machine_type(o, call->arena), i->machine_type) != 0 ||
            rb_cloud_offer(c, region->name, call->zone, o->instance_type, market) != o)
            continue;
        if (guest && i->accelerator_type ? own && strcmp(own, i->accelerator_type) == 0 && o->gpus == i->accelerators
                                         : !i->accelerator_type && !(guest && own))
            return o;
    }
    return NULL;
}

static bool check_machine(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i,
                          const struct rb_cloud_region *region, struct rb_cloud_launch *l)
{
    l->market = strcmp(i->provisioning_model, "SPOT") == 0 ? RB_MARKET_SPOT : RB_MARKET_ON_DEMAND;
    if (i->accelerator_type && !rb_gcp_takes_guest_accelerators(i->machine_type))
        return rb_gcp_refuse(
            call, 400, "invalid",
            "[%.60s] does not support guest accelerators: its GPUs, if any, come with the machine type",
            i->machine_type);
    const struct rb_offer *o = find_offer(call, i, region, l->market);
    if (!o)
        return rb_gcp_invalid(call, "resource.machineType", i->machine_type,
                              rb_arena_printf(call->arena,
                                              "The referenced machine type, with %d guest accelerators, is not sold as "
                                              "%s in zone %s.",
                                              i->accelerators, i->provisioning_model, call->zone));
    if (rb_gcp_accelerator_type(o) && !i->terminate_on_maintenance)
        return rb_gcp_refuse(call, 400, "invalid",
                             "Instances with guest accelerators do not support live migration: set "
                             "scheduling.onHostMaintenance to TERMINATE");
    l->instance_type = o->instance_type;
    return true;
}

static bool refuse_launch(struct rb_mock_gcp_call *call, const struct rb_cloud_launch *l, enum rb_cloud_answer answer)
{
    const struct rb_cloud_quota *q = rb_cloud_quota_exceeded(call->cloud, l);
    switch (answer) {
    case RB_CLOUD_OVER_QUOTA:
        rb_gcp_refuse(call, 403, "quotaExceeded", "Quota '%.100s' exceeded.  Limit: %.1f %s.", q->name, (double)q->max,
                      q->all_regions ? "globally" : rb_arena_printf(call->arena, "in region %s", l->region));
        call->refusal.domain = "usageLimits";
        return false;
    case RB_CLOUD_NO_DISK_PRICE:
        return rb_gcp_refuse(call, 400, "invalid",
                             "The price list has no row with instance_type `disk` for %.60s, so a disk of given size "
                             "cannot be billed",
                             l->region);
    case RB_CLOUD_NO_ADDRESS:
        return rb_gcp_refuse(call, 400, "invalid", "This cloud has given out all its addresses; start another rbmock");
    case RB_CLOUD_NO_SUCH_RESERVED:
        return rb_gcp_refuse(call, 400, "invalid", "Specified reservations [%.100s] do not exist.", l->reserved);
    case RB_CLOUD_RESERVED_DIFFERS:
        return rb_gcp_refuse(call, 400, "invalid", "No available resources in specified reservations: [%.100s] is of another "
                                                   "machine type or zone.", l->reserved);
    case RB_CLOUD_RESERVED_FULL:
        return rb_gcp_refuse(call, 400, "invalid",
                             "Specified reservation [%.100s] does not have available resources for the request.", l->reserved);
    default: // places, types and markets were checked, and there are no tokens
        return rb_gcp_refuse(call, 500, "internalError", "Internal error");
    }
}

static void fill_launch(const struct rb_mock_gcp_instance *i, struct rb_cloud_launch *l)
{
    l->fingerprint = ""; // there are no tokens
    l->image_id = i->source_image;
    l->disk_gb = i->disk_gb;
    l->stop_when_taken = !i->termination_action || strcmp(i->termination_action, "STOP") == 0;
    l->max_run_us = i->max_run_s * RB_US_PER_S;
    if (i->n_reservations > 0) // by its name, or projects/P/reservations/NAME
        l->reserved = strrchr(i->reservations[0], '/') ? strrchr(i->reservations[0], '/') + 1 : i->reservations[0];
    l->tags = i->labels;
    l->n_tags = i->n_labels;
}

static bool check_name(struct rb_mock_gcp_call *call, const char *name)
{
    return !rb_gcp_find_instance(call, call->zone, name) ||
           rb_gcp_refuse(call, 409, "alreadyExists",
                         "The resource 'projects/%.60s/zones/%.60s/instances/%.63s' already exists", call->project,
                         call->zone, name);
}

// The instance of that name and the operation that makes it. ordinal -1: there is no machine for it.
static struct rb_mock_gcp_operation *add_instance(struct rb_mock_gcp_call *call, struct rb_mock_gcp_instance *i,
                                                  const char *name, int ordinal, const char *request_id)
{
    struct rb_mock_gcp *gcp = call->gcp;
    i->name = name;
    i->zone = call->zone;
    i->ordinal = ordinal;
    i->failed_us = call->now_us + STOCKOUT_US;
    i->inserted_us = call->now_us;
    const struct rb_mock_gcp_instance *kept = keep(gcp, i);
    struct rb_mock_gcp_operation *o = rb_gcp_begin_operation(call, RB_GCP_INSERT, kept, request_id);
    if (ordinal >= 0) {
        rb_cloud_instance(call->cloud, ordinal)->name = kept->name;
    } else {
        o->error_code = "ZONE_RESOURCE_POOL_EXHAUSTED";
        o->error_message =
            rb_arena_printf(&gcp->arena,
                            "The zone 'projects/%s/zones/%s' does not have enough resources available to "
                            "fulfill the request.  Try a different zone, or try again later.",
                            call->project, i->zone);
    }
    return o;
}

bool rb_gcp_instances_insert(struct rb_mock_gcp_call *call)
{
    struct rb_mock_gcp_instance i;
    const struct rb_cloud_region *region = rb_gcp_region_of_zone(call->cloud, call->zone);
    struct rb_cloud_launch l = {.region = region->name, .zone = call->zone, .min_count = 1, .max_count = 1};
    struct rb_cloud_reservation r;
    const char *request_id;
    bool result;
    if (!rb_gcp_begin_change(call, &request_id, &result))
        return result;
    if (!rb_gcp_read_insert(call, &i, &l) || !check_machine(call, &i, region, &l) || !check_name(call, i.name))
        return false;
    fill_launch(&i, &l);
    enum rb_cloud_answer answer = rb_cloud_launch(call->cloud, &l, call->now_us, &r);
    if (answer != RB_CLOUD_OK && answer != RB_CLOUD_NO_CAPACITY)
        return refuse_launch(call, &l, answer);
    rb_gcp_write_operation(call, add_instance(call, &i, i.name, answer == RB_CLOUD_OK ? r.first : -1, request_id));
    return true;
}

// --- bulkInsert ---

// The first zone of the region that has room for the minimum count; if none has, the first that sells the type.
// In call->zone; false: refused.
static bool choose_zone(struct rb_mock_gcp_call *call, const struct rb_gcp_bulk *bulk,
                        const struct rb_cloud_region *region, struct rb_cloud_launch *l)
{
    const char *sells = NULL;
    l->dry_run = true;
    for (int z = 0; z < region->n_zones; z++) {
        struct rb_cloud_reservation none;
        if (!rb_gcp_bulk_allows(bulk, region->zones[z]))
            continue;
        call->zone = l->zone = region->zones[z];
        if (!check_machine(call, &bulk->instance, region, l))
            continue;
        if (!sells)
            sells = call->zone;
        if (rb_cloud_launch(call->cloud, l, call->now_us, &none) == RB_CLOUD_OK) {
            sells = call->zone;
            break;
        }
    }
    l->dry_run = false;
    call->zone = l->zone = sells;
    return sells ||
           rb_gcp_invalid(call, "resource.instanceProperties.machineType", bulk->instance.machine_type,
                          rb_arena_printf(call->arena, "It is not sold in any allowed zone of %s.", region->name));
}

static void add_instances(struct rb_mock_gcp_call *call, struct rb_gcp_bulk *bulk, struct rb_cloud_reservation r,
                          const char *region, const char *request_id)
{
    const int first = call->gcp->n_instances;
    const uint64_t group = rb_cloud_fresh_id(call->cloud) >> 1;
    for (int k = 0; k < bulk->count; k++)
        add_instance(call, &bulk->instance, bulk->names[k], k < r.n ? r.first + k : -1, NULL)->group = group;
    struct rb_mock_gcp_operation *o =
        rb_gcp_begin_operation(call, RB_GCP_BULK_INSERT, &call->gcp->instances[first], request_id);
    o->group = group;
    o->n_instances = bulk->count;
    o->min_count = bulk->min_count;
    o->region = region;
    rb_gcp_write_operation(call, o);
}

// If the path names no zone, the cloud chooses one.
bool rb_gcp_instances_bulk_insert(struct rb_mock_gcp_call *call)
{
    const bool regional = call->zone == NULL;
    const struct rb_cloud_region *region = regional ? rb_cloud_regions_find(rb_cloud_regions(call->cloud), call->region)
                                                    : rb_gcp_region_of_zone(call->cloud, call->zone);
    struct rb_gcp_bulk bulk;
    struct rb_cloud_launch l = {.region = region->name, .zone = call->zone};
    struct rb_cloud_reservation r = {0};
    const char *request_id;
    bool result;
    if (!rb_gcp_begin_change(call, &request_id, &result))
        return result;
    if (!rb_gcp_read_bulk(call, &bulk, &l))
        return false;
    fill_launch(&bulk.instance, &l);
    l.min_count = bulk.min_count;
    l.max_count = bulk.count;
    if (!(regional ? choose_zone(call, &bulk, region, &l) : check_machine(call, &bulk.instance, region, &l)))
        return false;
    for (int k = 0; k < bulk.count; k++)
        if (!check_name(call, bulk.names[k]))
            return false;
    enum rb_cloud_answer answer = rb_cloud_launch(call->cloud, &l, call->now_us, &r);
    if (answer != RB_CLOUD_OK && answer != RB_CLOUD_NO_CAPACITY)
        return refuse_launch(call, &l, answer);
    rb_cloud_bind(call->cloud, r, bulk.min_count);
    add_instances(call, &bulk, r, regional ? region->name : NULL, request_id);
    return true;
}
