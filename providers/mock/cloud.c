// The state machine behind the mock cloud: what is due when, and what each verb changes. Draws are keyed by the ordinal
// of the instance, so an instance's delays do not depend on what happens to the others.
#include "providers/mock/cloud.h"
#include "base/limits.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTED_AFTER_END_US (3600 * RB_US_PER_S)
#define US_PER_MS           INT64_C(1000)

// Which of an instance's draws; the `stage` of its stream key.
enum { DRAW_QUEUE, DRAW_INIT, DRAW_CAPACITY, DRAW_SHUTDOWN, DRAW_ZONE, DRAW_ID };

struct token {
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
    struct token *tokens;
    int n_tokens, cap_tokens;
    struct rb_cloud_order *orders;        // [n_orders], next_order is the first not yet handed out
    int n_orders, cap_orders, next_order;
    uint32_t n_fresh_ids;
    uint64_t version;
};

struct rb_cloud *rb_cloud_create(const struct rb_cloud_config *config)
{
    struct rb_cloud *c = rb_xcalloc(1, sizeof *c);
    c->config = config;
    rb_arena_init(&c->arena);
    c->regions = rb_cloud_regions_of(&config->catalog, &c->arena);
    return c;
}

void rb_cloud_destroy(struct rb_cloud *c)
{
    if (!c)
        return;
    rb_arena_finish(&c->arena);
    free(c->instances);
    free(c->active);
    free(c->tokens);
    free(c->orders);
    free(c);
}

// Room for one more element.
static void *grown(void *array, int n, int *cap, size_t size)
{
    if (n < *cap)
        return array;
    *cap = *cap ? *cap * 2 : 16;
    return rb_xrealloc(array, (size_t)*cap, size);
}

// --- draws ---

static struct rb_stream stream_for(const struct rb_cloud *c, uint32_t draw, uint32_t index)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){
                           .seed = c->config->seed, .purpose = RB_DRAW_MOCK, .stage = draw, .index = index});
    return s;
}

static int64_t draw_us(const struct rb_cloud *c, const struct rb_dist *d, uint32_t draw, int ordinal)
{
    struct rb_stream s = stream_for(c, draw, (uint32_t)ordinal);
    return rb_us_from_seconds(rb_dist_draw(d, &s));
}

uint64_t rb_cloud_fresh_id(struct rb_cloud *c)
{
    // The epoch makes a second run with the same seed hand out other ids: clouds never reuse one.
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = c->config->seed ^ (uint64_t)c->config->epoch_us,
                                               .purpose = RB_DRAW_MOCK,
                                               .stage = DRAW_ID,
                                               .index = c->n_fresh_ids++});
    return rb_stream_u64(&s);
}

// --- time ---

static void changed(struct rb_cloud *c)
{
    c->version++;
}

static void give_order(struct rb_cloud *c, int what, struct rb_cloud_instance *i)
{
    if (c->next_order == c->n_orders)
        c->next_order = c->n_orders = 0;
    c->orders = grown(c->orders, c->n_orders, &c->cap_orders, sizeof *c->orders);
    c->orders[c->n_orders].what = what;
    c->orders[c->n_orders++].instance = i;
}

bool rb_cloud_next_order(struct rb_cloud *c, struct rb_cloud_order *out)
{
    if (c->next_order == c->n_orders)
        return false;
    *out = c->orders[c->next_order++];
    return true;
}

// The second named in the instance's `reason`: whole, and never before the instance ran, so that whoever knows
// launchTime and reason computes the same bill as the ledger.
static int64_t end_second(const struct rb_cloud_instance *i, int64_t now_us)
{
    int64_t end = now_us - now_us % RB_US_PER_S;
    if (i->running_us > end)
        end = (i->running_us + RB_US_PER_S - 1) / RB_US_PER_S * RB_US_PER_S;
    return end;
}

