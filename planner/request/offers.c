// Determines which offers a job may use: applies the filters of `resources` to the catalogue, each with its own error
// if it removes the last offer.
#include "planner/search/planner.h"

#include "profiles/catalog/cpu_slots.h"
#include "profiles/catalog/infra.h"
#include "profiles/catalog/machine_names.h"
#include "profiles/catalog/reservation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct rb_place no_place = {NULL, 0, 0};

struct offer_list {
    struct rb_offer *items; // [cap]
    int n, cap;
    struct rb_arena *arena;
};

static bool listed(const struct rb_string_list *list, const char *item)
{
    if (list->n == 0)
        return true;
    for (int i = 0; i < list->n; i++) {
        if (strcmp(list->items[i], item) == 0)
            return true;
    }
    return false;
}

static void add_once(struct offer_list *list, const struct rb_offer *offer)
{
    for (int i = 0; i < list->n; i++) {
        if (rb_offer_compare(&list->items[i], offer) == 0)
            return;
    }
    if (list->n == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 64;
        struct rb_offer *items = rb_arena_array(list->arena, (size_t)list->cap, sizeof *items);
        if (list->n > 0)
            memcpy(items, list->items, (size_t)list->n * sizeof *items);
        list->items = items;
    }
    list->items[list->n++] = *offer;
}

// The region of "provider/region/zone"; NULL: it names no zone.
static const char *region_of(const char *infra, struct rb_arena *arena)
{
    const char *slash = strchr(infra, '/'), *second = slash ? strchr(slash + 1, '/') : NULL;
    return second ? rb_arena_strndup(arena, infra, (size_t)(second - infra)) : NULL;
}

// Offers within `source`, as offers of `provider` (NULL: its own). A zone has its region's prices unless it has its own
// rows.
static int add_within(const struct rb_catalog *catalog, const char *source, const char *provider,
                      struct rb_arena *arena, struct offer_list *list)
{
    const char *region = region_of(source, arena);
    int n = 0;
    for (int of_region = 0; of_region < (region ? 2 : 1); of_region++)
        for (int i = 0; i < catalog->n_offers; i++) {
            struct rb_offer o = catalog->offers[i];
            if (of_region ? strcmp(o.infra, region) != 0 : !rb_infra_within(o.infra, source))
                continue;
            if (of_region)
                o.infra = rb_arena_strdup(arena, source);
            if (provider)
                o.infra = rb_arena_printf(arena, "%s%s", provider, strchr(o.infra, '/'));
            add_once(list, &o);
            n++;
        }
    return n;
}

// mock/REGION is aws/REGION that refuses any endpoint but loopback: it has aws's prices unless it has its own.
static int add_mock_from_aws(const struct rb_catalog *catalog, const char *filter, struct rb_arena *arena,
                             struct offer_list *list)
{
    const char *place = filter + strlen("mock");
    return add_within(catalog, rb_arena_printf(arena, "aws%s", place), "mock", arena, list);
}

static bool add_infra(const struct rb_job *job, const struct rb_catalog *catalog, int position, struct rb_arena *arena,
                      struct offer_list *list, struct rb_err *err)
{
    const char *filter = job->resources.infra.items[position];
    int n = add_within(catalog, filter, NULL, arena, list);
    if (n == 0 && rb_infra_within(filter, "mock"))
        n = add_mock_from_aws(catalog, filter, arena, list);
    if (n > 0)
        return true;
    char key[64];
    snprintf(key, sizeof key, "resources.infra[%d]", position);
    return rb_err_set_at(err, RB_E_PRICE_UNKNOWN, no_place, key,
                         "no price is known for %s: import a price list with `rbprofile import prices.csv`, or give "
                         "one with --prices FILE.csv",
                         filter);
}

// The offer of a reservation's region, in the reservation's zone: what stands in for trials that span nodes must be there.
static void add_in_zone(struct offer_list *list, int offer, const struct rb_reservation *r)
{
    struct rb_offer o = list->items[offer];
    if (strcmp(o.instance_type, r->instance_type) != 0 || strcmp(o.infra, r->infra) == 0 ||
        !rb_infra_within(r->infra, o.infra))
        return;
    o.infra = r->infra;
    add_once(list, &o);
}

