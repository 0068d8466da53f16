// Availability: capacity, pools over time, quotas, token buckets.
#include "base/limits.h"
#include "providers/mock/cloud/cloud_state.h"

#include <string.h>

// A machine in use: counted by capacity, pools and quotas. A stopped one has given its place back.
static bool is_in_use(const struct rb_cloud_instance *i)
{
    return i->state != RB_CLOUD_STOPPED && i->state != RB_CLOUD_TERMINATED;
}

// Reserved machines are set aside from all others.
static bool is_taken_from_all(const struct rb_cloud_instance *i)
{
    return is_in_use(i) && !i->reserved;
}

int rb_cloud_reserved_room(const struct rb_cloud *c, const struct rb_cloud_reserved *r, int64_t now_us)
{
    const int64_t age_us = now_us - c->config->epoch_us;
    int room = r->count;
    for (int a = 0; a < c->n_active; a++) {
        const struct rb_cloud_instance *i = c->instances[c->active[a]];
        room -= is_in_use(i) && i->reserved == r;
    }
    return age_us >= r->start_us && age_us < rb_cloud_reserved_until_us(r) && room > 0 ? room : 0;
}

// --- capacity and pools ---

static bool pool_holds(const struct rb_cloud_pool *p, const struct rb_offer *o, const char *zone)
{
    return rb_cloud_scope_holds(&p->scope, o) && (!p->zone || strcmp(p->zone, zone) == 0);
}

static int used_of_pool(const struct rb_cloud *c, const struct rb_cloud_pool *p)
{
    int used = 0;
    for (int a = 0; a < c->n_active; a++) {
        const struct rb_cloud_instance *i = c->instances[c->active[a]];
        used += is_taken_from_all(i) && pool_holds(p, i->offer, i->zone);
    }
    return used;
}

