// disks: get, list, aggregatedList. There are boot disks only, each called as its instance, with which it is made and
// ends.
#include "providers/mock/gcp/mock_gcp_call.h"

#include <inttypes.h>
#include <string.h>

static const char *const disk_fields[] = {"name", "status", "zone", "id", NULL};

static const char *disk_field(const void *item, const char *field, const void *context)
{
    const struct rb_mock_gcp_call *call = context;
    const struct rb_mock_gcp_instance *i = item;
    if (strcmp(field, "name") == 0)
        return i->name;
    if (strcmp(field, "status") == 0)
        return "READY";
    if (strcmp(field, "id") == 0)
        return rb_arena_printf(call->arena, "%" PRIu64, i->id ^ 1);
    return rb_arena_printf(call->arena, RB_GCP_LINK "projects/%s/zones/%s", call->project, i->zone);
}

static void write_disk(struct rb_mock_gcp_call *call, const char *zone, const void *instance)
{
    const struct rb_mock_gcp_instance *i = instance;
    rb_json_put(&call->json,
                "{kind: 'compute#disk', id: '%ju', creationTimestamp: %s, name: %s, sizeGb: '%jd', zone: %s,"
                "status: 'READY', sourceImage: '" RB_GCP_LINK "%s', type: %s, users: [%s], selfLink: %s}",
                i->id ^ 1, rb_gcp_instant(call, i->inserted_us), i->name, rb_gcp_disk_gb(i),
                rb_gcp_link(call, "/zones/%s", zone), i->source_image,
                rb_gcp_link(call, "/zones/%s/diskTypes/%s", zone, i->disk_type),
                rb_gcp_link(call, "/zones/%s/instances/%s", zone, i->name),
                rb_gcp_link(call, "/zones/%s/disks/%s", zone, i->name));
}

static const void *disk_at(struct rb_mock_gcp_call *call, const char *zone, int k)
{
    const struct rb_mock_gcp_instance *i = &call->gcp->instances[k];
    return strcmp(i->zone, zone) == 0 && i->ordinal >= 0 && rb_gcp_instance_exists(call->gcp, i, call->now_us) ? i
                                                                                                               : NULL;
}

const struct rb_gcp_collection rb_gcp_disks = {"disks", "disk",    disk_fields, disk_field, rb_gcp_count_instances,
                                               disk_at, write_disk};

bool rb_gcp_disk_get(struct rb_mock_gcp_call *call)
{
    const struct rb_mock_gcp_instance *i = rb_gcp_checked(call) ? rb_gcp_need_machine(call, "disks") : NULL;
    if (i)
        write_disk(call, call->zone, i);
    return i != NULL;
}
