// Reads the limits of rb-mock/1.
#include "providers/mock/cloud/cloud_limits.h"
#include "base/limits.h"
#include "profiles/catalog/infra.h"
#include "providers/mock/ec2/glob.h"

#include <math.h>
#include <string.h>

#define MAX_LIMITS 256
#define MAX_AGE_S  1e9
#define MAX_UNITS  1000000000

bool rb_cloud_scope_holds(const struct rb_cloud_scope *s, const struct rb_offer *o)
{
    // mock/REGION is another name of aws/REGION.
    bool infra =
        rb_infra_within(o->infra, s->infra) || (strcmp(s->infra, "aws") == 0 && strncmp(o->infra, "mock/", 5) == 0);
    return infra && rb_mock_glob(s->instance_type, o->instance_type) && (s->any_market || s->market == o->market);
}

int64_t rb_cloud_units_of(const struct rb_offer *o, enum rb_cloud_unit unit)
{
    switch (unit) {
    case RB_CLOUD_VCPUS:
        return (int64_t)llround(o->vcpus);
    case RB_CLOUD_GPUS:
        return strcmp(o->accelerator, "CPU") == 0 ? 0 : o->gpus;
    case RB_CLOUD_INSTANCES:
        break;
    }
    return 1;
}

static bool get_text(struct rb_map *m, const char *key, const char *fallback, struct rb_arena *arena, const char **out,
                     struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, key);
    const char *text = fallback;
    if (node && !rb_node_string(node, &text, err))
        return false;
    *out = text ? rb_arena_strdup(arena, text) : NULL;
    return true;
}

static bool read_scope(struct rb_map *m, struct rb_arena *arena, struct rb_cloud_scope *out, struct rb_err *err)
{
    static const char *const markets[] = {"on_demand", "spot", "*"};
    const struct rb_node *market = rb_map_get(m, "market");
    int which = 2;
    if (!get_text(m, "infra", "*", arena, &out->infra, err) ||
        !get_text(m, "instance_type", "*", arena, &out->instance_type, err) ||
        (market && !rb_node_choice(market, markets, 3, &which, err)))
        return false;
    out->any_market = which == 2;
    out->market = which == 1 ? RB_MARKET_SPOT : RB_MARKET_ON_DEMAND;
    return true;
}

static bool read_quota(const struct rb_node *node, struct rb_arena *arena, void *out, struct rb_err *err)
{
    static const char *const units[] = {"instances", "vcpus", "gpus"};
    struct rb_cloud_quota *q = out;
    struct rb_map m;
    const struct rb_node *name, *unit, *max, *all;
    int which;
    if (!rb_map_begin(&m, node, err) || !rb_map_need(&m, "name", &name, err) ||
        !get_text(&m, "name", NULL, arena, &q->name, err) || !get_text(&m, "code", NULL, arena, &q->code, err) ||
        !read_scope(&m, arena, &q->scope, err) || !rb_map_need(&m, "unit", &unit, err) ||
        !rb_node_choice(unit, units, 3, &which, err) || !rb_map_need(&m, "max", &max, err) ||
        !rb_node_int(max, 0, MAX_UNITS, &q->max, err))
        return false;
    q->unit = (enum rb_cloud_unit)which;
    all = rb_map_get(&m, "all_regions");
    return (!all || rb_node_bool(all, &q->all_regions, err)) && rb_map_end(&m, err);
}

static bool read_step(const struct rb_node *node, struct rb_arena *arena, void *out, struct rb_err *err)
{
    (void)arena;
    struct rb_cloud_pool_step *s = out;
    struct rb_map m;
    const struct rb_node *after, *max;
    double after_s;
    int64_t n;
    if (!rb_map_begin(&m, node, err) || !rb_map_need(&m, "after_s", &after, err) ||
        !rb_node_double(after, 0, MAX_AGE_S, &after_s, err) || !rb_map_need(&m, "max", &max, err) ||
        !rb_node_int(max, 0, RB_LIMIT_NODES, &n, err) || !rb_map_end(&m, err))
        return false;
    *s = (struct rb_cloud_pool_step){rb_us_from_seconds(after_s), (int)n};
    return true;
}

// Reads each element of a list into an array of `size` bytes each.
static bool read_list(const struct rb_node *list, size_t size,
                      bool (*read)(const struct rb_node *, struct rb_arena *, void *, struct rb_err *),
                      struct rb_arena *arena, void *out_list, int *out_n, struct rb_err *err)
{
    char *items;
    int n = 0;
    if (!list)
        return true;
    if (!rb_node_list(list, err))
        return false;
    if (list->n_children > MAX_LIMITS)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected at most %d entries, got %d", MAX_LIMITS,
                              list->n_children);
    items = rb_arena_array(arena, (size_t)list->n_children + 1, size);
    for (const struct rb_node *child = list->first; child; child = child->next)
        if (!read(child, arena, items + (size_t)n++ * size, err))
            return false;
    memcpy(out_list, &items, sizeof items);
    *out_n = n;
    return true;
}

static bool read_pool(const struct rb_node *node, struct rb_arena *arena, void *out, struct rb_err *err)
{
    struct rb_cloud_pool *p = out;
    struct rb_map m;
    const struct rb_node *steps;
    if (!rb_map_begin(&m, node, err) || !read_scope(&m, arena, &p->scope, err) ||
        !get_text(&m, "zone", NULL, arena, &p->zone, err) || !rb_map_need(&m, "steps", &steps, err) ||
        !read_list(steps, sizeof *p->steps, read_step, arena, &p->steps, &p->n_steps, err))
        return false;
    for (int k = 1; k < p->n_steps; k++)
        if (p->steps[k].after_us <= p->steps[k - 1].after_us)
            return rb_node_refuse(steps, err, RB_E_ORDER, "steps must come in the order of their after_s");
    return rb_map_end(&m, err);
}

static bool read_bucket(const struct rb_node *node, struct rb_arena *arena, void *out, struct rb_err *err)
{
    struct rb_cloud_bucket *b = out;
    struct rb_map m;
    const struct rb_node *action, *burst, *per_s;
    return rb_map_begin(&m, node, err) && rb_map_need(&m, "action", &action, err) &&
           get_text(&m, "action", NULL, arena, &b->action, err) && rb_map_need(&m, "burst", &burst, err) &&
           rb_node_double(burst, 1, MAX_UNITS, &b->burst, err) && rb_map_need(&m, "per_s", &per_s, err) &&
           rb_node_double(per_s, 0, MAX_UNITS, &b->per_s, err) && rb_map_end(&m, err);
}

bool rb_cloud_limits_read(const struct rb_node *quotas, const struct rb_node *pools, const struct rb_node *throttle,
                          struct rb_arena *arena, struct rb_cloud_limits *out, struct rb_err *err)
{
    struct rb_cloud_limits l = {0};
    if (!read_list(quotas, sizeof *l.quotas, read_quota, arena, &l.quotas, &l.n_quotas, err) ||
        !read_list(pools, sizeof *l.pools, read_pool, arena, &l.pools, &l.n_pools, err) ||
        !read_list(throttle, sizeof *l.buckets, read_bucket, arena, &l.buckets, &l.n_buckets, err))
        return false;
    *out = l;
    return true;
}
