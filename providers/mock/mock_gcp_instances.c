// instances: insert, get, list, aggregatedList, delete, setLabels.
#include "providers/mock/mock_gcp_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STOCKOUT_US (2 * RB_US_PER_S) // how long an operation takes to find that there is no machine

// --- the instance behind a name ---

const struct rb_cloud_instance *rb_gcp_machine(const struct rb_mock_gcp *gcp, const struct rb_mock_gcp_instance *i)
{
    return i->ordinal >= 0 ? rb_cloud_instance(gcp->cloud, i->ordinal) : NULL;
}

bool rb_gcp_instance_exists(const struct rb_mock_gcp *gcp, const struct rb_mock_gcp_instance *i, int64_t now_us)
{
    const struct rb_cloud_instance *m = rb_gcp_machine(gcp, i);
    return m ? m->state != RB_CLOUD_TERMINATED : now_us < i->failed_us;
}

struct rb_mock_gcp_instance *rb_gcp_find_instance(struct rb_mock_gcp_call *call, const char *zone, const char *name)
{
    struct rb_mock_gcp *gcp = call->gcp;
    for (int k = gcp->n_instances - 1; k >= 0; k--) {
        struct rb_mock_gcp_instance *i = &gcp->instances[k];
        if (strcmp(i->name, name) == 0 && strcmp(i->zone, zone) == 0)
            return rb_gcp_instance_exists(gcp, i, call->now_us) ? i : NULL;
    }
    return NULL;
}

const char *rb_gcp_status(const struct rb_mock_gcp *gcp, const struct rb_mock_gcp_instance *i, int64_t now_us)
{
    const struct rb_cloud_instance *m = rb_gcp_machine(gcp, i);
    switch (m ? m->state : RB_CLOUD_PENDING) {
    case RB_CLOUD_RUNNING:
        return "RUNNING";
    case RB_CLOUD_SHUTTING_DOWN:
    case RB_CLOUD_STOPPING:
        return "STOPPING";
    case RB_CLOUD_STOPPED:
    case RB_CLOUD_TERMINATED:
        return "TERMINATED"; // stopped; what is gone is not shown at all
    case RB_CLOUD_PENDING:
        break;
    }
    return now_us < i->inserted_us + RB_US_PER_S ? "PROVISIONING" : "STAGING";
}

const char *rb_gcp_label(const struct rb_mock_gcp *gcp, const struct rb_mock_gcp_instance *i, const char *key)
{
    const struct rb_cloud_instance *m = rb_gcp_machine(gcp, i);
    const struct rb_cloud_tag *labels = m ? m->tags : i->labels;
    for (int k = 0; k < (m ? m->n_tags : i->n_labels); k++)
        if (strcmp(labels[k].key, key) == 0)
            return labels[k].value;
    return NULL;
}

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
    for (int k = 0; k < i->n_network_tags; k++)
        tags[k] = copy(a, i->network_tags[k]);
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
    default: // places, types and markets were checked, and there are no tokens
        return rb_gcp_refuse(call, 500, "internalError", "Internal error");
    }
}

static void add_instance(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i, const char *request_id)
{
    struct rb_mock_gcp *gcp = call->gcp;
    const struct rb_mock_gcp_instance *kept = keep(gcp, i);
    struct rb_mock_gcp_operation *o = rb_gcp_begin_operation(call, RB_GCP_INSERT, kept, request_id);
    if (i->ordinal < 0) {
        o->error_code = "ZONE_RESOURCE_POOL_EXHAUSTED";
        o->error_message =
            rb_arena_printf(&gcp->arena,
                            "The zone 'projects/%s/zones/%s' does not have enough resources available to "
                            "fulfill the request.  Try a different zone, or try again later.",
                            call->project, i->zone);
    }
    rb_gcp_write_operation(call, o);
}

