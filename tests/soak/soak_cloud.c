#include "soak_cloud.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct rb_mock_key test_key = {"test", "test"};

#define DEATH_US 300000 // from the order to end a machine to the end of its last process

static void must(bool ok, const struct rb_err *err)
{
    if (!ok) {
        fprintf(stderr, "soak cloud: %s\n", err->message);
        abort();
    }
}

int64_t soak_cloud_now_us(const struct soak_cloud *c)
{
    return c->cloud_unix_us + c->v.now_us;
}

// --- machines

static bool *up_of(struct soak_cloud *c, int instance)
{
    while (c->n_up <= instance) {
        c->up = rb_xrealloc(c->up, (size_t)c->n_up + 1, sizeof *c->up);
        c->up[c->n_up++] = false;
    }
    return &c->up[instance];
}

struct last_process {
    struct soak_cloud *cloud;
    struct rb_cloud_instance *instance;
};

static void last_process_ended(void *arg)
{
    struct last_process *l = arg;
    rb_cloud_node_gone(l->cloud->cloud, l->instance, soak_cloud_now_us(l->cloud));
    soak_cloud_settle(l->cloud);
    free(l);
}

static void take_down(struct soak_cloud *c, int instance)
{
    if (*up_of(c, instance) && c->died)
        c->died(c->died_ctx, instance);
    *up_of(c, instance) = false;
}

static void carry_out(struct soak_cloud *c, const struct rb_cloud_order *order)
{
    struct last_process *last;
    switch (order->what) {
    case RB_CLOUD_BOOT:
        *up_of(c, order->instance->ordinal) = true;
        rb_cloud_node_ready(c->cloud, order->instance, soak_cloud_now_us(c));
        break;
    case RB_CLOUD_DARK:
        take_down(c, order->instance->ordinal);
        break;
    case RB_CLOUD_END:
        take_down(c, order->instance->ordinal);
        last = rb_xcalloc(1, sizeof *last);
        *last = (struct last_process){.cloud = c, .instance = order->instance};
        c->v.loop.timer_start(&c->v, DEATH_US, last_process_ended, last);
        break;
    }
}

static void on_time(void *arg)
{
    struct soak_cloud *c = arg;
    c->timer = 0;
    soak_cloud_settle(c);
}

void soak_cloud_settle(struct soak_cloud *c)
{
    struct rb_cloud_order order;
    rb_cloud_advance(c->cloud, soak_cloud_now_us(c));
    while (rb_cloud_next_order(c->cloud, &order))
        carry_out(c, &order);
    if (c->timer)
        c->v.loop.timer_cancel(&c->v, c->timer);
    const int64_t next_us = rb_cloud_next_us(c->cloud);
    c->timer = next_us == INT64_MAX ? 0 : c->v.loop.timer_start(&c->v, next_us - soak_cloud_now_us(c), on_time, c);
}

// --- what the launcher sees

static int find(void *cloud, const char *address, const char **out_id)
{
    struct soak_cloud *c = cloud;
    for (int k = 0; k < rb_cloud_n_instances(c->cloud); k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(c->cloud, k);
        const struct in_addr in = {.s_addr = htonl(i->address)};
        if (strcmp(inet_ntoa(in), address) != 0)
            continue;
        if (c->is_gcp)
            snprintf(c->id, sizeof c->id, "%s.%s", i->name, i->zone);
        else
            snprintf(c->id, sizeof c->id, "%s", i->id);
        *out_id = c->id;
        return k;
    }
    return -1;
}

// ssh cannot tell a machine that boots from one that is gone: neither answers.
static enum fake_ground ground(void *cloud, int instance)
{
    return *up_of(cloud, instance) && !soak_cloud_is_offline(cloud) ? FAKE_GROUND_UP : FAKE_GROUND_SILENT;
}

struct fake_site soak_cloud_site(struct soak_cloud *c)
{
    return (struct fake_site){.v = &c->v, .cloud = c, .find = find, .ground = ground};
}

// --- clocks

void soak_cloud_jump(struct soak_cloud *c, int64_t by_us)
{
    c->v.unix_base_us += by_us;
}

void soak_cloud_sleep(struct soak_cloud *c, int64_t for_us)
{
    c->v.unix_base_us += for_us;
    c->cloud_unix_us += for_us;
    soak_cloud_settle(c);
}

// --- the host's network

bool soak_cloud_is_offline(const struct soak_cloud *c)
{
    return c->v.now_us < c->online_us;
}

static void goes_online(void *arg)
{
    struct soak_cloud *c = arg;
    if (!soak_cloud_is_offline(c))
        c->network(c->died_ctx, false);
}

static void end_themselves(void *arg)
{
    struct soak_cloud *c = arg;
    const bool alone = soak_cloud_is_offline(c) || virtual_loop_is_stopped(&c->v);
    for (int k = 0; alone && k < rb_cloud_n_instances(c->cloud); k++)
        if (*up_of(c, k))
            rb_cloud_guest_shutdown(c->cloud, rb_cloud_instance(c->cloud, k), soak_cloud_now_us(c), 0);
    soak_cloud_settle(c);
}

void soak_cloud_go_offline(struct soak_cloud *c, int64_t for_us)
{
    c->online_us = c->v.now_us + for_us;
    c->network(c->died_ctx, true);
    c->v.loop.timer_start(&c->v, for_us, goes_online, c);
    if (for_us > SOAK_DEAD_MAN_US)
        c->v.loop.timer_start(&c->v, SOAK_DEAD_MAN_US, end_themselves, c);
}

// --- the controller's process

void soak_cloud_stop(struct soak_cloud *c, int64_t for_us)
{
    virtual_loop_stop_for(&c->v, for_us);
    if (for_us > SOAK_DEAD_MAN_US)
        c->v.loop.timer_start(&c->v, SOAK_DEAD_MAN_US, end_themselves, c);
}

// --- life

void soak_cloud_init(struct soak_cloud *c, uint64_t seed, const char *yaml, const char *prices, const char *chaos,
                     bool whole_seconds, const struct rb_mock_gcp_account *account)
{
    struct rb_err err;
    *c = (struct soak_cloud){0};
    virtual_loop_init(&c->v);
    rb_arena_init(&c->arena);
    rb_stream_init(&c->draws, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .stage = 1});
    must(rb_cloud_config_parse("soak cloud", yaml, prices, NULL, &c->arena, &c->config, &err), &err);
    must(rb_chaos_parse("soak chaos", chaos, strlen(chaos), &c->arena, &c->config.chaos, &err), &err);
    c->cloud_unix_us = c->v.unix_base_us;
    c->config.seed = seed;
    c->config.whole_seconds = whole_seconds;
    c->config.epoch_us = soak_cloud_now_us(c);
    c->config.first_address = 0x0a000001; // 10.0.0.1
    c->config.n_addresses = 60000;
    c->cloud = rb_cloud_create(&c->config);
    c->ec2 = (struct rb_mock_ec2){.cloud = c->cloud, .keys = {&test_key, 1}};
    c->gcp = rb_mock_gcp_create(c->cloud, account, NULL);
    soak_cloud_settle(c);
}

void soak_cloud_finish(struct soak_cloud *c)
{
    rb_mock_gcp_destroy(c->gcp);
    rb_cloud_destroy(c->cloud);
    rb_arena_finish(&c->arena);
    virtual_loop_finish(&c->v);
    free(c->up);
}
