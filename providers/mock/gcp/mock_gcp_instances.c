// instances: get, list, aggregatedList, delete, setLabels.
#include "providers/mock/gcp/mock_gcp_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

struct rb_mock_gcp_instance *rb_gcp_need_machine(struct rb_mock_gcp_call *call, const char *kind)
{
    struct rb_mock_gcp_instance *i = rb_gcp_find_instance(call, call->zone, call->name);
    if (i && i->ordinal >= 0)
        return i;
    rb_gcp_not_found(call, kind, call->name);
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

int rb_gcp_count_instances(struct rb_mock_gcp_call *call)
{
    return call->gcp->n_instances;
}

static const void *instance_at(struct rb_mock_gcp_call *call, const char *zone, int k)
{
    const struct rb_mock_gcp_instance *i = &call->gcp->instances[k];
    return strcmp(i->zone, zone) == 0 && is_listed(call, i) ? i : NULL;
}

static void write_instance(struct rb_mock_gcp_call *call, const char *zone, const void *instance)
{
    (void)zone;
    rb_gcp_write_instance(call, instance);
}

const struct rb_gcp_collection rb_gcp_instances = {
    "instances", "instance", instance_fields, instance_field, rb_gcp_count_instances, instance_at, write_instance,
};

// --- delete, setLabels ---

bool rb_gcp_instance_delete(struct rb_mock_gcp_call *call)
{
    const char *request_id;
    bool result;
    int bad;
    rb_form_get(&call->query, "noGracefulShutdown");
    if (!rb_gcp_begin_change(call, &request_id, &result))
        return result;
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
    bool result;
    int n;
    if (!rb_gcp_begin_change(call, &request_id, &result))
        return result;
    struct rb_mock_gcp_instance *i =
        read_new_labels(call, &labels, &n, &fingerprint) ? rb_gcp_need_machine(call, "instances") : NULL;
    if (!i)
        return false;
    rb_gcp_label_fingerprint(i, current);
    if (strcmp(current, fingerprint) != 0)
        return rb_gcp_refuse(call, 412, "conditionNotMet",
                             "Labels fingerprint either invalid or resource labels have changed");
    rb_cloud_replace_tags(call->cloud, rb_cloud_instance(call->cloud, i->ordinal), labels, n);
    i->label_version++;
    rb_gcp_write_operation(call, rb_gcp_begin_operation(call, RB_GCP_SET_LABELS, i, request_id));
    return true;
}