bool rb_gcp_instances_insert(struct rb_mock_gcp_call *call)
{
    struct rb_mock_gcp_instance i;
    const struct rb_cloud_region *region = rb_gcp_region_of_zone(call->cloud, call->zone);
    struct rb_cloud_launch l = {.region = region->name, .zone = call->zone, .min_count = 1, .max_count = 1};
    struct rb_cloud_reservation r;
    const char *request_id;
    bool refused;
    if (!rb_gcp_read_request_id(call, &request_id) || !rb_gcp_checked(call))
        return false;
    if (rb_gcp_repeat(call, request_id, &refused) || refused)
        return !refused;
    if (!rb_gcp_read_insert(call, &i, &l) || !check_machine(call, &i, region, &l))
        return false;
    if (rb_gcp_find_instance(call, call->zone, i.name))
        return rb_gcp_refuse(call, 409, "alreadyExists",
                             "The resource 'projects/%.60s/zones/%.60s/instances/%.63s' already exists", call->project,
                             call->zone, i.name);
    l.name = i.name;
    l.fingerprint = "";
    l.image_id = i.source_image;
    l.disk_gb = i.disk_gb;
    l.stop_when_taken = !i.termination_action || strcmp(i.termination_action, "STOP") == 0;
    l.max_run_us = i.max_run_s * RB_US_PER_S;
    l.tags = i.labels;
    l.n_tags = i.n_labels;
    enum rb_cloud_answer answer = rb_cloud_launch(call->cloud, &l, call->now_us, &r);
    if (answer != RB_CLOUD_OK && answer != RB_CLOUD_NO_CAPACITY)
        return refuse_launch(call, &l, answer);
    i.ordinal = answer == RB_CLOUD_OK ? r.first : -1;
    i.failed_us = call->now_us + STOCKOUT_US;
    i.inserted_us = call->now_us;
    add_instance(call, &i, request_id);
    return true;
}

// --- get and lists ---

bool rb_gcp_instance_get(struct rb_mock_gcp_call *call)
{
    if (!rb_gcp_checked(call))
        return false;
    const struct rb_mock_gcp_instance *i = rb_gcp_find_instance(call, call->zone, call->name);
    if (!i)
        return rb_gcp_not_found(call, "instances", call->name);
    rb_gcp_write_instance(call, i);
    return true;
}

static const char *const instance_fields[] = {
    "name", "status", "zone", "machineType", "id", "labels.", "scheduling.provisioningModel", "creationTimestamp",
    NULL};

