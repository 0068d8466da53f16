// Reads the limits of rb-mock/1.
#include "providers/mock/cloud/cloud_limits.h"
#include "base/limits.h"
#include "profiles/catalog/infra.h"
#include "profiles/job/keys.h"
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
    struct rb_capacity_step *s = out;
    struct rb_map m;
    const struct rb_node *after, *max;
    double after_s;
    int64_t n, uusd_per_hour;
    if (!rb_map_begin(&m, node, err) || !rb_map_need(&m, "after_s", &after, err) ||
        !rb_node_double(after, 0, MAX_AGE_S, &after_s, err) || !rb_map_need(&m, "max", &max, err) ||
        !rb_node_int(max, 0, RB_LIMIT_NODES, &n, err) ||
        !rb_keys_money(&m, "usd_per_hour", 0, &uusd_per_hour, err) || !rb_map_end(&m, err))
        return false;
    *s = (struct rb_capacity_step){rb_us_from_seconds(after_s), (int)n, uusd_per_hour};
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
    if (!rb_node_list_of(list, MAX_LIMITS, "entries", err))
        return false;
    items = rb_arena_array(arena, (size_t)list->n_children + 1, size);
    for (const struct rb_node *child = list->first; child; child = child->next)
        if (!read(child, arena, items + (size_t)n++ * size, err))
            return false;
    memcpy(out_list, &items, sizeof items);
    *out_n = n;
    return true;
}

static bool check_prices(const struct rb_cloud_pool *p, const struct rb_node *steps, struct rb_err *err)
{
    bool any = false;
    for (int k = 0; k < p->n_steps; k++)
        any = any || p->steps[k].uusd_per_hour > 0;
    if (any && !rb_capacity_has_prices(p->steps, p->n_steps))
        return rb_node_refuse(steps, err, RB_E_POOL_PRICE, "expected usd_per_hour in every step or in none");
    return !any || (!p->scope.any_market && p->scope.market == RB_MARKET_SPOT) ||
           rb_node_refuse(steps, err, RB_E_POOL_PRICE,
                          "expected market: spot beside a usd_per_hour: other prices do not change");
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
        if (p->steps[k].at_us <= p->steps[k - 1].at_us)
            return rb_node_refuse(steps, err, RB_E_ORDER, "steps must come in the order of their after_s");
    return check_prices(p, steps, err) && rb_map_end(&m, err);
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

// --- a table of capacity

// A market as the cloud sees it whose clock begins at from_us of the table.
static struct rb_cloud_pool pool_of(const struct rb_capacity *c, int64_t from_us, struct rb_arena *arena)
{
    struct rb_capacity_step *steps = rb_arena_array(arena, (size_t)c->n_steps, sizeof *steps);
    int n = 0;
    for (int i = 0; i < c->n_steps; i++) {
        const int64_t at_us = c->steps[i].at_us - from_us;
        n -= n > 0 && at_us <= 0; // only the last step before the beginning counts
        steps[n++] = (struct rb_capacity_step){at_us > 0 ? at_us : 0, c->steps[i].up, c->steps[i].uusd_per_hour};
    }
    return (struct rb_cloud_pool){
        .scope = {.infra = "*", .instance_type = c->instance_type, .market = RB_MARKET_SPOT},
        .zone = c->zone,
        .steps = steps,
        .n_steps = n,
    };
}

static void add_pools(const struct rb_capacity_table *t, int64_t from_us, struct rb_arena *arena,
                      struct rb_cloud_limits *limits)
{
    struct rb_cloud_pool *pools = rb_arena_array(arena, (size_t)(limits->n_pools + t->n), sizeof *pools);
    for (int k = 0; k < limits->n_pools; k++)
        pools[k] = limits->pools[k];
    for (int k = 0; k < t->n; k++)
        pools[limits->n_pools + k] = pool_of(&t->markets[k], from_us, arena);
    limits->pools = pools;
    limits->n_pools += t->n;
}

bool rb_cloud_market_read(const struct rb_node *market, const char *directory, struct rb_arena *arena,
                          struct rb_cloud_limits *limits, struct rb_err *err)
{
    struct rb_capacity_table t;
    struct rb_map m;
    const struct rb_node *table;
    const char *path, *set;
    double from_s = 0;
    if (!market)
        return true;
    if (!rb_map_begin(&m, market, err) || !rb_map_need(&m, "table", &table, err) ||
        !rb_node_string(table, &path, err) || !get_text(&m, "set", NULL, arena, &set, err) ||
        !rb_keys_double(&m, "from_s", 0, MAX_AGE_S, 0, &from_s, err) || !rb_map_end(&m, err))
        return false;
    struct rb_csv csv;
    if (!rb_csv_read(&csv, path[0] == '/' || !directory ? path : rb_arena_printf(arena, "%s/%s", directory, path), err))
        return false;
    const bool ok = rb_capacity_from_csv(&csv, set, arena, &t, err);
    rb_csv_finish(&csv);
    if (ok)
        add_pools(&t, rb_us_from_seconds(from_s), arena, limits);
    return ok;
}