static void begin_end(struct rb_cloud *c, struct rb_cloud_instance *i, enum rb_cloud_state state,
                      enum rb_cloud_cause cause, int64_t now_us)
{
    i->state = state;
    i->cause = cause;
    i->plan.shutdown_us = INT64_MAX;
    if (i->ended_us < 0)
        i->ended_us = end_second(i, now_us);
    if (state == RB_CLOUD_SHUTTING_DOWN)
        i->terminated_us = end_second(i, now_us);
    i->plan.gone_us = now_us + draw_us(c, &c->config->shutdown_s, DRAW_SHUTDOWN, i->ordinal);
    if (i->plan.boot_ordered && i->plan.node_alive)
        give_order(c, RB_CLOUD_END, i);
    changed(c);
}

static void start_running(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t at_us)
{
    if (i->plan.lacks_capacity) {
        begin_end(c, i, RB_CLOUD_SHUTTING_DOWN, RB_CLOUD_CAUSE_CAPACITY, at_us);
        i->plan.gone_us = at_us;
        return;
    }
    i->state = RB_CLOUD_RUNNING;
    i->running_us = at_us - at_us % US_PER_MS;
    changed(c);
}

static void order_boot(struct rb_cloud *c, struct rb_cloud_instance *i)
{
    i->plan.boot_ordered = i->plan.node_alive = true;
    give_order(c, RB_CLOUD_BOOT, i);
}

static void shut_down_from_inside(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t at_us)
{
    begin_end(c, i, i->terminate_on_shutdown ? RB_CLOUD_SHUTTING_DOWN : RB_CLOUD_STOPPING, RB_CLOUD_CAUSE_GUEST, at_us);
}

static void complete_end(struct rb_cloud *c, struct rb_cloud_instance *i)
{
    i->state = i->state == RB_CLOUD_STOPPING ? RB_CLOUD_STOPPED : RB_CLOUD_TERMINATED;
    changed(c);
}

static int64_t due_us(const struct rb_cloud_instance *i)
{
    switch (i->state) {
    case RB_CLOUD_PENDING:
        return i->plan.start_us;
    case RB_CLOUD_RUNNING:
        return !i->plan.boot_ordered && i->plan.boot_us < i->plan.shutdown_us ? i->plan.boot_us : i->plan.shutdown_us;
    case RB_CLOUD_SHUTTING_DOWN:
    case RB_CLOUD_STOPPING:
        // Nobody sees `terminated` while something of the node still lives.
        return i->plan.node_alive ? INT64_MAX : i->plan.gone_us;
    case RB_CLOUD_STOPPED:
    case RB_CLOUD_TERMINATED:
        break;
    }
    return INT64_MAX;
}

static void take_step(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t at_us)
{
    switch (i->state) {
    case RB_CLOUD_PENDING:
        start_running(c, i, at_us);
        break;
    case RB_CLOUD_RUNNING:
        if (i->plan.boot_ordered || i->plan.shutdown_us <= i->plan.boot_us)
            shut_down_from_inside(c, i, at_us);
        else
            order_boot(c, i);
        break;
    case RB_CLOUD_SHUTTING_DOWN:
    case RB_CLOUD_STOPPING:
        complete_end(c, i);
        break;
    case RB_CLOUD_STOPPED:
    case RB_CLOUD_TERMINATED:
        assert(!"nothing is ever due for an instance that has ended");
    }
}

// The earliest active instance that has something due, ties by ordinal; NULL: none.
static struct rb_cloud_instance *earliest(const struct rb_cloud *c)
{
    struct rb_cloud_instance *best = NULL;
    for (int k = 0; k < c->n_active; k++) {
        struct rb_cloud_instance *i = c->instances[c->active[k]];
        if (due_us(i) < (best ? due_us(best) : INT64_MAX))
            best = i;
    }
    return best;
}

static void forget_ended(struct rb_cloud *c)
{
    int kept = 0;
    for (int k = 0; k < c->n_active; k++)
        if (c->instances[c->active[k]]->state != RB_CLOUD_TERMINATED)
            c->active[kept++] = c->active[k];
    c->n_active = kept;
}

