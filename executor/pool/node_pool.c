#include "executor/pool/node_pool.h"

#include "base/arena.h"
#include "base/errors/log.h"
#include "base/silence.h"
#include "base/text/units.h"
#include "executor/controller/lease.h"
#include "profiles/catalog/infra.h"
#include "profiles/catalog/cpu_slots.h"
#include "profiles/job/job_image.h"
#include "providers/wire/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAUNCH_TRIES = 4,   // identical requests after an unknown outcome
    END_LISTINGS = 200, // listings after which it counts as unknown whether all have ended
};

struct pool_node {
    struct rb_pool *pool;
    int index;
    struct rb_pool_node seen;
    int64_t awaited_us;      // attended time (base/silence.h) of its request, or of the end of fetching
    bool fetching;           // the job's data: for as long as that takes
    struct rb_buf user_data; // may hold the private half of its host key
    char host_key[128];
    char token[65], launch_id[33];
    int64_t lease_until_us; // in its launch request; unix
    int tries;
    bool preparing, reported, launch_pending, terminated;
    char waits_for[400]; // why it is not ready; "": no reason is known
    bool refused;        // the cloud refused for good: there is no machine to look for
};

struct rb_pool {
    struct rb_pool_config config;
    struct rb_launcher *launcher;
    struct pool_node *nodes;
    int n_listings_at_end;
    bool ending, is_over, listing;
    uint64_t poll_timer;
    struct rb_lease_keeper *leases;
};

static void launch(struct pool_node *n);
static void poll(void *arg);

static int64_t now_us(const struct rb_pool *p)
{
    return p->config.loop->now_us(p->config.loop->ctx);
}

static void report(struct pool_node *n, enum rb_pool_outcome outcome, const struct rb_err *err)
{
    if (n->reported)
        return;
    n->reported = true;
    n->seen.outcome = outcome;
    n->pool->config.ready(n->pool->config.ctx, n->index, err);
}

static void end_node(struct pool_node *n);

// --- leases -----------------------------------------------------------------------------------------------------------

static void each_instance(void *ctx, void (*add)(void *to, const char *instance_id), void *to)
{
    const struct rb_pool *p = ctx;
    for (int k = 0; k < p->config.n_nodes && !p->is_over; k++)
        if (p->nodes[k].seen.instance_id[0] && !p->nodes[k].terminated)
            add(to, p->nodes[k].seen.instance_id);
}

static void warn_of_leases(void *ctx, const char *text)
{
    (void)ctx;
    rb_warn("%s", text);
}

static void begin_leases(struct rb_pool *p)
{
    p->leases = rb_lease_keeper_create(&(struct rb_lease_keeper_config){.loop = p->config.loop,
                                                                        .provider = p->config.provider,
                                                                        .infra = p->config.infra,
                                                                        .each = each_instance,
                                                                        .warn = warn_of_leases,
                                                                        .ctx = p});
}

static void see_instance(struct pool_node *n, const char *id)
{
    snprintf(n->seen.instance_id, sizeof n->seen.instance_id, "%s", id);
    rb_lease_keeper_add(n->pool->leases, n->lease_until_us);
}

// --- launch -----------------------------------------------------------------------------------------------------------

static void on_launched(void *arg, const struct rb_err *err, const struct rb_instance *instance)
{
    struct pool_node *n = arg;
    n->launch_pending = false;
    if (!err) {
        see_instance(n, instance->id);
        if (n->pool->ending)
            end_node(n);
    } else if ((err->code == RB_ERR_UNKNOWN_OUTCOME || err->code == RB_ERR_THROTTLED) && n->tries++ < LAUNCH_TRIES) {
        launch(n); // the identical request: the same token cannot launch twice
    } else {
        n->refused = err->code != RB_ERR_UNKNOWN_OUTCOME;
        report(n, err->code == RB_ERR_CAPACITY ? RB_POOL_CAPACITY : RB_POOL_FAILED, err);
    }
}

