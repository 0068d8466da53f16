// The account's reserved capacity in a mock cloud. Part of rb-mock/1.
//
//   reservations: # by the cloud's age; EC2 ends a Capacity Block's instances half an hour before its end
//     - {id: cr-0123456789abcdef0, zone: us-east-1a, instance_type: g5.xlarge, count: 4, start_after_s: 0,
//        end_after_s: 7200, match: targeted, capacity_block: false}
#ifndef RB_PROVIDERS_MOCK_CLOUD_RESERVED_H
#define RB_PROVIDERS_MOCK_CLOUD_RESERVED_H

#include "base/arena.h"
#include "base/document/doc.h"

struct rb_cloud_reserved {
    const char *id, *zone, *instance_type;
    int count;
    bool is_block, is_open;       // open: launches that name no reservation may run in it
    int64_t start_us, end_us;     // of the cloud's age; end_us INT64_MAX: none
};

struct rb_cloud_reserved_list {
    const struct rb_cloud_reserved *items;
    int n;
};

// list NULL: none. Errors: INVALID with file, line and key.
bool rb_cloud_reserved_read(const struct rb_node *list, struct rb_arena *arena, struct rb_cloud_reserved_list *out,
                            struct rb_err *err);
const struct rb_cloud_reserved *rb_cloud_reserved_find(const struct rb_cloud_reserved_list *all, const char *id);
// Until then instances may be in it; INT64_MAX: for ever.
int64_t rb_cloud_reserved_until_us(const struct rb_cloud_reserved *r);

#endif
