#include "fake_cloud.h"

#include "base/arena.h"
#include "base/stream.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS_BASE = 1, FAKE_GANG = 16 };

// Draws whose key is the cloud's own history of calls: nothing about them needs to repeat after a crash.
static double chance(struct fake_cloud *c)
{
    struct rb_stream s;
    rb_stream_init(&s,
                   &(struct rb_stream_key){.seed = c->seed, .purpose = RB_DRAW_MOCK, .index = (uint32_t)c->n_draws++});
    return rb_stream_uniform(&s);
}

static void copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

// Something that happens later, to one instance or to one call.

struct later {
    struct fake_cloud *cloud;
    uint64_t session;
    struct fake_instance copy; // launch: what is asked for
    int instance;              // -1: none
    char id[32];
    struct rb_err err;
    rb_launch_fn *launch_fn;
    rb_terminate_fn *terminate_fn;
    rb_list_fn *list_fn;
    rb_spot_history_fn *prices_fn;
    int64_t from_unix_us;
    void *arg;
};

static void after(struct fake_cloud *c, int64_t delay_us, rb_loop_fn *fn, struct later *l)
{
    c->v->loop.timer_start(c->v, delay_us, fn, l);
}

// The controller reads it when it can.
static void tell_after(struct fake_cloud *c, int64_t delay_us, rb_loop_fn *fn, struct later *l)
{
    c->v->ours.timer_start(c->v, delay_us, fn, l);
}

static int64_t latency(struct fake_cloud *c)
{
    return 5000 + (int64_t)(45000 * chance(c));
}

// Instances.

static void tell(struct fake_cloud *c)
{
    if (c->wakes && c->wake)
        c->wake(c->wake_arg);
}

static void watch(struct rb_provider *p, const char *run_id, rb_loop_fn *wake, void *arg)
{
    (void)run_id;
    struct fake_cloud *c = p->state;
    c->wake = wake;
    c->wake_arg = arg;
}

void fake_cloud_kill_instance(struct fake_cloud *c, int index, const char *reason)
{
    struct fake_instance *i = c->instances[index];
    if (i->state == RB_INSTANCE_TERMINATED)
        return;
    i->state = RB_INSTANCE_TERMINATED;
    i->reason = reason;
    if (i->terminated_unix_us < 0)
        i->terminated_unix_us = virtual_loop_unix_us(c->v);
    tell(c);
    if (c->died)
        c->died(c->died_ctx, index);
}

static void preempt(void *arg)
{
    struct fake_instance *i = arg;
    if (i->state == RB_INSTANCE_RUNNING)
        fake_cloud_kill_instance(i->cloud, i->index, "Server.SpotInstanceTermination");
}

static void boot(void *arg)
{
    struct fake_instance *i = arg;
    struct fake_cloud *c = i->cloud;
    if (i->state != RB_INSTANCE_PENDING || c->faults.never_boots)
        return;
    i->state = RB_INSTANCE_RUNNING;
    i->running_unix_us = virtual_loop_unix_us(c->v);
    tell(c);
    if (c->faults.preemption_per_hour > 0) {
        const double hours = -log(chance(c)) / c->faults.preemption_per_hour;
        c->v->loop.timer_start(c->v, (int64_t)(hours * 3.6e9), preempt, i);
    }
}

static struct fake_instance *add_instance(struct fake_cloud *c, const struct fake_instance *wanted)
{
    struct fake_instance *i = rb_xcalloc(1, sizeof *i);
    *i = *wanted;
    i->cloud = c;
    i->index = c->n_instances;
    i->state = RB_INSTANCE_PENDING;
    i->created_us = c->v->now_us;
    i->visible_us = c->v->now_us + (int64_t)(chance(c) * (double)c->faults.visible_after_us);
    i->running_unix_us = i->terminated_unix_us = -1;
    snprintf(i->id, sizeof i->id, "i-%08x", c->n_instances);
    c->instances = rb_xrealloc(c->instances, (size_t)c->n_instances + 1, sizeof(struct fake_instance *));
    c->instances[c->n_instances++] = i;
    c->v->loop.timer_start(c->v, (int64_t)((0.5 + chance(c)) * (double)c->queue_mean_us), boot, i);
    return i;
}

