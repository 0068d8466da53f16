#include "engine/plan/plan_read.h"

#include "base/limits.h"
#include "profiles/catalog/infra.h"
#include "profiles/catalog/reservation.h"

#include <string.h>

#define MAX_UUSD_PER_H INT64_C(1000000000000) // a million dollars an hour: more is a typing error

// What names an offer within a plan.
static bool need_offer_name(struct rb_map *m, struct rb_offer *out, const char **reservation, struct rb_err *err)
{
    static const char *const markets[] = {"on_demand", "spot", "reserved"};
    const struct rb_node *infra, *type, *market, *id;
    int which;
    if (!rb_map_need(m, "infra", &infra, err) || !rb_node_string(infra, &out->infra, err) ||
        !rb_map_need(m, "instance_type", &type, err) || !rb_node_string(type, &out->instance_type, err) ||
        !rb_map_need(m, "market", &market, err) || !rb_node_choice(market, markets, 3, &which, err))
        return false;
    out->market = (enum rb_market)which;
    *reservation = NULL;
    return out->market != RB_MARKET_RESERVED ||
           (rb_map_need(m, "reservation", &id, err) && rb_node_string(id, reservation, err));
}

static int find_offer(const struct rb_plan *plan, const struct rb_offer *name, const char *reservation)
{
    for (int i = 0; i < plan->n_offers; i++) {
        const struct rb_offer *o = &plan->offers[i];
        if (strcmp(o->infra, name->infra) == 0 && strcmp(o->instance_type, name->instance_type) == 0 &&
            o->market == name->market && (!reservation || strcmp(o->reservation->id, reservation) == 0))
            return i;
    }
    return -1;
}

bool rb_plan_need_offer(struct rb_map *m, const struct rb_plan *plan, int *out, struct rb_err *err)
{
    struct rb_offer name = {0};
    const char *reservation;
    if (!need_offer_name(m, &name, &reservation, err))
        return false;
    const int offer = find_offer(plan, &name, reservation);
    if (offer < 0)
        return rb_node_refuse(m->node, err, RB_E_PLAN_OFFERS, "%.60s %.60s %s is not among the plan's prices",
                              name.infra, name.instance_type, rb_market_name(name.market));
    *out = offer;
    return true;
}

// Only if nodes are free.
static int64_t least_rate(const char *infra)
{
    return rb_infra_may_be_free(infra) ? 0 : 1;
}

static bool read_rate(struct rb_map *m, struct rb_offer *o, struct rb_err *err)
{
    const int64_t least = o->market == RB_MARKET_RESERVED ? 0 : least_rate(o->infra);
    if (!rb_map_need_int(m, "uusd_per_hour", least, MAX_UUSD_PER_H, &o->rate.uusd_per_hour, err))
        return false;
    o->declared_free = o->rate.uusd_per_hour == 0;
    return true;
}

static bool read_fetched_at(struct rb_map *m, int64_t *out_us, struct rb_err *err)
{
    const struct rb_node *node;
    if (!rb_map_need(m, "fetched_at", &node, err))
        return false;
    if (node->kind != RB_NODE_NULL)
        return rb_plan_read_instant(node, out_us, err);
    *out_us = -1;
    return true;
}

// One of the plan's job, with the window that the plan was made for.
static bool read_reservation(struct rb_map *m, const char *id, struct rb_arena *arena, const struct rb_plan *plan,
                             struct rb_offer *o, struct rb_err *err)
{
    const struct rb_resources *job = &plan->job->resources;
    const struct rb_node *closes;
    if (!id)
        return true;
    const struct rb_reservation *of_job = NULL;
    for (int i = 0; i < job->n_reservations; i++)
        if (strcmp(job->reservations[i].id, id) == 0 && strcmp(job->reservations[i].infra, o->infra) == 0 &&
            strcmp(job->reservations[i].instance_type, o->instance_type) == 0)
            of_job = &job->reservations[i];
    if (!of_job)
        return rb_node_refuse(m->node, err, RB_E_PLAN_OFFERS, "%.60s is not among the job's reservations of %.60s %.60s",
                              id, o->infra, o->instance_type);
    struct rb_reservation *r = o->reservation = rb_arena_alloc(arena, sizeof *r);
    *r = *of_job;
    if (!rb_map_need_int(m, "opens_us", 0, INT64_MAX, &r->opens_us, err) || !rb_map_need(m, "closes_us", &closes, err))
        return false;
    r->closes_us = -1;
    return closes->kind == RB_NODE_NULL || rb_node_int(closes, 0, INT64_MAX, &r->closes_us, err);
}

static bool read_release(struct rb_map *m, int64_t *out_s, struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, "release_s");
    int64_t s = 0;
    if (node && !rb_node_int(node, 0, RB_LIMIT_RELEASE_S, &s, err))
        return false;
    *out_s = s;
    return true;
}