void rb_cloud_advance(struct rb_cloud *c, int64_t now_us)
{
    struct rb_cloud_instance *i;
    while ((i = earliest(c)) && due_us(i) <= now_us)
        take_step(c, i, due_us(i));
    forget_ended(c);
}

int64_t rb_cloud_next_us(const struct rb_cloud *c)
{
    const struct rb_cloud_instance *i = earliest(c);
    return i ? due_us(i) : INT64_MAX;
}

// --- launch ---

static struct token *find_token(const struct rb_cloud *c, const struct rb_cloud_launch *l)
{
    for (int k = 0; l->token && k < c->n_tokens; k++) {
        struct token *t = &c->tokens[k];
        if (strcmp(t->name, l->token) == 0 && strcmp(t->region, l->region) == 0 &&
            strcmp(t->zone, l->zone ? l->zone : "") == 0)
            return t;
    }
    return NULL;
}

static void remember_token(struct rb_cloud *c, const struct rb_cloud_launch *l, struct rb_cloud_reservation r)
{
    if (!l->token)
        return;
    c->tokens = grown(c->tokens, c->n_tokens, &c->cap_tokens, sizeof *c->tokens);
    c->tokens[c->n_tokens++] = (struct token){.name = rb_arena_strdup(&c->arena, l->token),
                                              .region = rb_arena_strdup(&c->arena, l->region),
                                              .zone = rb_arena_strdup(&c->arena, l->zone ? l->zone : ""),
                                              .fingerprint = rb_arena_strdup(&c->arena, l->fingerprint),
                                              .reservation = r};
}

// How many more machines of the type may run; INT_MAX-like when the config sets no bound.
static int room_for(const struct rb_cloud *c, const char *instance_type)
{
    for (int k = 0; k < c->config->n_capacity; k++) {
        if (strcmp(c->config->capacity[k].instance_type, instance_type) != 0)
            continue;
        int used = 0;
        for (int a = 0; a < c->n_active; a++) {
            const struct rb_cloud_instance *i = c->instances[c->active[a]];
            used += i->state != RB_CLOUD_STOPPED && strcmp(i->offer->instance_type, instance_type) == 0;
        }
        return c->config->capacity[k].max > used ? c->config->capacity[k].max - used : 0;
    }
    return RB_LIMIT_NODES;
}

// A zone of the region that sells the offer asked for; NULL: none does.
static const char *choose_zone(const struct rb_cloud *c, const struct rb_cloud_region *region,
                               const struct rb_cloud_launch *l)
{
    struct rb_stream s = stream_for(c, DRAW_ZONE, (uint32_t)c->n_instances);
    int start = (int)rb_stream_below(&s, (uint64_t)region->n_zones);
    for (int k = 0; k < region->n_zones; k++) {
        const char *zone = region->zones[(start + k) % region->n_zones];
        if (rb_cloud_offer(&c->config->catalog, region->name, zone, l->instance_type, l->market))
            return zone;
    }
    return NULL;
}

static const struct rb_cloud_tag *copy_tags(struct rb_cloud *c, const struct rb_cloud_tag *tags, int n)
{
    struct rb_cloud_tag *copy = rb_arena_array(&c->arena, (size_t)n + 1, sizeof *copy);
    for (int k = 0; k < n; k++) {
        copy[k].key = rb_arena_strdup(&c->arena, tags[k].key);
        copy[k].value = rb_arena_strdup(&c->arena, tags[k].value);
    }
    return copy;
}

static void make_id(struct rb_cloud *c, const char *prefix, char out[static 20])
{
    // EC2 ids are 17 hex digits; the 64-bit draw gives 16 of them.
    snprintf(out, 20, "%s-0%016llx", prefix, (unsigned long long)rb_cloud_fresh_id(c));
}