static struct rb_instance describe(const struct fake_instance *i, char address[32])
{
    snprintf(address, 32, "10.0.%d.%d", (i->index + ADDRESS_BASE) / 250, (i->index + ADDRESS_BASE) % 250);
    return (struct rb_instance){
        .id = i->id,
        .state = i->state,
        .address = i->state == RB_INSTANCE_RUNNING ? address : NULL,
        .private_address = i->state == RB_INSTANCE_RUNNING ? address : NULL,
        .instance_type = i->type,
        .zone = "here-a",
        .market = i->cloud->faults.other_market ? RB_MARKET_SPOT : i->market,
        .token = i->token,
        .member = i->member,
        .run_id = i->run_id,
        .launch_id = i->launch_id,
        .owner = i->owner,
        .running_at_us = i->running_unix_us,
        .terminated_at_us = i->state == RB_INSTANCE_TERMINATED ? i->terminated_unix_us : -1,
        .state_reason = i->reason,
        .sold_out = i->reason && strcmp(i->reason, "Server.InsufficientInstanceCapacity") == 0,
    };
}

static int find(void *cloud, const char *address, const char **out_id)
{
    const struct fake_cloud *c = cloud;
    for (int i = 0; i < c->n_instances; i++) {
        char text[32];
        describe(c->instances[i], text);
        if (strcmp(text, address) == 0 && c->instances[i]->state == RB_INSTANCE_RUNNING) {
            *out_id = c->instances[i]->id;
            return i;
        }
    }
    return -1;
}

static enum fake_ground ground(void *cloud, int instance)
{
    const struct fake_cloud *c = cloud;
    if (c->faults.silent)
        return FAKE_GROUND_SILENT;
    return c->instances[instance]->state == RB_INSTANCE_RUNNING ? FAKE_GROUND_UP : FAKE_GROUND_GONE;
}

struct fake_site fake_cloud_site(struct fake_cloud *c)
{
    return (struct fake_site){.v = c->v, .cloud = c, .find = find, .ground = ground};
}

// Launch.

static void answer_launch(void *arg)
{
    struct later *l = arg;
    if (l->session == l->cloud->session) {
        char addresses[FAKE_GANG][32];
        struct rb_instance gang[FAKE_GANG];
        for (int i = 0; i < l->copy.count && !l->err.code; i++)
            gang[i] = describe(l->cloud->instances[l->instance + i], addresses[i]);
        l->launch_fn(l->arg, l->err.code ? &l->err : NULL, l->err.code ? NULL : gang);
    }
    free(l);
}

// The first of its launch.
static int by_token(const struct fake_cloud *c, const char *token)
{
    for (int i = c->n_instances - 1; i >= 0; i--) { // of two, the one in the zone where it came to rest
        if (strcmp(c->instances[i]->token, token) == 0)
            return i - c->instances[i]->member;
    }
    return -1;
}

static void second_zone_runs(void *arg)
{
    struct later *l = arg;
    if (l->cloud->instances[l->instance]->state == RB_INSTANCE_PENDING)
        after(l->cloud, latency(l->cloud), second_zone_runs, l);
    else
        tell_after(l->cloud, 0, answer_launch, l);
}

// It is the client who goes on to the next zone.
static void first_zone_fails(void *arg)
{
    struct later *l = arg;
    fake_cloud_kill_instance(l->cloud, l->instance, "no machine");
    if (l->session == l->cloud->session)
        l->instance = add_instance(l->cloud, &l->copy)->index;
    second_zone_runs(l);
}

// Those of a launch follow one another.
static int add_gang(struct fake_cloud *c, const struct fake_instance *wanted, struct rb_err *err)
{
    const bool half = wanted->count > 1 && chance(c) < c->faults.half_gang;
    const int first = c->n_instances, n = wanted->count - half;
    struct fake_instance member = *wanted;
    if (c->room > 0 && fake_cloud_alive(c) + wanted->count > c->room) {
        rb_err_set(err, RB_ERR_CAPACITY, "InsufficientInstanceCapacity");
        return -1;
    }
    for (member.member = 0; member.member < n; member.member++)
        add_instance(c, &member);
    if (half)
        rb_err_set(err, RB_ERR_UNKNOWN_OUTCOME, "expected %d instances, got %d", wanted->count, n);
    return first;
}

static bool is_whole(const struct fake_cloud *c, int first)
{
    const struct fake_instance *i = c->instances[first];
    const int last = first + i->count - 1;
    return last < c->n_instances && strcmp(c->instances[last]->token, i->token) == 0;
}

