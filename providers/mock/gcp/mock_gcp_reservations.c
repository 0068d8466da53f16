// reservations: list, aggregatedList and get. None can be made here: the cloud file says what there is.
#include "providers/mock/gcp/mock_gcp_call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct rb_cloud_reserved_list *all_of(struct rb_mock_gcp_call *call)
{
    return &rb_cloud_config_of(call->cloud)->reserved;
}

static int count_reserved(struct rb_mock_gcp_call *call)
{
    return all_of(call)->n;
}

// Compute Engine deletes a reservation at its end.
static const void *reserved_at(struct rb_mock_gcp_call *call, const char *zone, int k)
{
    const struct rb_cloud_reserved *r = &all_of(call)->items[k];
    const int64_t age_us = call->now_us - rb_cloud_config_of(call->cloud)->epoch_us;
    return strcmp(r->zone, zone) == 0 && age_us >= r->start_us && age_us < r->end_us ? r : NULL;
}

// "n1-standard-8+nvidia-tesla-t4:2" is a machine type and what is attached to it.
static void write_machine(struct rb_mock_gcp_call *call, const char *zone, const char *instance_type)
{
    const char *plus = strchr(instance_type, '+'), *colon = plus ? strchr(plus, ':') : NULL;
    rb_json_put(&call->json, "instanceProperties: {machineType: %s",
                rb_arena_strndup(call->arena, instance_type, strcspn(instance_type, "+")));
    if (plus)
        rb_json_put(&call->json, "guestAccelerators: [{acceleratorType: %s, acceleratorCount: %d}]",
                    rb_gcp_link(call, "/zones/%s/acceleratorTypes/%.*s", zone, (int)strcspn(plus + 1, ":"), plus + 1),
                    colon ? atoi(colon + 1) : 1);
    rb_json_put(&call->json, "}");
}

static void write_reserved(struct rb_mock_gcp_call *call, const char *zone, const void *item)
{
    const struct rb_cloud_reserved *r = item;
    rb_gcp_begin_resource(call, "reservation", r->id);
    rb_json_put(&call->json,
                "zone: %s, status: 'READY', specificReservationRequired: %i,"
                "specificReservation: {count: '%d', inUseCount: '%d'",
                rb_gcp_link(call, "/zones/%s", zone), !r->is_open, r->count,
                r->count - rb_cloud_reserved_room(call->cloud, r, call->now_us));
    write_machine(call, zone, r->instance_type);
    rb_json_put(&call->json, "}");
    if (r->end_us < INT64_MAX)
        rb_json_kstring(&call->json, "deleteAtTime",
                        rb_gcp_instant(call, rb_cloud_config_of(call->cloud)->epoch_us + r->end_us));
    rb_json_put(&call->json, "selfLink: %s}", rb_gcp_link(call, "/zones/%s/reservations/%s", zone, r->id));
}

static const char *const fields[] = {"name", "status", NULL};

static const char *field_of(const void *item, const char *field, const void *context)
{
    const struct rb_cloud_reserved *r = item;
    (void)context;
    return strcmp(field, "name") == 0 ? r->id : "READY";
}

const struct rb_gcp_collection rb_gcp_reservations = {"reservations", "reservation", fields, field_of, count_reserved,
                                                      reserved_at, write_reserved};
