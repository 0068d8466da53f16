// disks: get, list, aggregatedList. There are boot disks only, each called as its instance, with which it is made and ends.
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

static void write_disk(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    rb_json_begin_object(j);
    rb_json_kstring(j, "kind", "compute#disk");
    rb_gcp_kid(j, "id", i->id ^ 1);
    rb_gcp_kinstant(j, "creationTimestamp", i->inserted_us);
    rb_json_kstring(j, "name", i->name);
    rb_gcp_kid(j, "sizeGb", (uint64_t)rb_gcp_disk_gb(i));
    rb_gcp_klink(call, "zone", "/zones/%s", i->zone);
    rb_json_kstring(j, "status", "READY");
    rb_json_kstring(j, "sourceImage", rb_arena_printf(call->arena, RB_GCP_LINK "%s", i->source_image));
    rb_gcp_klink(call, "type", "/zones/%s/diskTypes/%s", i->zone, i->disk_type);
    rb_json_key(j, "users");
    rb_json_begin_array(j);
    rb_json_string(j, rb_arena_printf(call->arena, RB_GCP_LINK "projects/%s/zones/%s/instances/%s", call->project,
                                      i->zone, i->name));
    rb_json_end_array(j);
    rb_gcp_klink(call, "selfLink", "/zones/%s/disks/%s", i->zone, i->name);
    rb_json_end_object(j);
}

static int visit_disks(struct rb_mock_gcp_call *call, const char *zone, int64_t first, struct rb_gcp_page *p,
                       bool write)
{
    int n = 0;
    for (int k = 0; k < call->gcp->n_instances; k++) {
        const struct rb_mock_gcp_instance *i = &call->gcp->instances[k];
        if (strcmp(i->zone, zone) != 0 || i->ordinal < 0 || !rb_gcp_instance_exists(call->gcp, i, call->now_us) ||
            !rb_gcp_page_take(p, first + k, i))
            continue;
        n++;
        if (write)
            write_disk(call, i);
    }
    return n;
}

bool rb_gcp_disks_list(struct rb_mock_gcp_call *call)
{
    struct rb_gcp_page page;
    if (!rb_gcp_read_page(call, disk_fields, disk_field, &page))
        return false;
    rb_gcp_begin_list(call, "compute#diskList");
    rb_json_key(&call->json, "items");
    rb_json_begin_array(&call->json);
    visit_disks(call, call->zone, 0, &page, true);
    rb_json_end_array(&call->json);
    rb_gcp_end_list(call, &page);
    return true;
}

bool rb_gcp_disks_aggregated(struct rb_mock_gcp_call *call)
{
    struct rb_gcp_page page;
    return rb_gcp_read_page(call, disk_fields, disk_field, &page) &&
           rb_gcp_aggregated(call, "compute#diskAggregatedList", "disks", &page, visit_disks);
}

bool rb_gcp_disk_get(struct rb_mock_gcp_call *call)
{
    if (!rb_gcp_checked(call))
        return false;
    const struct rb_mock_gcp_instance *i = rb_gcp_find_instance(call, call->zone, call->name);
    if (!i || i->ordinal < 0)
        return rb_gcp_not_found(call, "disks", call->name);
    write_disk(call, i);
    return true;
}