static void launch_arrives(void *arg)
{
    struct later *l = arg;
    struct fake_cloud *c = l->cloud;
    c->n_launch_calls++;
    if (c->faults.denied_launches > 0) {
        c->faults.denied_launches--;
        rb_err_set(&l->err, RB_ERR_DENIED, "RequestExpired");
        tell_after(c, latency(c), answer_launch, l);
        return;
    }
    l->instance = by_token(c, l->copy.token);
    if (l->instance < 0 && c->judge)
        c->judge(c->judge_ctx, c, &l->copy, &l->err);
    if (l->instance >= 0) {
        const struct fake_instance *same = c->instances[l->instance];
        assert(strcmp(same->launch_id, l->copy.launch_id) == 0 && strcmp(same->type, l->copy.type) == 0 &&
               strcmp(same->owner, l->copy.owner) == 0 && strcmp(same->name, l->copy.name) == 0 &&
               same->count == l->copy.count);
        if (!is_whole(c, l->instance))
            rb_err_set(&l->err, RB_ERR_UNKNOWN_OUTCOME, "expected %d instances, got fewer", same->count);
    } else if (l->err.code) {
        ; // judged
    } else if (c->faults.refuse_all != RB_ERR_NONE) {
        rb_err_set(&l->err, c->faults.refuse_all, "refused by the test");
    } else if (chance(c) < c->faults.capacity) {
        rb_err_set(&l->err, RB_ERR_CAPACITY, "InsufficientInstanceCapacity");
    } else {
        l->instance = add_gang(c, &l->copy, &l->err);
        if (c->faults.second_zone) {
            after(c, c->queue_mean_us * 2 / 5, first_zone_fails, l); // before any would run
            return;
        }
    }
    if (chance(c) < c->faults.lost_answer) {
        l->err = (struct rb_err){0};
        rb_err_set(&l->err, RB_ERR_UNKNOWN_OUTCOME, "no answer");
        tell_after(c, 2000000, answer_launch, l);
    } else {
        tell_after(c, latency(c), answer_launch, l);
    }
}

// Was it sent before?
static bool note_sent(struct fake_cloud *c, const char *token)
{
    for (int i = 0; i < c->n_sent; i++)
        if (strcmp(c->sent[i], token) == 0)
            return true;
    c->sent = rb_xrealloc(c->sent, (size_t)c->n_sent + 1, sizeof *c->sent);
    copy(c->sent[c->n_sent++], sizeof *c->sent, token);
    return false;
}

static bool is_cut_off(const struct fake_cloud *c)
{
    return c->faults.offline || c->faults.unreachable;
}

static void set_unreachable(struct rb_err *err)
{
    rb_err_set(err, RB_E_UNREACHABLE, "Couldn't connect to server");
}

static void send_copy(struct fake_cloud *c, const struct later *l, int64_t after_us)
{
    struct later *same = rb_xcalloc(1, sizeof *same);
    *same = *l;
    same->session = UINT64_MAX; // no one hears its answer
    after(c, after_us, launch_arrives, same);
}

static void launch(struct rb_provider *p, const struct rb_launch *wanted, rb_launch_fn *fn, void *arg)
{
    struct fake_cloud *c = p->state;
    struct later *l = rb_xcalloc(1, sizeof *l);
    *l = (struct later){.cloud = c, .session = c->session, .instance = -1, .launch_fn = fn, .arg = arg};
    assert(strlen(wanted->token) > 0 && strlen(wanted->token) <= 64);
    assert(rb_launch_count(wanted) <= FAKE_GANG);
    l->copy.count = rb_launch_count(wanted);
    copy(l->copy.token, sizeof l->copy.token, wanted->token);
    copy(l->copy.type, sizeof l->copy.type, wanted->instance_type);
    copy(l->copy.zone, sizeof l->copy.zone, wanted->zone);
    l->copy.market = wanted->market;
    copy(l->copy.name, sizeof l->copy.name, wanted->tags.name);
    copy(l->copy.run_id, sizeof l->copy.run_id, wanted->tags.run_id);
    copy(l->copy.launch_id, sizeof l->copy.launch_id, wanted->tags.launch_id);
    copy(l->copy.owner, sizeof l->copy.owner, wanted->tags.owner);
    if (c->faults.unreachable || c->faults.unsent != RB_ERR_NONE) {
        if (c->faults.unsent_copy)
            send_copy(c, l, 200000);
        if (c->faults.unreachable)
            set_unreachable(&l->err);
        else
            rb_err_set(&l->err, c->faults.unsent, "refused by the test before it was sent");
        tell_after(c, latency(c), answer_launch, l);
        return;
    }
    assert(wanted->max_lifetime_s >= 3600); // every node has an end that the cloud brings about
    assert(!note_sent(c, wanted->token) || wanted->again); // said before, and by now no one may remember
    const bool late = c->faults.late_request > 0 && chance(c) < c->faults.late_request;
    if (late)
        send_copy(c, l, (int64_t)(60e6 * chance(c)));
    if (late || c->faults.offline || chance(c) < c->faults.lost_request) {
        rb_err_set(&l->err, RB_ERR_UNKNOWN_OUTCOME, "no answer");
        tell_after(c, 2000000, answer_launch, l);
    } else {
        after(c, latency(c), launch_arrives, l);
    }
}

