// The mock cloud in time: what is due when, what the nodes report, what it all costs. Draws are keyed by the
// ordinal of the instance, so an instance's delays do not depend on what happens to the others.
#include "providers/mock/cloud/cloud_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LISTED_AFTER_END_US (3600 * RB_US_PER_S)
#define US_PER_MS           INT64_C(1000)

static void fill_buckets(struct rb_cloud *c)
{
    const struct rb_cloud_limits *l = &c->config->limits;
    size_t n = (size_t)l->n_buckets * (size_t)c->regions.n;
    c->bucket_levels = rb_arena_array(&c->arena, n + 1, sizeof *c->bucket_levels);
    c->bucket_times_us = rb_arena_array(&c->arena, n + 1, sizeof *c->bucket_times_us);
    for (size_t k = 0; k < n; k++) {
        c->bucket_levels[k] = l->buckets[k / (size_t)c->regions.n].burst;
        c->bucket_times_us[k] = c->config->epoch_us;
    }
}

struct rb_cloud *rb_cloud_create(const struct rb_cloud_config *config)
{
    struct rb_cloud *c = rb_xcalloc(1, sizeof *c);
    c->config = config;
    rb_arena_init(&c->arena);
    c->regions = rb_cloud_regions_of(&config->catalog, &c->arena);
    c->pools_us = config->epoch_us - 1; // steps at the very beginning are still to come
    rb_chaos_init(&c->chaos, &config->chaos, config->seed, config->epoch_us, &c->arena);
    fill_buckets(c);
    return c;
}

void rb_cloud_destroy(struct rb_cloud *c)
{
    if (!c)
        return;
    rb_arena_finish(&c->arena);
    free(c->instances);
    free(c->active);
    free(c->groups);
    free(c->tokens);
    free(c->orders);
    free(c);
}

void *rb_cloud_grown(void *array, int n, int *cap, size_t size)
{
    if (n < *cap)
        return array;
    *cap = *cap ? *cap * 2 : 16;
    return rb_xrealloc(array, (size_t)*cap, size);
}

// --- draws ---

struct rb_stream rb_cloud_stream(const struct rb_cloud *c, enum rb_cloud_draw draw, int ordinal)
{
    struct rb_stream s;
    rb_stream_init(&s,
                   &(struct rb_stream_key){
                       .seed = c->config->seed, .purpose = RB_DRAW_MOCK, .stage = draw, .index = (uint32_t)ordinal});
    return s;
}

int64_t rb_cloud_draw_us(const struct rb_cloud *c, const struct rb_dist *d, enum rb_cloud_draw draw, int ordinal)
{
    struct rb_stream s = rb_cloud_stream(c, draw, ordinal);
    return rb_us_from_seconds(rb_dist_draw(d, &s));
}

uint64_t rb_cloud_fresh_id(struct rb_cloud *c)
{
    // The epoch makes a second run with the same seed hand out other ids: clouds never reuse one.
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = c->config->seed ^ (uint64_t)c->config->epoch_us,
                                               .purpose = RB_DRAW_MOCK,
                                               .stage = RB_CLOUD_DRAW_ID,
                                               .index = c->n_fresh_ids++});
    return rb_stream_u64(&s);
}

// --- time ---

void rb_cloud_changed(struct rb_cloud *c)
{
    c->version++;
}