static bool read_price(const struct rb_node *node, struct rb_arena *arena, const struct rb_plan *plan,
                       struct rb_offer *out, struct rb_err *err)
{
    struct rb_map m;
    struct rb_offer o = {0};
    const char *reservation;
    struct rb_err why;
    if (!rb_map_begin(&m, node, err) || !need_offer_name(&m, &o, &reservation, err))
        return false;
    if (!rb_infra_check(o.infra, &why))
        return rb_node_refuse(node, err, rb_err_number(&why), "%s", why.message);
    if (find_offer(plan, &o, reservation) >= 0)
        return rb_node_refuse(node, err, RB_E_PLAN_OFFERS, "%.60s %.60s %s has a price already", o.infra,
                              o.instance_type, rb_market_name(o.market));
    o.infra = rb_arena_strdup(arena, o.infra);
    o.instance_type = rb_arena_strdup(arena, o.instance_type);
    if (!read_reservation(&m, reservation, arena, plan, &o, err))
        return false;
    if (!rb_plan_need_string(&m, "accelerator", arena, &o.accelerator, err) ||
        !rb_map_need_count(&m, "gpus", 1, RB_LIMIT_GPUS_PER_NODE, &o.gpus, err) || !read_rate(&m, &o, err) ||
        !rb_plan_need_string(&m, "source", arena, &o.source, err) || !read_fetched_at(&m, &o.fetched_at_us, err) ||
        !read_release(&m, &o.release_s, err) || !rb_map_end(&m, err))
        return false;
    *out = o;
    return true;
}

bool rb_plan_read_prices(const struct rb_node *list, struct rb_arena *arena, struct rb_plan *plan, struct rb_err *err)
{
    if (!rb_node_list(list, err))
        return false;
    if (list->n_children < 1 || list->n_children > RB_LIMIT_INSTANCE_TYPES)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected 1..%d entries, got %d", RB_LIMIT_INSTANCE_TYPES,
                              list->n_children);
    struct rb_offer *offers = rb_arena_array(arena, (size_t)list->n_children, sizeof *offers);
    plan->offers = offers;
    for (const struct rb_node *item = list->first; item; item = item->next) {
        if (!read_price(item, arena, plan, &offers[plan->n_offers], err))
            return false;
        plan->n_offers++;
    }
    return true;
}

static bool read_disk(const struct rb_node *node, struct rb_arena *arena, struct rb_disk_price *out, struct rb_err *err)
{
    struct rb_map m;
    struct rb_disk_price disk;
    if (!rb_map_begin(&m, node, err) || !rb_plan_need_string(&m, "infra", arena, &disk.infra, err) ||
        !rb_map_need_int(&m, "uusd_per_gb_hour", least_rate(disk.infra), MAX_UUSD_PER_H, &disk.per_gb.uusd_per_hour,
                         err) ||
        !rb_map_end(&m, err))
        return false;
    *out = disk;
    return true;
}

// Absent exactly if the job asks for no disk; else every offer's infra has a price.
bool rb_plan_read_disks(const struct rb_node *root, const struct rb_node *list, struct rb_arena *arena,
                        struct rb_plan *plan, struct rb_err *err)
{
    const bool wanted = plan->job->resources.disk_bytes > 0;
    if (!list)
        return !wanted || rb_node_refuse(root, err, RB_E_PLAN_OFFERS,
                                         "disks: missing, although the job asks for resources.disk_size");
    if (!rb_node_list(list, err))
        return false;
    if (!wanted)
        return rb_node_refuse(list, err, RB_E_PLAN_OFFERS,
                              "expected no disks: the job asks for no resources.disk_size");
    struct rb_catalog *c = rb_arena_alloc(arena, sizeof *c);
    c->disks = rb_arena_array(arena, (size_t)list->n_children, sizeof *c->disks);
    for (const struct rb_node *item = list->first; item; item = item->next) {
        if (!read_disk(item, arena, &c->disks[c->n_disks], err))
            return false;
        c->n_disks++;
    }
    for (int i = 0; i < plan->n_offers; i++) {
        struct rb_rate rate;
        if (!rb_catalog_disk_rate(c, plan->offers[i].infra, &rate, NULL))
            return rb_node_refuse(list, err, RB_E_PLAN_OFFERS, "no entry prices the disks of %s",
                                  plan->offers[i].infra);
    }
    plan->catalog = c;
    return true;
}

bool rb_plan_read_fallbacks(const struct rb_node *list, struct rb_arena *arena, struct rb_plan *plan,
                            struct rb_err *err)
{
    if (!rb_node_list(list, err))
        return false;
    int *fallbacks = rb_arena_array(arena, (size_t)list->n_children, sizeof *fallbacks);
    for (const struct rb_node *item = list->first; item; item = item->next) {
        struct rb_map m;
        if (!rb_map_begin(&m, item, err) || !rb_plan_need_offer(&m, plan, &fallbacks[plan->n_fallbacks], err) ||
            !rb_map_end(&m, err))
            return false;
        plan->n_fallbacks++;
    }
    plan->fallbacks = fallbacks;
    return true;
}
