#include "providers/mock/cloud/cloud_reserved.h"

#include "base/limits.h"
#include "base/text/units.h"
#include "profiles/catalog/reservation.h"
#include "profiles/job/keys.h"

#include <string.h>

#define MAX_RESERVED 256
#define MAX_AGE_S    1e9

static bool read_one(const struct rb_node *node, struct rb_arena *arena, struct rb_cloud_reserved *out,
                     struct rb_err *err)
{
    static const char *const keys[] = {"id",          "zone",  "instance_type",  "count", "start_after_s",
                                       "end_after_s", "match", "capacity_block", NULL};
    static const char *const matches[] = {"targeted", "open"};
    struct rb_cloud_reserved r = {.end_us = INT64_MAX};
    struct rb_map m;
    double start_s, end_s;
    int match;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_keys_need_text(&m, "id", arena, &r.id, err) ||
        !rb_keys_need_text(&m, "zone", arena, &r.zone, err) ||
        !rb_keys_need_text(&m, "instance_type", arena, &r.instance_type, err) ||
        !rb_map_need_count(&m, "count", 1, RB_LIMIT_NODES, &r.count, err) ||
        !rb_keys_double(&m, "start_after_s", 0, MAX_AGE_S, 0, &start_s, err) ||
        !rb_keys_double(&m, "end_after_s", 0, MAX_AGE_S, MAX_AGE_S, &end_s, err) ||
        !rb_keys_choice(&m, "match", matches, 2, 0, &match, err))
        return false;
    const struct rb_node *block = rb_keys_given(&m, "capacity_block");
    if (block && !rb_node_bool(block, &r.is_block, err))
        return false;
    r.is_open = match == 1;
    r.start_us = rb_us_from_seconds(start_s);
    if (rb_keys_given(&m, "end_after_s"))
        r.end_us = rb_us_from_seconds(end_s);
    if (r.end_us <= r.start_us)
        return rb_node_refuse(rb_map_get(&m, "end_after_s"), err, RB_E_ORDER, "a reservation must end after it starts");
    *out = r;
    return true;
}

bool rb_cloud_reserved_read(const struct rb_node *list, struct rb_arena *arena, struct rb_cloud_reserved_list *out,
                            struct rb_err *err)
{
    if (!list)
        return true;
    if (!rb_node_list_of(list, MAX_RESERVED, "entries", err))
        return false;
    struct rb_cloud_reserved *items = rb_arena_array(arena, (size_t)list->n_children, sizeof *items);
    for (const struct rb_node *item = list->first; item; item = item->next)
        if (!read_one(item, arena, &items[out->n++], err))
            return false;
    out->items = items;
    return true;
}

const struct rb_cloud_reserved *rb_cloud_reserved_find(const struct rb_cloud_reserved_list *all, const char *id)
{
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->items[i].id, id) == 0)
            return &all->items[i];
    return NULL;
}

int64_t rb_cloud_reserved_until_us(const struct rb_cloud_reserved *r)
{
    return r->is_block && r->end_us < INT64_MAX ? r->end_us - RB_RESERVATION_BLOCK_ENDS_US : r->end_us;
}