static void give_order(struct rb_cloud *c, int what, struct rb_cloud_instance *i)
{
    if (c->next_order == c->n_orders)
        c->next_order = c->n_orders = 0;
    c->orders = rb_cloud_grown(c->orders, c->n_orders, &c->cap_orders, sizeof *c->orders);
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

// The ledger bills by the instants that the API shows, so that a client that reads them computes the same bill. EC2
// shows whole seconds (launchTime, `reason`), Compute Engine milliseconds unless the test wants otherwise.
static int64_t shown_unit_us(const struct rb_cloud *c, const struct rb_cloud_instance *i)
{
    const bool whole_seconds = c->config->whole_seconds || !rb_cloud_infra_is_gcp(i->offer->infra);
    return whole_seconds ? RB_US_PER_S : US_PER_MS;
}

// Never before the instance ran.
static int64_t end_instant(const struct rb_cloud *c, const struct rb_cloud_instance *i, int64_t now_us)
{
    const int64_t unit_us = shown_unit_us(c, i);
    int64_t end_us = now_us - now_us % unit_us;
    if (i->running_us > end_us)
        end_us = (i->running_us + unit_us - 1) / unit_us * unit_us;
    return end_us;
}

void rb_cloud_begin_end(struct rb_cloud *c, struct rb_cloud_instance *i, enum rb_cloud_state state,
                        enum rb_cloud_cause cause, int64_t now_us)
{
    i->state = state;
    i->cause = cause;
    for (int k = 0; k < RB_CLOUD_N_DUE; k++)
        i->plan.due_us[k] = INT64_MAX;
    if (i->ended_us < 0)
        i->ended_us = end_instant(c, i, now_us);
    if (state == RB_CLOUD_SHUTTING_DOWN)
        i->terminated_us = end_instant(c, i, now_us);
    i->plan.gone_us = now_us + rb_cloud_draw_us(c, &c->config->shutdown_s, RB_CLOUD_DRAW_SHUTDOWN, i->ordinal);
    if (i->plan.boot_ordered && i->plan.node_alive)
        give_order(c, RB_CLOUD_END, i);
    rb_cloud_changed(c);
}

static void start_running(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t at_us)
{
    if (i->plan.lacks_capacity) {
        rb_cloud_begin_end(c, i, RB_CLOUD_SHUTTING_DOWN, RB_CLOUD_CAUSE_CAPACITY, at_us);
        i->plan.gone_us = at_us;
        return;
    }
    i->state = RB_CLOUD_RUNNING;
    i->running_us = at_us - at_us % shown_unit_us(c, i);
    if (i->max_run_us > 0)
        i->plan.due_us[RB_CLOUD_DUE_EXPIRE] = at_us + i->max_run_us;
    if (i->reserved && i->reserved->is_block && i->reserved->end_us < INT64_MAX) {
        const int64_t until_us = c->config->epoch_us + rb_cloud_reserved_until_us(i->reserved);
        if (until_us < i->plan.due_us[RB_CLOUD_DUE_EXPIRE])
            i->plan.due_us[RB_CLOUD_DUE_EXPIRE] = until_us;
    }
    rb_cloud_changed(c);
}

// The first thing that is due for a running instance.
static enum rb_cloud_due next_due(const struct rb_cloud_instance *i)
{
    enum rb_cloud_due first = RB_CLOUD_DUE_EXPIRE;
    for (int k = 1; k < RB_CLOUD_N_DUE; k++)
        if (i->plan.due_us[k] < i->plan.due_us[first])
            first = (enum rb_cloud_due)k;
    return first;
}

static void befall(struct rb_cloud *c, struct rb_cloud_instance *i, enum rb_cloud_due due, int64_t at_us)
{
    enum rb_cloud_state when_taken = i->stop_when_taken ? RB_CLOUD_STOPPING : RB_CLOUD_SHUTTING_DOWN;
    i->plan.due_us[due] = INT64_MAX;
    switch (due) {
    case RB_CLOUD_DUE_EXPIRE:
        rb_cloud_begin_end(c, i, when_taken, RB_CLOUD_CAUSE_EXPIRED, at_us);
        break;
    case RB_CLOUD_DUE_TAKEN:
        rb_cloud_begin_end(c, i, when_taken, RB_CLOUD_CAUSE_TAKEN, at_us);
        break;
    case RB_CLOUD_DUE_SHUTDOWN:
        rb_cloud_begin_end(c, i, i->terminate_on_shutdown ? RB_CLOUD_SHUTTING_DOWN : RB_CLOUD_STOPPING,
                           RB_CLOUD_CAUSE_GUEST, at_us);
        break;
    case RB_CLOUD_DUE_DARK:
        if (i->plan.boot_ordered)
            give_order(c, RB_CLOUD_DARK, i);
        i->plan.due_us[RB_CLOUD_DUE_BOOT] = INT64_MAX; // dead before it booted: it never will
        break;
    case RB_CLOUD_DUE_BOOT:
        i->plan.boot_ordered = i->plan.node_alive = true;
        give_order(c, RB_CLOUD_BOOT, i);
        break;
    case RB_CLOUD_N_DUE:
        assert(!"no event");
    }
}

static void complete_end(struct rb_cloud *c, struct rb_cloud_instance *i)
{
    i->state = i->state == RB_CLOUD_STOPPING ? RB_CLOUD_STOPPED : RB_CLOUD_TERMINATED;
    rb_cloud_changed(c);
}

static int64_t due_us(const struct rb_cloud_instance *i)
{
    switch (i->state) {
    case RB_CLOUD_PENDING:
        return i->plan.start_us;
    case RB_CLOUD_RUNNING:
        return i->plan.due_us[next_due(i)];
    case RB_CLOUD_SHUTTING_DOWN:
    case RB_CLOUD_STOPPING:
        // `terminated` is not shown while a process of the node still runs.
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
        befall(c, i, next_due(i), at_us);
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
    for (;;) {
        struct rb_cloud_instance *i = earliest(c);
        int64_t pool_us = rb_cloud_next_pool_us(c), at_us = i ? due_us(i) : INT64_MAX;
        if (pool_us <= at_us && pool_us <= now_us)
            rb_cloud_take_pool_steps(c, pool_us);
        else if (at_us <= now_us)
            take_step(c, i, at_us);
        else
            break;
    }
    forget_ended(c);
}

int64_t rb_cloud_next_us(const struct rb_cloud *c)
{
    const struct rb_cloud_instance *i = earliest(c);
    int64_t pool_us = rb_cloud_next_pool_us(c), at_us = i ? due_us(i) : INT64_MAX;
    return pool_us < at_us ? pool_us : at_us;
}

// --- what the nodes report ---

void rb_cloud_node_ready(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t now_us)
{
    i->ready_us = now_us;
    rb_cloud_changed(c);
}

void rb_cloud_node_failed(struct rb_cloud *c, struct rb_cloud_instance *i, const char *why)
{
    i->node_failure = rb_arena_strdup(&c->arena, why);
    rb_cloud_changed(c);
}

void rb_cloud_node_gone(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t now_us)
{
    i->plan.node_alive = false;
    rb_cloud_advance(c, now_us);
}

void rb_cloud_guest_shutdown(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t now_us, int64_t delay_us)
{
    if (i->state == RB_CLOUD_RUNNING)
        i->plan.due_us[RB_CLOUD_DUE_SHUTDOWN] = now_us + delay_us;
    rb_cloud_advance(c, now_us);
}

void rb_cloud_guest_cancel(struct rb_cloud *c, struct rb_cloud_instance *i)
{
    (void)c;
    if (i->state == RB_CLOUD_RUNNING)
        i->plan.due_us[RB_CLOUD_DUE_SHUTDOWN] = INT64_MAX;
}

// --- looking ---

struct rb_cloud_instance *rb_cloud_find(const struct rb_cloud *c, const char *id)
{
    for (int k = 0; k < c->n_instances; k++)
        if (strcmp(c->instances[k]->id, id) == 0)
            return c->instances[k];
    return NULL;
}

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
    return strcmp(i->region, region) == 0 && now_us >= i->visible_us &&
           (i->state != RB_CLOUD_TERMINATED || now_us < i->terminated_us + LISTED_AFTER_END_US);
}

const struct rb_cloud_tag *rb_cloud_tags(const struct rb_cloud *c, const struct rb_cloud_instance *i, int64_t now_us,
                                         int *out_n)
{
    int64_t faded = 0;
    if (i->state == RB_CLOUD_TERMINATED && c->config->tags_fade_us != INT64_MAX)
        faded = c->config->tags_fade_us > 0 ? (now_us - i->terminated_us) / c->config->tags_fade_us : i->n_tags;
    faded = faded < i->n_tags ? faded : i->n_tags;
    *out_n = i->n_tags - (int)faded;
    return i->tags + faded;
}

bool rb_cloud_notice(const struct rb_cloud_instance *i, int64_t now_us, int64_t *out_at_us)
{
    int64_t at_us = i->plan.due_us[RB_CLOUD_DUE_TAKEN];
    if (i->state != RB_CLOUD_RUNNING || at_us == INT64_MAX || now_us < at_us - rb_spot_notice_us(i->offer->infra))
        return false;
    *out_at_us = at_us;
    return true;
}

struct rb_chaos *rb_cloud_chaos(struct rb_cloud *c)
{
    return &c->chaos;
}

const char *rb_cloud_state_name(enum rb_cloud_state state)
{
    static const char *const names[] = {"pending", "running", "shutting-down", "terminated", "stopping", "stopped"};
    return names[state];
}

// A reserved machine is paid for until its reservation ends; from then on it costs what one on demand does.
static void bill_reserved(const struct rb_cloud_instance *i, int64_t ended_us, struct rb_bill *io)
{
    const struct rb_billing machine = {.rate = i->offer->rate};
    if (i->running_us < 0 || ended_us <= i->paid_until_us)
        return;
    const struct rb_bill after =
        rb_bill_node(&machine, i->running_us > i->paid_until_us ? i->running_us : i->paid_until_us, ended_us);
    io->machine_uusd = after.machine_uusd;
    io->minimum_uusd = after.minimum_uusd;
    io->total_uusd += after.machine_uusd;
}

struct rb_bill rb_cloud_bill(const struct rb_cloud_instance *i, int64_t now_us)
{
    const struct rb_rate free_of_charge = {0};
    const struct rb_billing billing = {
        .rate = i->reserved ? free_of_charge : i->offer->rate,
        .prices = i->prices,
        .disk_rate = i->disk_rate,
        .disk_gb = i->disk_gb,
        .release_s = i->release_s,
    };
    int64_t ended_us = i->ended_us >= 0 ? i->ended_us : now_us;
    int64_t disk_ended_us = i->terminated_us >= 0 ? i->terminated_us : now_us;
    struct rb_bill bill = rb_bill_node(&billing, i->running_us, ended_us);
    if (i->reserved)
        bill_reserved(i, ended_us, &bill);
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