static void plan_delays(struct rb_cloud *c, struct rb_cloud_instance *i)
{
    const struct rb_provisioning *p = rb_cloud_config_provisioning(c->config, i->offer);
    struct rb_stream s = stream_for(c, DRAW_CAPACITY, (uint32_t)i->ordinal);
    i->plan.start_us = i->requested_us + draw_us(c, &p->queue_s, DRAW_QUEUE, i->ordinal);
    i->plan.boot_us = i->plan.start_us + draw_us(c, &p->init_s, DRAW_INIT, i->ordinal);
    i->plan.lacks_capacity = rb_stream_uniform(&s) < p->capacity_failure;
    i->plan.shutdown_us = INT64_MAX;
}

static struct rb_cloud_instance *add_instance(struct rb_cloud *c)
{
    struct rb_cloud_instance *i = rb_arena_alloc(&c->arena, sizeof *i);
    i->ordinal = c->n_instances;
    c->instances = grown(c->instances, c->n_instances, &c->cap_instances, sizeof(struct rb_cloud_instance *));
    c->instances[c->n_instances++] = i;
    c->active = grown(c->active, c->n_active, &c->cap_active, sizeof *c->active);
    c->active[c->n_active++] = i->ordinal;
    return i;
}

static struct rb_cloud_reservation launch_all(struct rb_cloud *c, const struct rb_cloud_launch *l,
                                              const struct rb_cloud_instance *model, int n)
{
    struct rb_cloud_reservation r = {.first = c->n_instances, .n = n};
    char reservation[20];
    make_id(c, "r", reservation);
    for (int k = 0; k < n; k++) {
        struct rb_cloud_instance *i = add_instance(c);
        int ordinal = i->ordinal;
        *i = *model;
        i->ordinal = ordinal;
        i->launch_index = k;
        memcpy(i->reservation, reservation, sizeof reservation);
        make_id(c, "i", i->id);
        i->address = c->config->first_address + (uint32_t)ordinal;
        plan_delays(c, i);
    }
    remember_token(c, l, r);
    changed(c);
    return r;
}

// The part that all instances of a launch share.
static struct rb_cloud_instance model_instance(struct rb_cloud *c, const struct rb_cloud_launch *l,
                                               const struct rb_offer *offer, struct rb_rate disk_rate,
                                               const char *zone, int64_t now_us)
{
    return (struct rb_cloud_instance){
        .offer = offer,
        .region = rb_cloud_regions_find(&c->regions, l->region)->name,
        .zone = zone,
        .token = rb_arena_strdup(&c->arena, l->token ? l->token : ""),
        .image_id = rb_arena_strdup(&c->arena, l->image_id),
        .user_data = rb_arena_strndup(&c->arena, l->user_data ? l->user_data : "", l->user_data_len),
        .user_data_len = l->user_data_len,
        .disk_gb = l->disk_gb,
        .disk_rate = disk_rate,
        .terminate_on_shutdown = l->terminate_on_shutdown,
        .tags = copy_tags(c, l->tags, l->n_tags),
        .n_tags = l->n_tags,
        .requested_us = now_us,
        .running_us = -1,
        .ready_us = -1,
        .ended_us = -1,
        .terminated_us = -1,
    };
}

static enum rb_cloud_answer check_place(const struct rb_cloud *c, const struct rb_cloud_launch *l,
                                        const char **out_zone)
{
    const struct rb_cloud_region *region = rb_cloud_regions_find(&c->regions, l->region);
    assert(region); // the front serves only regions that exist
    if (!rb_cloud_offer_any(&c->config->catalog, l->region, l->instance_type))
        return RB_CLOUD_NO_SUCH_TYPE;
    const char *zone = l->zone ? NULL : choose_zone(c, region, l);
    for (int k = 0; l->zone && k < region->n_zones; k++)
        if (strcmp(region->zones[k], l->zone) == 0)
            zone = region->zones[k];
    if (!zone)
        return l->zone ? RB_CLOUD_NO_SUCH_ZONE : RB_CLOUD_NOT_OFFERED;
    *out_zone = zone;
    return RB_CLOUD_OK;
}