static void launch(struct pool_node *n)
{
    struct rb_pool *p = n->pool;
    const struct rb_resources *r = &p->config.job->resources;
    const struct rb_infra_place place = rb_infra_place(p->config.infra);
    char until[32];
    rb_lease_format(n->lease_until_us, until);
    struct rb_launch l = {
        .token = n->token,
        .region = place.region,
        .zone = place.zone[0] ? place.zone : NULL,
        .instance_type = p->config.offer->instance_type,
        .gpus = rb_accelerator_is_cpu(p->config.offer->accelerator) ? 0 : p->config.offer->gpus,
        .market = p->config.offer->market,
        .image_id = rb_job_boot_image(p->config.job, p->config.infra),
        .user_data = n->user_data.data,
        .disk_gb = (r->disk_bytes + 999999999) / 1000000000,
        .max_lifetime_s = p->config.birth->hard_limit_min * 60,
        .tags = {.run_id = p->config.run_id,
                 .launch_id = n->launch_id,
                 .owner = p->config.owner,
                 .expires_at = until},
    };
    rb_launch_take(&l, r);
    n->launch_pending = true;
    p->config.provider->ops->launch(p->config.provider, &l, on_launched, n);
}

static void make_token(struct pool_node *n)
{
    uint8_t random[16];
    char text[400];
    rb_random_bytes(random, sizeof random);
    rb_digest_hex(random, sizeof random, n->launch_id);
    int len = snprintf(text, sizeof text, "%s|%s|%s", n->pool->config.run_id, n->launch_id, n->pool->config.infra);
    rb_digest_sha256(text, (size_t)len, n->token);
    n->token[64] = '\0';
}

// --- listing ----------------------------------------------------------------------------------------------------------

static struct pool_node *find(struct rb_pool *p, const struct rb_instance *i)
{
    for (int k = 0; k < p->config.n_nodes; k++) {
        struct pool_node *n = &p->nodes[k];
        if (strcmp(n->seen.instance_id, i->id) == 0 || (i->launch_id && strcmp(n->launch_id, i->launch_id) == 0))
            return n;
    }
    return NULL;
}

// When it began to run, in loop time, as the cloud reports it. EC2 reports whole seconds, so it is some instant of that
// second, not before the request and not after now: takes the middle of what is left.
static int64_t began_running_us(const struct pool_node *n, int64_t running_at_us)
{
    const struct rb_loop *loop = n->pool->config.loop;
    const int64_t now = now_us(n->pool), age = running_at_us >= 0 ? loop->unix_us(loop->ctx) - running_at_us : 0;
    int64_t first = now - (age > 0 ? age : 0), last = first;
    if (running_at_us >= 0 && running_at_us % RB_US_PER_S == 0)
        last = first + RB_US_PER_S < now ? first + RB_US_PER_S : now;
    first = first > n->seen.requested_us ? first : n->seen.requested_us;
    return last > first ? first + (last - first) / 2 : first;
}

static void see_running(struct pool_node *n, const struct rb_instance *i)
{
    struct rb_pool *p = n->pool;
    if (n->seen.running_us < 0)
        n->seen.running_us = began_running_us(n, i->running_at_us);
    if (i->pull_us > 0)
        n->seen.pull_us = i->pull_us;
    if (!i->address || n->preparing || p->ending)
        return;
    n->preparing = true;
    snprintf(n->seen.address, sizeof n->seen.address, "%s", i->address);
    struct rb_launch_node node = {
        .node = n->index,
        .infra = p->config.infra,
        .instance_id = n->seen.instance_id,
        .address = n->seen.address,
        .user = p->config.user,
        .port = p->config.port,
        .host_key = n->host_key,
        .gpus = p->config.offer->gpus,
    };
    p->launcher->ops->prepare(p->launcher, &node);
}

// By its id, or by its address.
static bool has_taken_place(const struct pool_node *n, const struct rb_instance *i)
{
    return (strcmp(n->seen.instance_id, i->id) != 0 && i->took_place_at_us > 0) ||
           rb_instance_is_another(n->pool->config.provider, n->seen.address, i);
}

