// The state that cloud.c (time), cloud_verbs.c (requests) and cloud_room.c (limits) share. No other file includes it.
#ifndef RB_PROVIDERS_MOCK_CLOUD_STATE_H
#define RB_PROVIDERS_MOCK_CLOUD_STATE_H

#include "providers/mock/cloud/cloud.h"

// Which of an instance's draws; the `stage` of its stream key.
enum rb_cloud_draw {
    RB_CLOUD_DRAW_QUEUE,
    RB_CLOUD_DRAW_INIT,
    RB_CLOUD_DRAW_CAPACITY,
    RB_CLOUD_DRAW_SHUTDOWN,
    RB_CLOUD_DRAW_ZONE,
    RB_CLOUD_DRAW_ID,
    RB_CLOUD_DRAW_VISIBLE,
    RB_CLOUD_DRAW_TAKEN,
};

struct rb_cloud_token {
    const char *name, *region, *zone, *fingerprint; // zone "": holds for the region
    struct rb_cloud_reservation reservation;
};

struct rb_cloud {
    const struct rb_cloud_config *config;
    struct rb_arena arena;
    struct rb_cloud_regions regions;
    struct rb_cloud_instance **instances; // [n_instances], by ordinal
    int n_instances, cap_instances;
    int *active;                          // ordinals of those not yet terminated, ascending
    int n_active, cap_active;
    struct rb_cloud_group **groups;       // [n_groups]
    int n_groups, cap_groups;
    struct rb_cloud_token *tokens;
    int n_tokens, cap_tokens;
    double *bucket_levels;                // [n_buckets][n_regions]
    int64_t *bucket_times_us;             // likewise: when the level was last looked at
    int64_t pools_us;                     // steps of pools up to here have been taken
    struct rb_chaos chaos;
    struct rb_cloud_order *orders;        // [n_orders], next_order is the first not yet handed out
    int n_orders, cap_orders, next_order;
    uint32_t n_fresh_ids;
    uint64_t version;
};

struct rb_stream rb_cloud_stream(const struct rb_cloud *c, enum rb_cloud_draw draw, int ordinal);
int64_t rb_cloud_draw_us(const struct rb_cloud *c, const struct rb_dist *d, enum rb_cloud_draw draw, int ordinal);
// Room for one more element after n of them.
void *rb_cloud_grown(void *array, int n, int *cap, size_t size);
void rb_cloud_changed(struct rb_cloud *c);
void rb_cloud_make_id(struct rb_cloud *c, const char *prefix, char out[static 20]); // "i-0123456789abcdef0"
const struct rb_cloud_tag *rb_cloud_copy_tags(struct rb_cloud *c, const struct rb_cloud_tag *tags, int n);

// The number of further machines of the offer in the zone; RB_LIMIT_NODES where nothing bounds them.
int rb_cloud_room(const struct rb_cloud *c, const struct rb_offer *offer, const char *zone, int64_t now_us);
// The next instant at which a pool changes, INT64_MAX: never; and what follows from it.
int64_t rb_cloud_next_pool_us(const struct rb_cloud *c);
void rb_cloud_take_pool_steps(struct rb_cloud *c, int64_t at_us);
// Ends billing now; SHUTTING_DOWN or STOPPING until the node is gone.
void rb_cloud_begin_end(struct rb_cloud *c, struct rb_cloud_instance *i, enum rb_cloud_state state,
                        enum rb_cloud_cause cause, int64_t now_us);

#endif
