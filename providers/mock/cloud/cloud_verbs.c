// The verbs of the mock cloud: launch, terminate, tag.
#include "providers/mock/cloud/cloud_state.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LATEST_S 3.6e9 // later than that is never

// --- launch ---

static struct rb_cloud_token *find_token(const struct rb_cloud *c, const struct rb_cloud_launch *l)
{
    for (int k = 0; l->token && k < c->n_tokens; k++) {
        struct rb_cloud_token *t = &c->tokens[k];
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
    c->tokens = rb_cloud_grown(c->tokens, c->n_tokens, &c->cap_tokens, sizeof *c->tokens);
    c->tokens[c->n_tokens++] = (struct rb_cloud_token){.name = rb_arena_strdup(&c->arena, l->token),
                                                       .region = rb_arena_strdup(&c->arena, l->region),
                                                       .zone = rb_arena_strdup(&c->arena, l->zone ? l->zone : ""),
                                                       .fingerprint = rb_arena_strdup(&c->arena, l->fingerprint),
                                                       .reservation = r};
}

// A zone of the region that sells the requested offer; NULL: none does. A group continues in its zone.
static const char *choose_zone(const struct rb_cloud *c, const struct rb_cloud_region *region,
                               const struct rb_cloud_launch *l)
{
    struct rb_stream s = rb_cloud_stream(c, RB_CLOUD_DRAW_ZONE, c->n_instances);
    int start = (int)rb_stream_below(&s, (uint64_t)region->n_zones);
    for (int k = 0; k < region->n_zones; k++) {
        const char *zone = region->zones[(start + k) % region->n_zones];
        if (rb_cloud_offer(&c->config->catalog, region->name, zone, l->instance_type, l->market))
            return zone;
    }
    return NULL;
}

const struct rb_cloud_tag *rb_cloud_copy_tags(struct rb_cloud *c, const struct rb_cloud_tag *tags, int n)
{
    struct rb_cloud_tag *copy = rb_arena_array(&c->arena, (size_t)n + 1, sizeof *copy);
    for (int k = 0; k < n; k++) {
        copy[k].key = rb_arena_strdup(&c->arena, tags[k].key);
        copy[k].value = rb_arena_strdup(&c->arena, tags[k].value);
    }
    return copy;
}

void rb_cloud_make_id(struct rb_cloud *c, const char *prefix, char out[static 20])
{
    // EC2 ids are 17 hex digits; the 64-bit draw gives 16 of them.
    snprintf(out, 20, "%s-0%016llx", prefix, (unsigned long long)rb_cloud_fresh_id(c));
}

static int64_t scaled(int64_t us, const struct rb_chaos_rule *slow)
{
    return slow ? rb_us_from_seconds((double)us / RB_US_PER_S * slow->factor) : us;
}

// The faults that the chaos file has for a new instance. An instance on the wrong market is billed at that market's
// price.
static void meet_fate(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t now_us, struct rb_chaos_verdict *out)
{
    const enum rb_market other = i->offer->market == RB_MARKET_SPOT ? RB_MARKET_ON_DEMAND : RB_MARKET_SPOT;
    const struct rb_chaos_subject subject = {.front = rb_cloud_infra_is_gcp(i->offer->infra) ? "gcp" : "ec2",
                                             .region = i->region,
                                             .zone = i->zone,
                                             .instance_type = i->offer->instance_type,
                                             .has_market = true,
                                             .market = i->offer->market};
    rb_chaos_instance(&c->chaos, &subject, now_us, out);
    const struct rb_offer *swapped =
        rb_cloud_offer(&c->config->catalog, i->region, i->zone, i->offer->instance_type, other);
    if (out->by[RB_CHAOS_WRONG_MARKET] && swapped) {
        i->offer = swapped;
        i->prices = rb_cloud_prices(c->config, swapped, i->zone);
    }
}

// Spot instances are preempted at the profile's rate, or when the chaos file demands it.
static int64_t draw_taken_us(const struct rb_cloud *c, const struct rb_cloud_instance *i,
                             const struct rb_provisioning *p, const struct rb_chaos_rule *interrupted)
{
    if (i->offer->market != RB_MARKET_SPOT)
        return INT64_MAX;
    if (interrupted)
        return i->plan.start_us + interrupted->delay_us;
    const struct rb_hazard hazard = rb_provisioning_hazard(p);
    struct rb_stream s = rb_cloud_stream(c, RB_CLOUD_DRAW_TAKEN, i->ordinal);
    const double seconds = rb_hazard_seconds(&hazard, 0, -log(rb_stream_uniform(&s)));
    return seconds < LATEST_S ? i->plan.start_us + rb_us_from_seconds(seconds) : INT64_MAX;
}

static void plan_delays(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t now_us)
{
    struct rb_chaos_verdict fate;
    meet_fate(c, i, now_us, &fate);
    const struct rb_provisioning *p = rb_cloud_config_provisioning(c->config, i->offer);
    struct rb_stream s = rb_cloud_stream(c, RB_CLOUD_DRAW_CAPACITY, i->ordinal);
    int64_t init_us = rb_cloud_draw_us(c, &p->init_s, RB_CLOUD_DRAW_INIT, i->ordinal);
    int64_t *due_us = i->plan.due_us;
    i->release_s = p->release_s;
    i->visible_us = now_us + rb_cloud_draw_us(c, &c->config->visible_after_s, RB_CLOUD_DRAW_VISIBLE, i->ordinal);
    i->plan.start_us = i->requested_us + rb_cloud_draw_us(c, &p->queue_s, RB_CLOUD_DRAW_QUEUE, i->ordinal);
    i->plan.lacks_capacity = rb_stream_uniform(&s) < p->capacity_failure || fate.by[RB_CHAOS_FAILS_TO_START];
    i->failure_code = fate.by[RB_CHAOS_FAILS_TO_START] ? fate.by[RB_CHAOS_FAILS_TO_START]->code : NULL;
    for (int k = 0; k < RB_CLOUD_N_DUE; k++)
        due_us[k] = INT64_MAX;
    if (!fate.by[RB_CHAOS_NEVER_BOOTS])
        due_us[RB_CLOUD_DUE_BOOT] = i->plan.start_us + scaled(init_us, fate.by[RB_CHAOS_BOOTS_SLOWLY]);
    if (fate.by[RB_CHAOS_DIES_AT])
        due_us[RB_CLOUD_DUE_DARK] = i->plan.start_us + fate.by[RB_CHAOS_DIES_AT]->delay_us;
    due_us[RB_CLOUD_DUE_TAKEN] = draw_taken_us(c, i, p, fate.by[RB_CHAOS_INTERRUPTED]);
}

static struct rb_cloud_instance *list_instance(struct rb_cloud *c)
{
    struct rb_cloud_instance *i = rb_arena_alloc(&c->arena, sizeof *i);
    i->ordinal = c->n_instances;
    c->instances = rb_cloud_grown(c->instances, c->n_instances, &c->cap_instances, sizeof(struct rb_cloud_instance *));
    return c->instances[c->n_instances++] = i;
}

struct rb_cloud_instance *rb_cloud_adopt(struct rb_cloud *c, const struct rb_cloud_instance *model)
{
    struct rb_cloud_instance *i = list_instance(c);
    const int ordinal = i->ordinal;
    *i = *model;
    i->ordinal = ordinal;
    i->address = c->config->first_address + (uint32_t)ordinal;
    for (int k = 0; k < RB_CLOUD_N_DUE; k++)
        i->plan.due_us[k] = INT64_MAX;
    rb_cloud_changed(c);
    return i;
}

void rb_cloud_touch(struct rb_cloud *c)
{
    rb_cloud_changed(c);
}

static struct rb_cloud_instance *add_instance(struct rb_cloud *c)
{
    struct rb_cloud_instance *i = list_instance(c);
    c->active = rb_cloud_grown(c->active, c->n_active, &c->cap_active, sizeof *c->active);
    c->active[c->n_active++] = i->ordinal;
    return i;
}

static struct rb_cloud_reservation launch_all(struct rb_cloud *c, const struct rb_cloud_launch *l,
                                              const struct rb_cloud_instance *model, int n)
{
    struct rb_cloud_reservation r = {.first = c->n_instances, .n = n};
    char reservation[20];
    rb_cloud_make_id(c, "r", reservation);
    for (int k = 0; k < n; k++) {
        struct rb_cloud_instance *i = add_instance(c);
        int ordinal = i->ordinal;
        *i = *model;
        i->ordinal = ordinal;
        i->launch_index = k;
        memcpy(i->reservation, reservation, sizeof reservation);
        rb_cloud_make_id(c, "i", i->id);
        i->address = c->config->first_address + (uint32_t)ordinal;
        plan_delays(c, i, model->requested_us);
    }
    remember_token(c, l, r);
    rb_cloud_changed(c);
    return r;
}

static const char *copy_or_null(struct rb_cloud *c, const char *text)
{
    return text ? rb_arena_strdup(&c->arena, text) : NULL;
}

static struct rb_cloud_traits copy_traits(struct rb_cloud *c, const struct rb_cloud_traits *t)
{
    struct rb_cloud_traits out = *t;
    const char **groups = rb_arena_array(&c->arena, (size_t)t->n_security_groups + 1, sizeof *groups);
    for (int k = 0; k < t->n_security_groups; k++)
        groups[k] = rb_arena_strdup(&c->arena, t->security_groups[k]);
    out.security_groups = groups;
    out.subnet = copy_or_null(c, t->subnet);
    out.http_tokens = copy_or_null(c, t->http_tokens);
    out.http_endpoint = copy_or_null(c, t->http_endpoint);
    out.metadata_tags = copy_or_null(c, t->metadata_tags);
    out.volume_type = copy_or_null(c, t->volume_type);
    out.volume_tags = rb_cloud_copy_tags(c, t->volume_tags, t->n_volume_tags);
    return out;
}

// The part that all instances of a launch share.
static struct rb_cloud_instance model_instance(struct rb_cloud *c, const struct rb_cloud_launch *l,
                                               const struct rb_offer *offer, struct rb_rate disk_rate, const char *zone,
                                               int64_t now_us)
{
    return (struct rb_cloud_instance){
        .offer = offer,
        .region = rb_cloud_regions_find(&c->regions, l->region)->name,
        .zone = zone,
        .name = l->name ? rb_arena_strdup(&c->arena, l->name) : NULL,
        .group = l->group ? rb_cloud_find_group(c, l->region, l->group) : NULL,
        .token = rb_arena_strdup(&c->arena, l->token ? l->token : ""),
        .image_id = rb_arena_strdup(&c->arena, l->image_id),
        .user_data = rb_arena_strndup(&c->arena, l->user_data ? l->user_data : "", l->user_data_len),
        .user_data_len = l->user_data_len,
        .disk_gb = l->disk_gb,
        .disk_rate = disk_rate,
        .prices = rb_cloud_prices(c->config, offer, zone),
        .terminate_on_shutdown = l->terminate_on_shutdown,
        .stop_when_taken = l->stop_when_taken,
        .max_run_us = l->max_run_us,
        .names_reserved = l->reserved != NULL,
        .tags = rb_cloud_copy_tags(c, l->tags, l->n_tags),
        .n_tags = l->n_tags,
        .traits = copy_traits(c, &l->traits),
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
    const struct rb_cloud_group *group = l->group ? rb_cloud_find_group(c, l->region, l->group) : NULL;
    if (l->group && !group)
        return RB_CLOUD_NO_SUCH_GROUP;
    const char *group_zone = group ? rb_cloud_group_zone(c, group) : NULL;
    if (group_zone && l->zone && strcmp(group_zone, l->zone) != 0)
        return RB_CLOUD_GROUP_ELSEWHERE;
    const char *zone = l->zone ? NULL : group_zone ? group_zone : choose_zone(c, region, l);
    for (int k = 0; l->zone && k < region->n_zones; k++)
        if (strcmp(region->zones[k], l->zone) == 0)
            zone = region->zones[k];
    if (!zone)
        return l->zone ? RB_CLOUD_NO_SUCH_ZONE : RB_CLOUD_NOT_OFFERED;
    *out_zone = zone;
    return RB_CLOUD_OK;
}

// The reservation that the launch names, or, for one that names none, an open one with room for all of it; *out NULL:
// none.
static enum rb_cloud_answer find_reserved(const struct rb_cloud *c, const struct rb_cloud_launch *l, const char *zone,
                                          int64_t now_us, const struct rb_cloud_reserved **out)
{
    const struct rb_cloud_reserved_list *all = &c->config->reserved;
    *out = NULL;
    for (int k = 0; k < all->n && !l->reserved && l->market == RB_MARKET_ON_DEMAND && !*out; k++) {
        const struct rb_cloud_reserved *r = &all->items[k];
        if (r->is_open && strcmp(r->zone, zone) == 0 && strcmp(r->instance_type, l->instance_type) == 0 &&
            rb_cloud_reserved_room(c, r, now_us) >= l->max_count)
            *out = r;
    }
    if (!l->reserved)
        return RB_CLOUD_OK;
    const struct rb_cloud_reserved *r = rb_cloud_reserved_find(all, l->reserved);
    if (!r)
        return RB_CLOUD_NO_SUCH_RESERVED;
    if (strcmp(r->zone, zone) != 0 || strcmp(r->instance_type, l->instance_type) != 0 || r->is_block != l->of_block)
        return RB_CLOUD_RESERVED_DIFFERS;
    *out = r;
    return rb_cloud_reserved_room(c, r, now_us) >= l->min_count ? RB_CLOUD_OK : RB_CLOUD_RESERVED_FULL;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

enum rb_cloud_answer rb_cloud_launch(struct rb_cloud *c, const struct rb_cloud_launch *l, int64_t now_us,
                                     struct rb_cloud_reservation *out)
{
    assert(l->min_count >= 1 && l->max_count >= l->min_count);
    rb_cloud_advance(c, now_us);
    const struct rb_cloud_token *known = find_token(c, l);
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

    if (rb_cloud_quota_exceeded(c, l))
        return RB_CLOUD_OVER_QUOTA;
    const struct rb_cloud_reserved *reserved;
    answer = find_reserved(c, l, zone, now_us, &reserved);
    if (answer != RB_CLOUD_OK)
        return answer;
    const int n = least(reserved ? rb_cloud_reserved_room(c, reserved, now_us) : rb_cloud_room(c, offer, zone, now_us),
                        l->max_count);
    if (n < l->min_count)
        return RB_CLOUD_NO_CAPACITY;
    if ((uint32_t)c->n_instances + (uint32_t)n > c->config->n_addresses)
        return RB_CLOUD_NO_ADDRESS;
    if (l->dry_run)
        return RB_CLOUD_OK;
    struct rb_cloud_instance model = model_instance(c, l, offer, disk_rate, zone, now_us);
    model.reserved = reserved;
    model.paid_until_us = !reserved || reserved->end_us == INT64_MAX ? INT64_MAX : c->config->epoch_us + reserved->end_us;
    *out = launch_all(c, l, &model, n);
    return RB_CLOUD_OK;
}

// Takes back the instances that were begun before any of them is billed: when the last of them would have run.
void rb_cloud_bind(struct rb_cloud *c, struct rb_cloud_reservation r, int min_count)
{
    int n_found = 0;
    int64_t last_us = 0;
    const char *code = NULL;
    for (int k = 0; k < r.n; k++) {
        const struct rb_cloud_instance *i = c->instances[r.first + k];
        n_found += !i->plan.lacks_capacity;
        last_us = i->plan.start_us > last_us ? i->plan.start_us : last_us;
        code = i->plan.lacks_capacity && i->failure_code ? i->failure_code : code;
    }
    for (int k = 0; k < r.n && n_found < min_count; k++) {
        struct rb_cloud_instance *i = c->instances[r.first + k];
        i->plan.lacks_capacity = true;
        i->plan.start_us = last_us;
        i->failure_code = code;
    }
}

// --- the other verbs ---

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
            rb_cloud_begin_end(c, i, RB_CLOUD_SHUTTING_DOWN, RB_CLOUD_CAUSE_USER, now_us);
    }
    return RB_CLOUD_OK;
}

void rb_cloud_stop(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t now_us)
{
    rb_cloud_advance(c, now_us);
    if (i->state == RB_CLOUD_PENDING || i->state == RB_CLOUD_RUNNING)
        rb_cloud_begin_end(c, i, RB_CLOUD_STOPPING, RB_CLOUD_CAUSE_USER, now_us);
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
    rb_cloud_changed(c);
    return RB_CLOUD_OK;
}

static bool is_deleted(const struct rb_cloud_tag *tag, const struct rb_cloud_tag *deleted, int n)
{
    for (int k = 0; k < n; k++)
        if (strcmp(deleted[k].key, tag->key) == 0 && (!deleted[k].value || strcmp(deleted[k].value, tag->value) == 0))
            return true;
    return n == 0;
}

enum rb_cloud_answer rb_cloud_delete_tags(struct rb_cloud *c, const char *region, const char *const *ids, int n,
                                          const struct rb_cloud_tag *tags, int n_tags, int *out_bad)
{
    int bad = first_unknown(c, region, ids, n);
    if (bad >= 0) {
        *out_bad = bad;
        return RB_CLOUD_NO_SUCH_INSTANCE;
    }
    for (int k = 0; k < n; k++) {
        struct rb_cloud_instance *i = rb_cloud_find(c, ids[k]);
        struct rb_cloud_tag *kept = rb_arena_array(&c->arena, (size_t)i->n_tags + 1, sizeof *kept);
        int n_kept = 0;
        for (int t = 0; t < i->n_tags; t++)
            if (!is_deleted(&i->tags[t], tags, n_tags))
                kept[n_kept++] = i->tags[t];
        i->tags = kept;
        i->n_tags = n_kept;
    }
    rb_cloud_changed(c);
    return RB_CLOUD_OK;
}

void rb_cloud_replace_tags(struct rb_cloud *c, struct rb_cloud_instance *i, const struct rb_cloud_tag *tags, int n_tags)
{
    i->tags = rb_cloud_copy_tags(c, tags, n_tags);
    i->n_tags = n_tags;
    rb_cloud_changed(c);
}