// Terminate.

static void answer_terminate(void *arg)
{
    struct later *l = arg;
    if (l->session == l->cloud->session)
        l->terminate_fn(l->arg, l->err.code ? &l->err : NULL);
    free(l);
}

static void ended(void *arg)
{
    struct fake_instance *i = arg;
    fake_cloud_kill_instance(i->cloud, i->index, "Client.UserInitiatedShutdown");
}

static void terminate_arrives(void *arg)
{
    struct later *l = arg;
    struct fake_cloud *c = l->cloud;
    struct fake_instance *found = NULL;
    for (int i = 0; i < c->n_instances; i++) {
        if (strcmp(c->instances[i]->id, l->id) == 0 && c->instances[i]->visible_us <= c->v->now_us)
            found = c->instances[i];
    }
    if (c->faults.refused_ends > 0) {
        c->faults.refused_ends--;
        rb_err_set(&l->err, RB_ERR_DENIED, "UnauthorizedOperation");
    } else if (!found) {
        rb_err_set(&l->err, RB_ERR_NOT_FOUND, "InvalidInstanceID.NotFound");
    } else if (found->state == RB_INSTANCE_PENDING || found->state == RB_INSTANCE_RUNNING) {
        found->state = RB_INSTANCE_STOPPING;
        found->terminated_unix_us = virtual_loop_unix_us(c->v); // billing ends here
        if (c->died)
            c->died(c->died_ctx, found->index);
        c->v->loop.timer_start(c->v, 200000 + (int64_t)(1e6 * chance(c)), ended, found);
    }
    if (chance(c) < c->faults.lost_answer) {
        l->err = (struct rb_err){0};
        rb_err_set(&l->err, RB_ERR_UNKNOWN_OUTCOME, "no answer");
    }
    tell_after(c, latency(c), answer_terminate, l);
}

static void terminate(struct rb_provider *p, const char *id, rb_terminate_fn *fn, void *arg)
{
    struct fake_cloud *c = p->state;
    struct later *l = rb_xcalloc(1, sizeof *l);
    *l = (struct later){.cloud = c, .session = c->session, .terminate_fn = fn, .arg = arg};
    copy(l->id, sizeof l->id, id);
    if (is_cut_off(c) || chance(c) < c->faults.lost_request) {
        rb_err_set(&l->err, RB_ERR_UNKNOWN_OUTCOME, "no answer");
        tell_after(c, 2000000, answer_terminate, l);
    } else {
        after(c, latency(c), terminate_arrives, l);
    }
}

// List.

static void answer_list(void *arg)
{
    struct later *l = arg;
    struct fake_cloud *c = l->cloud;
    if (l->session == c->session && is_cut_off(c)) {
        set_unreachable(&l->err);
        l->list_fn(l->arg, &l->err, NULL, 0, false);
    } else if (l->session == c->session) {
        const bool complete = chance(c) >= c->faults.partial_listing;
        struct rb_instance *found = rb_xcalloc((size_t)c->n_instances + 1, sizeof *found);
        char(*addresses)[32] = rb_xcalloc((size_t)c->n_instances + 1, sizeof *addresses);
        int n = 0;
        for (int i = 0; i < c->n_instances; i++) {
            const struct fake_instance *k = c->instances[i];
            if (strcmp(k->run_id, l->copy.run_id) != 0 || k->visible_us > c->v->now_us ||
                (!complete && chance(c) < 0.5) || (c->faults.vanishing && k->state == RB_INSTANCE_TERMINATED))
                continue;
            found[n] = describe(k, addresses[n]);
            n++;
        }
        l->list_fn(l->arg, NULL, found, n, complete);
        free(found);
        free(addresses);
    }
    free(l);
}