static const char *instance_field(const void *item, const char *field, const void *context)
{
    const struct rb_mock_gcp_call *call = context;
    const struct rb_mock_gcp_instance *i = item;
    if (strncmp(field, "labels.", 7) == 0)
        return rb_gcp_label(call->gcp, i, field + 7);
    const struct {
        const char *name, *text;
    } texts[] = {
        {"name", i->name},
        {"status", rb_gcp_status(call->gcp, i, call->now_us)},
        {"zone", rb_arena_printf(call->arena, RB_GCP_LINK "projects/%s/zones/%s", call->project, i->zone)},
        {"machineType", rb_arena_printf(call->arena, RB_GCP_LINK "projects/%s/zones/%s/machineTypes/%s", call->project,
                                        i->zone, i->machine_type)},
        {"id", rb_arena_printf(call->arena, "%" PRIu64, i->id)},
        {"scheduling.provisioningModel", i->provisioning_model},
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        if (strcmp(texts[k].name, field) == 0)
            return texts[k].text;
    char *instant = rb_arena_alloc(call->arena, 32); // creationTimestamp
    return rb_format_instant(i->inserted_us, instant);
}

// Listings are behind: what was just inserted comes into them a little later, get knows it at once.
static bool is_listed(const struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    return rb_gcp_instance_exists(call->gcp, i, call->now_us) && (!m || call->now_us >= m->visible_us);
}

static int visit_instances(struct rb_mock_gcp_call *call, const char *zone, int64_t first, struct rb_gcp_page *p,
                           bool write)
{
    int n = 0;
    for (int k = 0; k < call->gcp->n_instances; k++) {
        const struct rb_mock_gcp_instance *i = &call->gcp->instances[k];
        if (strcmp(i->zone, zone) != 0 || !is_listed(call, i) || !rb_gcp_page_take(p, first + k, i))
            continue;
        n++;
        if (write)
            rb_gcp_write_instance(call, i);
    }
    return n;
}

bool rb_gcp_instances_list(struct rb_mock_gcp_call *call)
{
    struct rb_gcp_page page;
    if (!rb_gcp_read_page(call, instance_fields, instance_field, &page))
        return false;
    rb_gcp_begin_list(call, "compute#instanceList");
    rb_json_key(&call->json, "items");
    rb_json_begin_array(&call->json);
    visit_instances(call, call->zone, 0, &page, true);
    rb_json_end_array(&call->json);
    rb_gcp_end_list(call, &page);
    return true;
}

bool rb_gcp_instances_aggregated(struct rb_mock_gcp_call *call)
{
    struct rb_gcp_page page;
    return rb_gcp_read_page(call, instance_fields, instance_field, &page) &&
           rb_gcp_aggregated(call, "compute#instanceAggregatedList", "instances", &page, visit_instances);
}

// --- delete, setLabels ---

bool rb_gcp_instance_delete(struct rb_mock_gcp_call *call)
{
    const char *request_id;
    bool refused;
    int bad;
    rb_form_get(&call->query, "noGracefulShutdown");
    if (!rb_gcp_read_request_id(call, &request_id) || !rb_gcp_checked(call))
        return false;
    if (rb_gcp_repeat(call, request_id, &refused) || refused)
        return !refused;
    struct rb_mock_gcp_instance *i = rb_gcp_find_instance(call, call->zone, call->name);
    if (!i)
        return rb_gcp_not_found(call, "instances", call->name);
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    if (m)
        rb_cloud_terminate(call->cloud, m->region, (const char *const[]){m->id}, 1, call->now_us, &bad);
    else
        i->failed_us = call->now_us; // it would have failed anyway
    rb_gcp_write_operation(call, rb_gcp_begin_operation(call, RB_GCP_DELETE, i, request_id));
    return true;
}

static bool read_new_labels(struct rb_mock_gcp_call *call, const struct rb_cloud_tag **labels, int *n,
                            const char **fingerprint)
{
    struct rb_map m;
    struct rb_err err = {0};
    const struct rb_node *node;
    if (!call->body || !rb_map_begin(&m, call->body, &err) || !rb_map_need(&m, "labelFingerprint", &node, &err) ||
        !rb_node_string(node, fingerprint, &err))
        return rb_gcp_refuse(call, 400, "required", "Required field 'labelFingerprint' not specified");
    const struct rb_node *list = rb_map_get(&m, "labels");
    if (!rb_map_end(&m, &err))
        return rb_gcp_refuse(call, 400, "invalid", "Invalid value for field '%s': %s", err.key, err.message);
    return rb_gcp_read_labels(call, list, labels, n);
}

bool rb_gcp_instance_set_labels(struct rb_mock_gcp_call *call)
{
    const struct rb_cloud_tag *labels;
    const char *request_id, *fingerprint;
    char current[16];
    bool refused;
    int n;
    if (!rb_gcp_read_request_id(call, &request_id) || !rb_gcp_checked(call) ||
        !read_new_labels(call, &labels, &n, &fingerprint))
        return false;
    if (rb_gcp_repeat(call, request_id, &refused) || refused)
        return !refused;
    struct rb_mock_gcp_instance *i = rb_gcp_find_instance(call, call->zone, call->name);
    if (!i || i->ordinal < 0)
        return rb_gcp_not_found(call, "instances", call->name);
    rb_gcp_label_fingerprint(i, current);
    if (strcmp(current, fingerprint) != 0)
        return rb_gcp_refuse(call, 412, "conditionNotMet",
                             "Labels fingerprint either invalid or resource labels have changed");
    rb_cloud_replace_tags(call->cloud, rb_cloud_instance(call->cloud, i->ordinal), labels, n);
    i->label_version++;
    rb_gcp_write_operation(call, rb_gcp_begin_operation(call, RB_GCP_SET_LABELS, i, request_id));
    return true;
}