// The one before it has ended, and with it what was measured there. This one is ended in its stead.
static void lose_place(struct pool_node *n, const struct rb_instance *i)
{
    struct rb_err err = {0};
    rb_err_set(&err, RB_E_NODE_NOT_READY, "node %d ended by itself: another one, %s, has its place", n->index, i->id);
    see_instance(n, i->id);
    if (n->pool->ending)
        end_node(n);
    else
        report(n, RB_POOL_FAILED, &err);
}

static void see(struct pool_node *n, const struct rb_instance *i)
{
    if (n->seen.instance_id[0] == '\0') { // the answer to the launch was lost, but not the machine
        see_instance(n, i->id);
    } else if (has_taken_place(n, i)) {
        lose_place(n, i);
        return;
    }
    if (i->fault && !n->pool->ending)
        report(n, RB_POOL_FAILED, i->fault);
    switch (i->state) {
    case RB_INSTANCE_PENDING:
        break;
    case RB_INSTANCE_RUNNING:
        see_running(n, i);
        break;
    case RB_INSTANCE_STOPPING:
    case RB_INSTANCE_STOPPED:
    case RB_INSTANCE_TERMINATED:
        if (!n->pool->ending) {
            struct rb_err err = {0};
            rb_err_set(&err, RB_E_NODE_NOT_READY, "node %d ended by itself: %s", n->index,
                       i->state_reason ? i->state_reason : "no reason given");
            report(n, RB_POOL_FAILED, &err);
        }
        n->terminated = i->state == RB_INSTANCE_TERMINATED;
        break;
    }
    if (n->pool->ending && i->state != RB_INSTANCE_TERMINATED && i->state != RB_INSTANCE_STOPPING)
        end_node(n);
}

static void check_timeouts(struct rb_pool *p)
{
    for (int k = 0; k < p->config.n_nodes; k++) {
        struct pool_node *n = &p->nodes[k];
        if (!n->reported && !n->fetching && rb_quiet_us(p->config.loop, n->awaited_us) > p->config.boot_timeout_us) {
            struct rb_err err = {0};
            char text[32];
            rb_err_set(&err, RB_E_NODE_NOT_READY, "node %d was not ready after %s: %s", n->index,
                       rb_format_duration(p->config.boot_timeout_us, text),
                       n->waits_for[0]           ? n->waits_for
                       : n->seen.running_us >= 0 ? "it runs, and nothing came back from it"
                                                 : "the cloud did not show it running");
            report(n, RB_POOL_TIMEOUT, &err);
        }
    }
}

static void check_gone(struct rb_pool *p, int n_alive, bool complete)
{
    bool pending = false, all_refused = true;
    for (int k = 0; k < p->config.n_nodes; k++) {
        pending |= p->nodes[k].launch_pending;
        all_refused &= p->nodes[k].refused;
    }
    bool gave_up = !all_refused && ++p->n_listings_at_end > END_LISTINGS;
    if (!gave_up && !all_refused && (n_alive > 0 || !complete || pending))
        return;
    struct rb_err err = {0};
    if (gave_up)
        rb_err_set(&err, RB_E_INSTANCES_LEFT, "could not establish that no instance of %s is left: run `rbrun gc`",
                   p->config.run_id);
    p->is_over = true;
    p->config.gone(p->config.ctx, gave_up ? &err : NULL);
}

static void on_listed(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct rb_pool *p = arg;
    p->listing = false;
    int n_alive = 0;
    for (int i = 0; !err && i < n; i++) {
        n_alive += instances[i].state != RB_INSTANCE_TERMINATED;
        struct pool_node *node = find(p, &instances[i]);
        if (node)
            see(node, &instances[i]);
    }
    if (p->ending)
        check_gone(p, n_alive, !err && complete);
    else
        check_timeouts(p);
}

static void poll(void *arg)
{
    struct rb_pool *p = arg;
    p->poll_timer = 0;
    if (p->is_over)
        return;
    if (!p->listing) {
        p->listing = true;
        p->config.provider->ops->list(p->config.provider, p->config.run_id, on_listed, p);
    }
    p->poll_timer = p->config.loop->timer_start(p->config.loop->ctx, p->config.poll_us, poll, p);
}

// --- end --------------------------------------------------------------------------------------------------------------