static void list(struct rb_provider *p, const char *run_id, rb_list_fn *fn, void *arg)
{
    struct fake_cloud *c = p->state;
    struct later *l = rb_xcalloc(1, sizeof *l);
    c->n_listings++;
    *l = (struct later){.cloud = c, .session = c->session, .list_fn = fn, .arg = arg};
    copy(l->copy.run_id, sizeof l->copy.run_id, run_id);
    tell_after(c, latency(c), answer_list, l);
}

// Spot prices: those since an instant, and the one that held then; the newest first.

static void refuse_prices(struct fake_cloud *c, struct rb_err *err)
{
    rb_err_set(err, c->refuse_prices, "not authorized to perform: ec2:DescribeSpotPriceHistory");
    if (c->n_refused_prices > 0 && --c->n_refused_prices == 0)
        c->refuse_prices = RB_ERR_NONE;
}

static void answer_prices(void *arg)
{
    struct later *l = arg;
    struct fake_cloud *c = l->cloud;
    const struct rb_price_path *prices = &c->prices;
    struct rb_spot_change *found = rb_xcalloc((size_t)prices->n + 1, sizeof *found);
    int n = 0;
    for (int i = prices->n - 1; i >= 0; i--) {
        if (prices->steps[i].at_us > virtual_loop_unix_us(c->v))
            continue;
        found[n++] = (struct rb_spot_change){"box", "here-a", prices->steps[i].at_us, prices->steps[i].uusd_per_hour};
        if (prices->steps[i].at_us <= l->from_unix_us)
            break;
    }
    if (is_cut_off(c))
        set_unreachable(&l->err);
    else if (c->refuse_prices != RB_ERR_NONE)
        refuse_prices(c, &l->err);
    if (l->session == c->session)
        l->prices_fn(l->arg, l->err.code ? &l->err : NULL, found, l->err.code ? 0 : n);
    free(found);
    free(l);
}

static void spot_history(struct rb_provider *p, const char *const *types, int n_types, int64_t from_unix_us,
                         rb_spot_history_fn *fn, void *arg)
{
    struct fake_cloud *c = p->state;
    struct later *l = rb_xcalloc(1, sizeof *l);
    assert(n_types == 1 && strcmp(types[0], "box") == 0);
    c->n_price_questions++;
    *l = (struct later){.cloud = c, .session = c->session, .prices_fn = fn, .from_unix_us = from_unix_us, .arg = arg};
    tell_after(c, latency(c), answer_prices, l);
}

#define EVERY_CLOUD .name = "fake", .launches_gangs = true, .launch = launch, .list = list, .watch = watch, .terminate = terminate
static const struct rb_provider_ops ops = {EVERY_CLOUD}, ops_with_prices = {EVERY_CLOUD, .spot_history = spot_history};

struct rb_provider fake_cloud_provider(struct fake_cloud *c)
{
    return (struct rb_provider){.ops = c->prices.steps ? &ops_with_prices : &ops, .state = c};
}

void fake_cloud_init(struct fake_cloud *c, struct virtual_loop *v, uint64_t seed)
{
    *c = (struct fake_cloud){.v = v, .seed = seed, .queue_mean_us = 5000000};
}

void fake_cloud_finish(struct fake_cloud *c)
{
    for (int i = 0; i < c->n_instances; i++)
        free(c->instances[i]);
    free(c->instances);
    free(c->sent);
}

void fake_cloud_new_session(struct fake_cloud *c)
{
    c->session++;
    c->wake = NULL;
}

int fake_cloud_alive(const struct fake_cloud *c)
{
    int n = 0;
    for (int i = 0; i < c->n_instances; i++)
        n += c->instances[i]->state != RB_INSTANCE_TERMINATED;
    return n;
}

int64_t fake_cloud_bill_uusd(const struct fake_cloud *c, const struct rb_billing *billing)
{
    int64_t sum = 0;
    for (int i = 0; i < c->n_instances; i++) {
        const struct fake_instance *k = c->instances[i];
        if (k->terminated_unix_us >= 0)
            sum += rb_bill_node(billing, k->running_unix_us, k->terminated_unix_us).total_uusd;
    }
    return sum;
}

void fake_cloud_add_stranger(struct fake_cloud *c, const char *run_id)
{
    struct fake_instance wanted = {
        .count = 1, .token = "stranger", .launch_id = "stranger", .owner = "us", .name = "stranger"};
    copy(wanted.run_id, sizeof wanted.run_id, run_id);
    add_instance(c, &wanted);
}