static int used_of_type(const struct rb_cloud *c, const char *instance_type)
{
    int used = 0;
    for (int a = 0; a < c->n_active; a++) {
        const struct rb_cloud_instance *i = c->instances[c->active[a]];
        used += is_taken_from_all(i) && strcmp(i->offer->instance_type, instance_type) == 0;
    }
    return used;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

int rb_cloud_room(const struct rb_cloud *c, const struct rb_offer *offer, const char *zone, int64_t now_us)
{
    int room = RB_LIMIT_NODES;
    for (int k = 0; k < c->config->n_capacity; k++)
        if (strcmp(c->config->capacity[k].instance_type, offer->instance_type) == 0)
            room = smaller(room, c->config->capacity[k].max - used_of_type(c, offer->instance_type));
    const struct rb_cloud_limits *l = &c->config->limits;
    for (int k = 0; k < l->n_pools; k++) {
        const struct rb_cloud_pool *p = &l->pools[k];
        const int up = rb_capacity_at(p->steps, p->n_steps, now_us - c->config->epoch_us);
        if (up >= 0 && pool_holds(p, offer, zone))
            room = smaller(room, up - used_of_pool(c, p));
    }
    return room > 0 ? room : 0;
}

struct rb_price_path rb_cloud_prices(const struct rb_cloud_config *config, const struct rb_offer *offer, const char *zone)
{
    const struct rb_cloud_limits *l = &config->limits;
    for (int k = 0; k < l->n_pools; k++) {
        const struct rb_cloud_pool *p = &l->pools[k];
        if (pool_holds(p, offer, zone) && rb_capacity_has_prices(p->steps, p->n_steps))
            return (struct rb_price_path){p->steps, p->n_steps, -config->epoch_us};
    }
    return (struct rb_price_path){0};
}

int64_t rb_cloud_next_pool_us(const struct rb_cloud *c)
{
    const struct rb_cloud_limits *l = &c->config->limits;
    const int64_t taken_us = c->pools_us - c->config->epoch_us;
    int64_t next_us = INT64_MAX;
    for (int k = 0; k < l->n_pools; k++) {
        const int64_t at_us = rb_capacity_next_us(l->pools[k].steps, l->pools[k].n_steps, taken_us);
        next_us = at_us < next_us ? at_us : next_us;
    }
    return next_us == INT64_MAX ? INT64_MAX : c->config->epoch_us + next_us;
}

// Takes back the youngest spot instances that the pool has no machine for any more; each gets its notice first.
static void shrink(struct rb_cloud *c, const struct rb_cloud_pool *p, int max, int64_t at_us)
{
    int excess = used_of_pool(c, p) - max;
    for (int a = c->n_active - 1; a >= 0 && excess > 0; a--) {
        struct rb_cloud_instance *i = c->instances[c->active[a]];
        bool lives = i->state == RB_CLOUD_PENDING || i->state == RB_CLOUD_RUNNING;
        if (!lives || i->offer->market != RB_MARKET_SPOT || !pool_holds(p, i->offer, i->zone))
            continue;
        int64_t taken_us = at_us + rb_spot_notice_us(i->offer->infra);
        if (taken_us < i->plan.due_us[RB_CLOUD_DUE_TAKEN])
            i->plan.due_us[RB_CLOUD_DUE_TAKEN] = taken_us;
        excess--;
    }
}

void rb_cloud_take_pool_steps(struct rb_cloud *c, int64_t at_us)
{
    const struct rb_cloud_limits *l = &c->config->limits;
    for (int k = 0; k < l->n_pools; k++)
        for (int s = 0; s < l->pools[k].n_steps; s++)
            if (c->config->epoch_us + l->pools[k].steps[s].at_us == at_us)
                shrink(c, &l->pools[k], l->pools[k].steps[s].up, at_us);
    c->pools_us = at_us;
    rb_cloud_changed(c);
}

// --- quotas ---

static bool is_same_place(const struct rb_cloud_quota *q, const struct rb_cloud_instance *i, const char *region)
{
    return q->all_regions || strcmp(i->region, region) == 0;
}

int64_t rb_cloud_quota_used(const struct rb_cloud *c, const struct rb_cloud_quota *q, const char *region)
{
    int64_t used = 0;
    for (int a = 0; a < c->n_active; a++) {
        const struct rb_cloud_instance *i = c->instances[c->active[a]];
        if (is_in_use(i) && is_same_place(q, i, region) && rb_cloud_scope_holds(&q->scope, i->offer))
            used += rb_cloud_units_of(i->offer, q->unit);
    }
    return used;
}

const struct rb_cloud_quota *rb_cloud_quota_exceeded(const struct rb_cloud *c, const struct rb_cloud_launch *l)
{
    const struct rb_offer *offer = rb_cloud_offer(&c->config->catalog, l->region, l->zone, l->instance_type, l->market);
    for (int k = 0; offer && k < c->config->limits.n_quotas; k++) {
        const struct rb_cloud_quota *q = &c->config->limits.quotas[k];
        int64_t wanted = l->min_count * rb_cloud_units_of(offer, q->unit);
        if (rb_cloud_scope_holds(&q->scope, offer) && wanted > 0 &&
            rb_cloud_quota_used(c, q, l->region) + wanted > q->max)
            return q;
    }
    return NULL;
}

// --- token buckets ---

bool rb_cloud_admit(struct rb_cloud *c, const char *region, const char *action, int64_t now_us)
{
    const struct rb_cloud_limits *l = &c->config->limits;
    const struct rb_cloud_region *r = rb_cloud_regions_find(&c->regions, region);
    bool admitted = true;
    for (int k = 0; k < l->n_buckets; k++) {
        const struct rb_cloud_bucket *b = &l->buckets[k];
        if (strcmp(b->action, action) != 0 && strcmp(b->action, "*") != 0)
            continue;
        int at = k * c->regions.n + (int)(r - c->regions.regions);
        double *level = &c->bucket_levels[at], gained_s = (double)(now_us - c->bucket_times_us[at]) / RB_US_PER_S;
        *level = *level + gained_s * b->per_s < b->burst ? *level + gained_s * b->per_s : b->burst;
        c->bucket_times_us[at] = now_us;
        admitted &= *level >= 1;
        *level -= *level >= 1;
    }
    return admitted;
}