static void on_terminated(void *arg, const struct rb_err *err)
{
    (void)arg;
    if (err) // the next listing shows it alive, and its end is requested again
        rb_trace("provider", "terminate: %s", err->message);
}

static void end_node(struct pool_node *n)
{
    struct rb_pool *p = n->pool;
    if (n->seen.instance_id[0] && !n->terminated)
        p->config.provider->ops->terminate(p->config.provider, n->seen.instance_id, on_terminated, n);
}

void rb_pool_end(struct rb_pool *p)
{
    if (p->ending)
        return;
    p->ending = true;
    for (int k = 0; k < p->config.n_nodes; k++) {
        struct pool_node *n = &p->nodes[k];
        n->reported = true;
        if (p->launcher)
            p->launcher->ops->forget(p->launcher, k);
        end_node(n);
    }
}

// --- the rest -----------------------------------------------------------------------------------------------------------

struct rb_pool *rb_pool_create(const struct rb_pool_config *config)
{
    struct rb_pool *p = rb_xcalloc(1, sizeof *p);
    p->config = *config;
    p->nodes = rb_xcalloc((size_t)config->n_nodes, sizeof *p->nodes);
    for (int k = 0; k < config->n_nodes; k++)
        p->nodes[k] = (struct pool_node){
            .pool = p, .index = k, .seen = {.requested_us = -1, .running_us = -1, .prepared_us = -1}};
    return p;
}

void rb_pool_destroy(struct rb_pool *p)
{
    if (!p)
        return;
    p->config.loop->timer_cancel(p->config.loop->ctx, p->poll_timer);
    rb_lease_keeper_destroy(p->leases);
    for (int k = 0; k < p->config.n_nodes; k++) {
        struct rb_buf *user_data = &p->nodes[k].user_data;
        if (user_data->len)
            explicit_bzero(user_data->data, user_data->len);
        rb_buf_finish(user_data);
    }
    free(p->nodes);
    free(p);
}

bool rb_pool_start(struct rb_pool *p, struct rb_launcher *launcher, struct rb_err *err)
{
    p->launcher = launcher;
    const struct rb_transport *transport = p->config.transport;
    for (int k = 0; k < p->config.n_nodes && transport->make_user_data; k++)
        if (!transport->make_user_data(p->config.birth, &p->nodes[k].user_data, p->nodes[k].host_key, err))
            return false;
    const struct rb_loop *loop = p->config.loop;
    begin_leases(p);
    for (int k = 0; k < p->config.n_nodes; k++) {
        make_token(&p->nodes[k]);
        p->nodes[k].lease_until_us = loop->unix_us(loop->ctx) + RB_LEASE_S * RB_US_PER_S;
        p->nodes[k].seen.requested_us = now_us(p);
        p->nodes[k].awaited_us = rb_attended_us(p->config.loop);
        launch(&p->nodes[k]);
    }
    p->poll_timer = p->config.loop->timer_start(p->config.loop->ctx, p->config.poll_us, poll, p);
    return true;
}

void rb_pool_prepared(struct rb_pool *p, int node, const struct rb_err *err)
{
    struct pool_node *n = &p->nodes[node];
    if (!err)
        n->seen.prepared_us = now_us(p);
    report(n, err ? RB_POOL_FAILED : RB_POOL_READY, err);
}

void rb_pool_waiting(struct rb_pool *p, int node, const char *why)
{
    snprintf(p->nodes[node].waits_for, sizeof p->nodes[node].waits_for, "%s", why);
}

void rb_pool_fetching(struct rb_pool *p, int node, bool on)
{
    p->nodes[node].fetching = on;
    p->nodes[node].awaited_us = rb_attended_us(p->config.loop);
}

void rb_pool_fetched(struct rb_pool *p, int node, int64_t us)
{
    p->nodes[node].seen.data_us = us;
}

void rb_pool_pulled(struct rb_pool *p, int node, int64_t us)
{
    p->nodes[node].seen.pull_us = us;
}

const struct rb_pool_node *rb_pool_node(const struct rb_pool *p, int node)
{
    return &p->nodes[node].seen;
}