enum rb_cloud_answer rb_cloud_launch(struct rb_cloud *c, const struct rb_cloud_launch *l, int64_t now_us,
                                     struct rb_cloud_reservation *out)
{
    assert(l->min_count >= 1 && l->max_count >= l->min_count);
    rb_cloud_advance(c, now_us);
    const struct token *known = find_token(c, l);
    if (known && strcmp(known->fingerprint, l->fingerprint) != 0)
        return RB_CLOUD_TOKEN_MISMATCH;
    if (known && !l->dry_run)
        *out = known->reservation;
    if (known)
        return RB_CLOUD_OK;

    const char *zone;
    enum rb_cloud_answer answer = check_place(c, l, &zone);
    if (answer != RB_CLOUD_OK)
        return answer;
    const struct rb_offer *offer = rb_cloud_offer(&c->config->catalog, l->region, zone, l->instance_type, l->market);
    if (!offer)
        return RB_CLOUD_NOT_OFFERED;
    struct rb_rate disk_rate = {0};
    if (l->disk_gb > 0 && !rb_catalog_disk_rate(&c->config->catalog, offer->infra, &disk_rate, NULL))
        return RB_CLOUD_NO_DISK_PRICE;

    int n = room_for(c, l->instance_type);
    n = n < l->max_count ? n : l->max_count;
    if (n < l->min_count)
        return RB_CLOUD_NO_CAPACITY;
    if ((uint32_t)c->n_instances + (uint32_t)n > c->config->n_addresses)
        return RB_CLOUD_NO_ADDRESS;
    if (l->dry_run)
        return RB_CLOUD_OK;
    struct rb_cloud_instance model = model_instance(c, l, offer, disk_rate, zone, now_us);
    *out = launch_all(c, l, &model, n);
    return RB_CLOUD_OK;
}

// --- the other verbs ---

struct rb_cloud_instance *rb_cloud_find(const struct rb_cloud *c, const char *id)
{
    for (int k = 0; k < c->n_instances; k++)
        if (strcmp(c->instances[k]->id, id) == 0)
            return c->instances[k];
    return NULL;
}

// Position of the first id that is no instance of the region, or -1.
static int first_unknown(const struct rb_cloud *c, const char *region, const char *const *ids, int n)
{
    for (int k = 0; k < n; k++) {
        const struct rb_cloud_instance *i = rb_cloud_find(c, ids[k]);
        if (!i || strcmp(i->region, region) != 0)
            return k;
    }
    return -1;
}

enum rb_cloud_answer rb_cloud_terminate(struct rb_cloud *c, const char *region, const char *const *ids, int n,
                                        int64_t now_us, int *out_bad)
{
    rb_cloud_advance(c, now_us);
    int bad = first_unknown(c, region, ids, n);
    if (bad >= 0) {
        *out_bad = bad;
        return RB_CLOUD_NO_SUCH_INSTANCE;
    }
    for (int k = 0; k < n; k++) {
        struct rb_cloud_instance *i = rb_cloud_find(c, ids[k]);
        if (i->state != RB_CLOUD_SHUTTING_DOWN && i->state != RB_CLOUD_TERMINATED)
            begin_end(c, i, RB_CLOUD_SHUTTING_DOWN, RB_CLOUD_CAUSE_USER, now_us);
    }
    return RB_CLOUD_OK;
}

static void set_tag(struct rb_cloud *c, struct rb_cloud_instance *i, const struct rb_cloud_tag *tag)
{
    struct rb_cloud_tag *tags = rb_arena_array(&c->arena, (size_t)i->n_tags + 1, sizeof *tags);
    int at = i->n_tags;
    for (int k = 0; k < i->n_tags; k++) {
        tags[k] = i->tags[k];
        if (strcmp(tags[k].key, tag->key) == 0)
            at = k;
    }
    tags[at].key = rb_arena_strdup(&c->arena, tag->key);
    tags[at].value = rb_arena_strdup(&c->arena, tag->value);
    i->n_tags += at == i->n_tags;
    i->tags = tags;
}