// Price lists describe the machine: its own zone's row, or its region's.
static bool add_reservations(const struct rb_job *job, struct offer_list *list, struct rb_err *err)
{
    const int n = list->n;
    for (int i = 0; i < job->resources.n_reservations; i++) {
        struct rb_reservation *r = &job->resources.reservations[i];
        const struct rb_offer *like = NULL;
        for (int k = 0; k < n && !like; k++)
            if (strcmp(list->items[k].instance_type, r->instance_type) == 0)
                like = &list->items[k];
        char key[64];
        snprintf(key, sizeof key, "resources.reservations[%d]", i);
        if (!like)
            return rb_err_set_at(err, RB_E_NO_SUCH_MACHINE, no_place, key,
                                 "the price list has no %.60s on the listed infra, which says how many GPUs it has: import "
                                 "one with `rbprofile import prices.csv`",
                                 r->instance_type);
        const struct rb_offer offer = rb_reservation_offer(r, like);
        add_once(list, &offer);
        for (int k = 0; k < n; k++)
            add_in_zone(list, k, r);
    }
    return true;
}

// A requested type that has no price anywhere is an error, not a silent omission.
static bool check_types_priced(const struct rb_job *job, const struct offer_list *list, struct rb_arena *arena,
                               struct rb_err *err)
{
    const char **known = rb_arena_array(arena, (size_t)list->n + 1, sizeof *known);
    for (int i = 0; i < list->n; i++)
        known[i] = list->items[i].instance_type;
    for (int i = 0; i < job->resources.instance_types.n; i++) {
        const char *type = job->resources.instance_types.items[i];
        bool found = false;
        for (int k = 0; k < list->n && !found; k++)
            found = strcmp(known[k], type) == 0;
        if (found)
            continue;
        char key[64];
        snprintf(key, sizeof key, "resources.instance_types[%d]", i);
        const char *near = rb_machine_names_like(type, known, list->n, arena);
        return rb_err_set_at(err, RB_E_PRICE_UNKNOWN, no_place, key,
                             "no price is known for %s on the listed infra%s%s%s: import one with `rbprofile import "
                             "prices.csv`, or remove it",
                             type, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
    return true;
}

typedef bool keep_fn(const struct rb_resources *r, const struct rb_offer *offer);

static bool keep_type(const struct rb_resources *r, const struct rb_offer *offer)
{
    return listed(&r->instance_types, offer->instance_type);
}

static bool keep_accelerator(const struct rb_resources *r, const struct rb_offer *offer)
{
    return listed(&r->accelerators, offer->accelerator);
}

static bool keep_slots(const struct rb_resources *r, const struct rb_offer *offer)
{
    (void)r;
    return offer->gpus > 0;
}

static bool keep_market(const struct rb_resources *r, const struct rb_offer *offer)
{
    switch (r->spot) {
    case RB_SPOT_NEVER:
    case RB_SPOT_SAFE: // spot offers only stand in: rb_planner_spot_offers
        return offer->market != RB_MARKET_SPOT;
    case RB_SPOT_ONLY:
        return offer->market != RB_MARKET_ON_DEMAND;
    case RB_SPOT_ALLOW:
        break;
    }
    return true;
}

// Applied in order; the filter that empties the list determines the error.
static const struct {
    keep_fn *keep;
    enum rb_err_number number;
    const char *key, *message; // NULL: no_such_market
} filters[] = {
    {keep_type, RB_E_NO_SUCH_MACHINE, "resources.instance_types",
     "none of the listed types is sold on the listed infra"},
    {keep_accelerator, RB_E_NO_SUCH_MACHINE, "resources.accelerators",
     "no instance type on the listed infra (and among the listed types) has one of these accelerators"},
    {keep_slots, RB_E_NO_SUCH_MACHINE, "resources",
     "none of the remaining instance types is a machine without GPUs (accelerator CPU) whose vcpus and memory_gb in "
     "the price list hold one trial, by trial.cpus and trial.memory"},
    {keep_market, RB_E_PRICE_UNKNOWN, "resources.spot", NULL},
};

static const char *no_such_market(const struct rb_resources *r)
{
    return r->spot == RB_SPOT_ONLY ? "is only, and no remaining instance type has a spot price: import one (market "
                                     "spot) with `rbprofile import prices.csv`, or set resources.spot to allow or never"
                                   : "plans on demand, and no remaining instance type has an on-demand price: import "
                                     "one (market on_demand) with `rbprofile import prices.csv`, or set "
                                     "resources.spot to allow";
}

static bool may_stand_in(const struct rb_job *job, const struct rb_offer *o, const struct rb_offer *other)
{
    const bool is_there = strcmp(o->infra, other->infra) == 0 && strcmp(o->instance_type, other->instance_type) == 0;
    return !rb_offer_closes(other) && other->gpus == o->gpus && strcmp(other->accelerator, o->accelerator) == 0 &&
           (job->trial.max_nodes == 1 || is_there);
}

// When a reservation closes, its nodes are replaced by others of as many such GPUs; in its zone, where trials span nodes.
static bool check_stand_ins(const struct rb_job *job, const struct offer_list *list, struct rb_err *err)
{
    for (int i = 0; i < list->n; i++) {
        const struct rb_offer *o = &list->items[i];
        bool any = !rb_offer_closes(o);
        for (int k = 0; k < list->n && !any; k++)
            any = may_stand_in(job, o, &list->items[k]);
        if (!any)
            return rb_err_set_at(err, RB_E_RESERVATION, no_place, "resources.reservations",
                                 "%.60s opens or closes during the run, and nothing that the job allows has %d %.40s to "
                                 "stand in for it then: allow it on demand (resources.spot), or import its price with "
                                 "`rbprofile import prices.csv`",
                                 o->reservation->id, o->gpus, o->accelerator);
    }
    return true;
}

static bool apply_filters(const struct rb_job *job, struct offer_list *list, struct rb_err *err)
{
    for (size_t f = 0; f < sizeof filters / sizeof filters[0]; f++) {
        int kept = 0;
        for (int i = 0; i < list->n; i++) {
            if (filters[f].keep(&job->resources, &list->items[i]))
                list->items[kept++] = list->items[i];
        }
        list->n = kept;
        if (kept == 0)
            return rb_err_set_at(err, filters[f].number, no_place, filters[f].key, "%s",
                                 filters[f].message ? filters[f].message : no_such_market(&job->resources));
    }
    return true;
}

static int compare_offers(const void *pa, const void *pb)
{
    return rb_offer_compare(pa, pb);
}

static bool same_but_zone(const struct rb_offer *a, const struct rb_offer *b)
{
    return rb_infra_same_region(a->infra, b->infra) && a->market == b->market && a->market != RB_MARKET_RESERVED &&
           strcmp(a->instance_type, b->instance_type) == 0;
}

// Zones of the same region that are cheaper, or as cheap and earlier.
static int cheaper_zones(const struct offer_list *list, int offer)
{
    const struct rb_offer *mine = &list->items[offer];
    int n = 0;
    for (int i = 0; i < list->n; i++) {
        int64_t more = list->items[i].rate.uusd_per_hour - mine->rate.uusd_per_hour;
        n += i != offer && same_but_zone(&list->items[i], mine) && (more < 0 || (more == 0 && i < offer));
    }
    return n;
}

// More offers than can be planned over: of every type and market the most expensive zones of a region are dropped
// first. The planner prefers the cheapest zone anyway; the others remain as fallbacks.
static void drop_expensive_zones(struct offer_list *list, struct rb_arena *arena)
{
    int *rank = rb_arena_array(arena, (size_t)list->n, sizeof *rank), most = 0;
    for (int i = 0; i < list->n; i++) {
        rank[i] = cheaper_zones(list, i);
        most = rank[i] > most ? rank[i] : most;
    }
    for (; most > 0 && list->n > RB_LIMIT_INSTANCE_TYPES; most--) {
        int kept = 0;
        for (int i = 0; i < list->n; i++) {
            if (rank[i] == most)
                continue;
            rank[kept] = rank[i];
            list->items[kept++] = list->items[i];
        }
        list->n = kept;
    }
}

bool rb_planner_offers(const struct rb_job *job, const struct rb_catalog *catalog, struct rb_arena *arena,
                       struct rb_offer **out, int *out_n, struct rb_err *err)
{
    const char *dropped;
    return rb_planner_offers_and_dropped(job, catalog, arena, out, out_n, &dropped, err);
}

static const char *describe_dropped(int n, int left, struct rb_arena *arena)
{
    if (n == 0)
        return NULL;
    return rb_arena_printf(arena,
                           "%d of %d offers were left out, because at most %d can be planned over: of every instance type and "
                           "market the most expensive zones of its region were dropped first; name resources.infra with "
                           "its zone to plan on one of them",
                           n, n + left, RB_LIMIT_INSTANCE_TYPES);
}

bool rb_planner_offers_and_dropped(const struct rb_job *job, const struct rb_catalog *catalog, struct rb_arena *arena,
                                   struct rb_offer **out, int *out_n, const char **out_dropped, struct rb_err *err)
{
    struct offer_list list = {.arena = arena};
    for (int i = 0; i < job->resources.infra.n; i++) {
        if (!add_infra(job, catalog, i, arena, &list, err))
            return false;
    }
    if (!add_reservations(job, &list, err) || !check_types_priced(job, &list, arena, err))
        return false;
    for (int i = 0; i < list.n; i++)
        rb_offer_use_cpus(&list.items[i], job->trial.cpus, job->trial.memory_bytes, arena);
    if (!apply_filters(job, &list, err) || !check_stand_ins(job, &list, err))
        return false;
    const int n_all = list.n;
    drop_expensive_zones(&list, arena);
    if (list.n > RB_LIMIT_INSTANCE_TYPES)
        return rb_err_set_at(err, RB_E_TOO_MANY_MACHINES, no_place, "resources",
                             "%d offers are left, at most %d can be planned over: name resources.instance_types or "
                             "resources.accelerators",
                             list.n, RB_LIMIT_INSTANCE_TYPES);
    qsort(list.items, (size_t)list.n, sizeof *list.items, compare_offers);
    *out = list.items;
    *out_n = list.n;
    *out_dropped = describe_dropped(n_all - list.n, list.n, arena);
    return true;
}

int rb_planner_spot_offers(const struct rb_job *job, const struct rb_catalog *catalog, struct rb_arena *arena,
                           struct rb_offer **out)
{
    struct rb_job on_spot = *job;
    struct rb_err ignored;
    int n = 0;
    on_spot.resources.spot = RB_SPOT_ONLY;
    return rb_planner_offers(&on_spot, catalog, arena, out, &n, &ignored) ? n : 0;
}

int rb_planner_max_nodes(const struct rb_job *job, const struct rb_offer *offer)
{
    return rb_offer_most_nodes(offer, rb_infra_within(offer->infra, "local") ? 1 : job->resources.max_nodes);
}

int rb_planner_sizes(const struct rb_scenario *s, int offer, int out_sizes[static RB_LIMIT_GPUS_PER_NODE])
{
    const struct rb_trial_spec *trial = &s->job->trial;
    int per_node = s->offers[offer].gpus, n = 0;
    if (!s->sim_offers[offer].usable)
        return 0;
    for (int i = 0; i < trial->n_sizes && n < RB_LIMIT_GPUS_PER_NODE; i++) {
        int gpus = trial->sizes[i];
        int nodes = (gpus + per_node - 1) / per_node;
        double unit_s;
        if (nodes <= trial->max_nodes && nodes <= rb_planner_max_nodes(s->job, &s->offers[offer]) &&
            rb_scenario_unit_s(s, offer, gpus, &unit_s, NULL))
            out_sizes[n++] = gpus;
    }
    return n;
}
