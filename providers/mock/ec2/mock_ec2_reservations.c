// DescribeCapacityReservations, of On-Demand Capacity Reservations and of Capacity Blocks. Nothing is reserved here: the
// cloud file says what there is.
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/mock/ec2/mock_ec2_xml.h"

#include <string.h>

static bool is_in_region(const struct rb_mock_call *call, const struct rb_cloud_reserved *r)
{
    return rb_cloud_region_has_zone(rb_cloud_regions_find(rb_cloud_regions(call->cloud), call->region), r->zone);
}

static const char *state_of(const struct rb_mock_call *call, const struct rb_cloud_reserved *r)
{
    const int64_t age_us = call->now_us - rb_cloud_config_of(call->cloud)->epoch_us;
    return age_us < r->start_us ? "scheduled" : age_us < r->end_us ? "active" : "expired";
}

static void write_reservation(struct rb_mock_call *call, const struct rb_cloud_reserved *r)
{
    const int64_t epoch_us = rb_cloud_config_of(call->cloud)->epoch_us;
    const char *state = state_of(call, r);
    const bool is_active = strcmp(state, "active") == 0;
    rb_mock_xml_open(call->out, "item");
    rb_mock_xml_put(call->out,
                    "capacityReservationId:%s ownerId:%s instanceType:%s instancePlatform:'Linux/UNIX' "
                    "availabilityZone:%s tenancy:default totalInstanceCount:%d availableInstanceCount:%d "
                    "ebsOptimized:false ephemeralStorage:false state:%s startDate@%jd createDate@%jd "
                    "endDateType:%s instanceMatchCriteria:%s reservationType:%s tagSet/",
                    r->id, RB_MOCK_ACCOUNT, r->instance_type, r->zone, r->count,
                    is_active ? rb_cloud_reserved_room(call->cloud, r, call->now_us) : 0, state, epoch_us + r->start_us,
                    epoch_us, r->end_us < INT64_MAX ? "limited" : "unlimited", r->is_open ? "open" : "targeted",
                    r->is_block ? "capacity-block" : "default");
    if (r->end_us < INT64_MAX)
        rb_mock_xml_put(call->out, "endDate@%jd", epoch_us + r->end_us);
    rb_mock_xml_close(call->out, "item");
}

static bool check_known(struct rb_mock_call *call, const char *const *ids, int n)
{
    for (int i = 0; i < n; i++) {
        const struct rb_cloud_reserved *r =
            rb_cloud_reserved_find(&rb_cloud_config_of(call->cloud)->reserved, ids[i]);
        if (!rb_mock_well_formed_id(ids[i], "cr-"))
            return rb_mock_refuse(call, 400, "InvalidCapacityReservationId.Malformed", "Invalid id: \"%.60s\"", ids[i]);
        if (!r || !is_in_region(call, r))
            return rb_mock_refuse(call, 400, "InvalidCapacityReservationId.NotFound",
                                  "The capacity reservation ID '%.40s' does not exist", ids[i]);
    }
    return true;
}

bool rb_mock_describe_capacity_reservations(struct rb_mock_call *call)
{
    static const char *const known[] = {"availability-zone",       "instance-match-criteria", "instance-platform",
                                        "instance-type",           "owner-id",                "state",
                                        "tenancy",                 NULL};
    const struct rb_cloud_reserved_list *all = &rb_cloud_config_of(call->cloud)->reserved;
    struct rb_mock_filters filters;
    struct rb_mock_page page;
    const char *const *ids;
    const int n_ids = rb_form_list(call->form, "CapacityReservationId", call->arena, &ids);
    if (!rb_mock_read_filters(call, known, &filters) || !rb_mock_read_page(call, 1, 1000, &page) ||
        !rb_mock_call_checked(call) || !check_known(call, ids, n_ids))
        return false;
    rb_mock_xml_open(call->out, "capacityReservationSet");
    for (int i = 0; i < all->n; i++) {
        const struct rb_cloud_reserved *r = &all->items[i];
        const struct rb_mock_fact facts[] = {{"availability-zone", r->zone},
                                             {"instance-match-criteria", r->is_open ? "open" : "targeted"},
                                             {"instance-platform", "Linux/UNIX"},
                                             {"instance-type", r->instance_type},
                                             {"owner-id", RB_MOCK_ACCOUNT},
                                             {"state", state_of(call, r)},
                                             {"tenancy", "default"},
                                             {0}};
        if (is_in_region(call, r) && rb_mock_is_among(r->id, ids, n_ids) &&
            rb_mock_filters_match(&filters, facts, NULL, 0) && rb_mock_page_take(&page, i))
            write_reservation(call, r);
    }
    rb_mock_xml_close(call->out, "capacityReservationSet");
    rb_mock_write_next_token(call, &page);
    return true;
}