enum rb_cloud_answer rb_cloud_set_tags(struct rb_cloud *c, const char *region, const char *const *ids, int n,
                                       const struct rb_cloud_tag *tags, int n_tags, int *out_bad)
{
    int bad = first_unknown(c, region, ids, n);
    if (bad >= 0) {
        *out_bad = bad;
        return RB_CLOUD_NO_SUCH_INSTANCE;
    }
    for (int k = 0; k < n; k++)
        for (int t = 0; t < n_tags; t++)
            set_tag(c, rb_cloud_find(c, ids[k]), &tags[t]);
    changed(c);
    return RB_CLOUD_OK;
}

// --- what the nodes report ---

void rb_cloud_node_ready(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t now_us)
{
    i->ready_us = now_us;
    changed(c);
}

void rb_cloud_node_failed(struct rb_cloud *c, struct rb_cloud_instance *i, const char *why)
{
    i->node_failure = rb_arena_strdup(&c->arena, why);
    changed(c);
}

void rb_cloud_node_gone(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t now_us)
{
    i->plan.node_alive = false;
    rb_cloud_advance(c, now_us);
}

void rb_cloud_guest_shutdown(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t now_us, int64_t delay_us)
{
    if (i->state == RB_CLOUD_RUNNING)
        i->plan.shutdown_us = now_us + delay_us;
    rb_cloud_advance(c, now_us);
}

void rb_cloud_guest_cancel(struct rb_cloud *c, struct rb_cloud_instance *i)
{
    (void)c;
    if (i->state == RB_CLOUD_RUNNING)
        i->plan.shutdown_us = INT64_MAX;
}

// --- looking ---

const struct rb_cloud_config *rb_cloud_config_of(const struct rb_cloud *c)
{
    return c->config;
}

const struct rb_cloud_regions *rb_cloud_regions(const struct rb_cloud *c)
{
    return &c->regions;
}

int rb_cloud_n_instances(const struct rb_cloud *c)
{
    return c->n_instances;
}

struct rb_cloud_instance *rb_cloud_instance(const struct rb_cloud *c, int ordinal)
{
    assert(ordinal >= 0 && ordinal < c->n_instances);
    return c->instances[ordinal];
}

bool rb_cloud_listed(const struct rb_cloud_instance *i, const char *region, int64_t now_us)
{
    return strcmp(i->region, region) == 0 &&
           (i->state != RB_CLOUD_TERMINATED || now_us < i->terminated_us + LISTED_AFTER_END_US);
}

const char *rb_cloud_state_name(enum rb_cloud_state state)
{
    static const char *const names[] = {"pending", "running", "shutting-down", "terminated", "stopping", "stopped"};
    return names[state];
}

struct rb_bill rb_cloud_bill(const struct rb_cloud_instance *i, int64_t now_us)
{
    const struct rb_billing billing = {.rate = i->offer->rate, .disk_rate = i->disk_rate, .disk_gb = i->disk_gb};
    int64_t ended_us = i->ended_us >= 0 ? i->ended_us : now_us;
    int64_t disk_ended_us = i->terminated_us >= 0 ? i->terminated_us : now_us;
    struct rb_bill bill = rb_bill_node(&billing, i->running_us, ended_us);
    if (disk_ended_us > ended_us) { // it was stopped first: the machine is free from then on, its disk is not
        int64_t disk_uusd = rb_bill_node(&billing, i->running_us, disk_ended_us).disk_uusd;
        bill.total_uusd += disk_uusd - bill.disk_uusd;
        bill.disk_uusd = disk_uusd;
    }
    return bill;
}

uint64_t rb_cloud_version(const struct rb_cloud *c)
{
    return c->version;
}
