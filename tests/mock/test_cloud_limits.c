// What a mock cloud will not give, and what it does to instances unasked: quotas, pools, buckets, interruptions, allowed
// times, delayed listings, fading tags, and the fates that a chaos file has in store. Virtual time.
#include "clouds.h"

#include "base/file.h"
#include "providers/mock/cloud/cloud_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct small_cloud w;

static void begin(const char *extra, const char *chaos)
{
    struct rb_err err;
    small_cloud_setup(&w, extra, 0);
    if (*chaos && !rb_chaos_parse("chaos.yaml", chaos, strlen(chaos), &w.arena, &w.config.chaos, &err))
        fail_msg("%s: %s", err.key, err.message);
    rb_cloud_destroy(w.cloud); // the rules are part of what a cloud is created from
    w.cloud = rb_cloud_create(&w.config);
}

static int teardown(void **state)
{
    (void)state;
    small_cloud_teardown(&w);
    return 0;
}

static enum rb_cloud_answer launch_n(enum rb_market market, int n, int64_t at_us, struct rb_cloud_reservation *r)
{
    struct rb_cloud_launch l = plain_launch();
    l.market = market;
    l.min_count = l.max_count = n;
    return rb_cloud_launch(w.cloud, &l, at_us, r);
}

static struct rb_cloud_instance *launched(enum rb_market market, int64_t at_us)
{
    struct rb_cloud_reservation r;
    assert_int_equal(launch_n(market, 1, at_us, &r), RB_CLOUD_OK);
    return rb_cloud_instance(w.cloud, r.first);
}

static void quotas_count_units_of_a_region(void **state)
{
    (void)state;
    struct rb_cloud_reservation r;
    begin("quotas: [{name: G, infra: aws, instance_type: \"g*\", market: on_demand, unit: vcpus, max: 12}]\n", "");
    assert_int_equal(launch_n(RB_MARKET_ON_DEMAND, 2, T0, &r), RB_CLOUD_OK); // 4 vCPUs each
    assert_int_equal(launch_n(RB_MARKET_ON_DEMAND, 2, T0, &r), RB_CLOUD_OVER_QUOTA);
    assert_int_equal(launch_n(RB_MARKET_ON_DEMAND, 1, T0, &r), RB_CLOUD_OK);
    assert_int_equal(launch_n(RB_MARKET_ON_DEMAND, 1, T0, &r), RB_CLOUD_OVER_QUOTA);
    assert_int_equal(launch_n(RB_MARKET_SPOT, 1, T0, &r), RB_CLOUD_OK); // another quota, and there is none
    struct rb_cloud_launch elsewhere = plain_launch();
    elsewhere.region = "us-west-2";
    elsewhere.zone = "us-west-2a";
    assert_int_equal(rb_cloud_launch(w.cloud, &elsewhere, T0, &r), RB_CLOUD_OK);
    assert_int_equal(rb_cloud_quota_used(w.cloud, &w.config.limits.quotas[0], "us-east-1"), 12);
    int bad;
    rb_cloud_terminate(w.cloud, "us-east-1", (const char *const[]){rb_cloud_instance(w.cloud, 0)->id}, 1, T0 + 6 * S,
                       &bad);
    assert_int_equal(launch_n(RB_MARKET_ON_DEMAND, 1, T0 + 6 * S, &r), RB_CLOUD_OVER_QUOTA); // still shutting down
    assert_int_equal(launch_n(RB_MARKET_ON_DEMAND, 1, T0 + 7 * S, &r), RB_CLOUD_OK);
}

static void a_pool_fills_and_empties_over_time(void **state)
{
    (void)state;
    struct rb_cloud_reservation r;
    begin("pools: [{instance_type: g5.xlarge, zone: us-east-1a, market: spot, steps: [{after_s: 0, max: 2}, {after_s: "
          "600, max: 1}, {after_s: 1200, max: 3}]}]\n",
          "");
    assert_int_equal(launch_n(RB_MARKET_SPOT, 3, T0, &r), RB_CLOUD_NO_CAPACITY);
    struct rb_cloud_instance *old = launched(RB_MARKET_SPOT, T0), *young = launched(RB_MARKET_SPOT, T0 + S);
    assert_int_equal(launch_n(RB_MARKET_SPOT, 1, T0 + 2 * S, &r), RB_CLOUD_NO_CAPACITY);
    assert_int_equal(launch_n(RB_MARKET_ON_DEMAND, 1, T0 + 2 * S, &r), RB_CLOUD_OK); // another pool
    int64_t at_us;
    rb_cloud_advance(w.cloud, T0 + 600 * S - 1);
    assert_false(rb_cloud_notice(young, T0 + 600 * S - 1, &at_us));

    // The pool shrinks: the youngest gets notice, and two minutes later it is gone.
    assert_int_equal(rb_cloud_next_us(w.cloud), T0 + 600 * S);
    rb_cloud_advance(w.cloud, T0 + 600 * S);
    assert_true(rb_cloud_notice(young, T0 + 600 * S, &at_us));
    assert_int_equal(at_us, T0 + 720 * S);
    assert_false(rb_cloud_notice(old, T0 + 600 * S, &at_us));
    rb_cloud_advance(w.cloud, T0 + 720 * S);
    assert_int_equal(young->state, RB_CLOUD_SHUTTING_DOWN);
    assert_int_equal(young->cause, RB_CLOUD_CAUSE_TAKEN);
    assert_int_equal(old->state, RB_CLOUD_RUNNING);
    rb_cloud_node_gone(w.cloud, young, T0 + 721 * S);
    assert_int_equal(launch_n(RB_MARKET_SPOT, 2, T0 + 1199 * S, &r), RB_CLOUD_NO_CAPACITY);
    assert_int_equal(launch_n(RB_MARKET_SPOT, 2, T0 + 1200 * S, &r), RB_CLOUD_OK);
}

// The cloud begins 30 minutes into the set: 2 machines, 1 after ten minutes.
static void a_table_of_capacity_is_replayed(void **state)
{
    (void)state;
    static const char table[] = "set,kind,zone,instance_type,start_min,capacity\n"
                                "x,preemption,us-east-1a,g5.xlarge,0,9\n"
                                "y,preemption,us-east-1a,g5.xlarge,0,0\n"
                                "y,preemption,us-east-1a,g5.xlarge,20,2\n"
                                "y,preemption,us-east-1a,g5.xlarge,40,1\n"
                                "y,preemption,us-east-1a,g5.xlarge,90,end\n";
    char path[] = "/tmp/rb-capacity-XXXXXX.csv", text[128];
    struct rb_cloud_reservation r;
    struct rb_err err = {0};
    int64_t at_us;
    const int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    assert_true(rb_write_file(path, table, sizeof table - 1, &err));
    snprintf(text, sizeof text, "market: {table: %s, set: y, from_s: 1800}\n", path);
    begin(text, "");
    unlink(path);
    assert_int_equal(launch_n(RB_MARKET_SPOT, 3, T0, &r), RB_CLOUD_NO_CAPACITY);
    struct rb_cloud_instance *old = launched(RB_MARKET_SPOT, T0), *young = launched(RB_MARKET_SPOT, T0 + S);
    assert_int_equal(rb_cloud_next_pool_us(w.cloud), T0 + 600 * S);
    rb_cloud_advance(w.cloud, T0 + 600 * S);
    assert_true(rb_cloud_notice(young, T0 + 600 * S, &at_us));
    assert_int_equal(at_us, T0 + 720 * S);
    assert_false(rb_cloud_notice(old, T0 + 600 * S, &at_us));
}

// The price list says $0.4125 an hour; the pool says otherwise from 300 s on.
static void a_pool_with_prices_is_billed_at_them(void **state)
{
    (void)state;
    begin("pools: [{instance_type: g5.xlarge, zone: us-east-1a, market: spot, steps: [{after_s: 300, max: 9, usd_per_hour: "
          "0.36}, {after_s: 600, max: 9, usd_per_hour: 0.72}]}]\n",
          "");
    const struct rb_cloud_instance *spot = launched(RB_MARKET_SPOT, T0), *other = launched(RB_MARKET_ON_DEMAND, T0);
    const int64_t up_us = T0 + 900 * S;
    int bad;
    rb_cloud_advance(w.cloud, up_us);
    rb_cloud_terminate(w.cloud, "us-east-1", (const char *const[]){spot->id, other->id}, 2, up_us, &bad);
    rb_cloud_advance(w.cloud, up_us + 60 * S);
    const int64_t before_s = (T0 + 300 * S - spot->running_us) / S;
    assert_int_equal(spot->running_us, T0 + 300 * S - before_s * S); // whole seconds, so that the sum below is the bill
    assert_int_equal(rb_cloud_bill(spot, up_us).machine_uusd, (before_s * 412500 + 300 * 360000 + 300 * 720000 + 3599) / 3600);
    assert_int_equal(rb_cloud_bill(other, up_us).machine_uusd, (other->offer->rate.uusd_per_hour * (900 - 5) + 3599) / 3600);
}

static void prices_of_pools_are_whole(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "pools: [{instance_type: g5.xlarge, market: spot, steps: [{after_s: 0, max: 9}, {after_s: 9, max: 9, usd_per_hour: 1}]}]\n",
        "pools: [{instance_type: g5.xlarge, steps: [{after_s: 0, max: 9, usd_per_hour: 1}]}]\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rb_arena arena = {0};
        struct rb_cloud_config config;
        struct rb_err err = {0};
        char *yaml = rb_arena_printf(&arena, "format: rb-mock/1\nprices: p.csv\nprovisioning: [{infra: \"*\", instance_type: "
                                             "\"*\", market: \"*\", queue_s: 1, init_s: 1, capacity_failure: 0}]\n%s", wrong[i]);
        assert_false(rb_cloud_config_parse("cloud.yaml", yaml, "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,"
                                           "memory_gb,market,usd_per_hour\naws/us-east-1,g5.xlarge,A10G,1,24,4,16,spot,0.4\n",
                                           NULL, &arena, &config, &err));
        assert_int_equal(rb_err_number(&err), RB_E_POOL_PRICE);
        rb_arena_finish(&arena);
    }
}

static void buckets_empty_and_refill(void **state)
{
    (void)state;
    begin("throttle: [{action: RunInstances, burst: 2, per_s: 0.5}]\n", "");
    assert_true(rb_cloud_admit(w.cloud, "us-east-1", "RunInstances", T0));
    assert_true(rb_cloud_admit(w.cloud, "us-east-1", "RunInstances", T0));
    assert_false(rb_cloud_admit(w.cloud, "us-east-1", "RunInstances", T0));
    assert_true(rb_cloud_admit(w.cloud, "us-west-2", "RunInstances", T0)); // each region has its own
    assert_true(rb_cloud_admit(w.cloud, "us-east-1", "DescribeInstances", T0));
    assert_false(rb_cloud_admit(w.cloud, "us-east-1", "RunInstances", T0 + S));
    assert_true(rb_cloud_admit(w.cloud, "us-east-1", "RunInstances", T0 + 2 * S));
    for (int k = 0; k < 2; k++) // never more than the burst, however long it rested
        assert_true(rb_cloud_admit(w.cloud, "us-east-1", "RunInstances", T0 + 1000 * S));
    assert_false(rb_cloud_admit(w.cloud, "us-east-1", "RunInstances", T0 + 1000 * S));
}

static void listings_are_behind_and_tags_fade(void **state)
{
    (void)state;
    struct rb_cloud_reservation r;
    const struct rb_cloud_tag tags[] = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
    int n, bad;
    begin("visible_after_s: 2\ntags_fade_s: 60\n", "");
    struct rb_cloud_launch l = plain_launch();
    l.tags = tags;
    l.n_tags = 3;
    assert_int_equal(rb_cloud_launch(w.cloud, &l, T0, &r), RB_CLOUD_OK);
    const struct rb_cloud_instance *i = rb_cloud_instance(w.cloud, r.first);
    assert_false(rb_cloud_listed(i, "us-east-1", T0 + 2 * S - 1));
    assert_true(rb_cloud_listed(i, "us-east-1", T0 + 2 * S));

    rb_cloud_terminate(w.cloud, "us-east-1", (const char *const[]){i->id}, 1, T0 + 6 * S, &bad);
    rb_cloud_advance(w.cloud, T0 + 7 * S);
    assert_int_equal(i->state, RB_CLOUD_TERMINATED);
    for (int k = 0; k < 5; k++) {
        const struct rb_cloud_tag *shown = rb_cloud_tags(w.cloud, i, T0 + (6 + 60 * k) * S, &n);
        assert_int_equal(n, k < 3 ? 3 - k : 0);
        if (n > 0)
            assert_string_equal(shown[n - 1].key, "c");
    }
    assert_int_equal(i->n_tags, 3); // the ledger never forgets
}

static void an_allowed_time_ends(void **state)
{
    (void)state;
    struct rb_cloud_reservation r;
    begin("", "");
    struct rb_cloud_launch l = plain_launch();
    l.max_run_us = 100 * S;
    assert_int_equal(rb_cloud_launch(w.cloud, &l, T0, &r), RB_CLOUD_OK);
    l.stop_when_taken = true;
    assert_int_equal(rb_cloud_launch(w.cloud, &l, T0, &r), RB_CLOUD_OK);
    rb_cloud_advance(w.cloud, T0 + 105 * S - 1);
    assert_int_equal(rb_cloud_instance(w.cloud, 0)->state, RB_CLOUD_RUNNING);
    rb_cloud_advance(w.cloud, T0 + 105 * S); // it runs from 5 s on
    assert_int_equal(rb_cloud_instance(w.cloud, 0)->state, RB_CLOUD_SHUTTING_DOWN);
    assert_int_equal(rb_cloud_instance(w.cloud, 0)->cause, RB_CLOUD_CAUSE_EXPIRED);
    assert_int_equal(rb_cloud_instance(w.cloud, 1)->state, RB_CLOUD_STOPPING); // its disk goes on being billed
    assert_int_equal(rb_cloud_bill(rb_cloud_instance(w.cloud, 0), T0 + 200 * S).billed_s, 100);
}

static int n_orders_of(int what)
{
    struct rb_cloud_order o;
    int n = 0;
    while (rb_cloud_next_order(w.cloud, &o))
        n += (int)o.what == what;
    return n;
}

static void fates_come_true(void **state)
{
    (void)state;
    int64_t at_us;
    begin("", "format: rb-chaos/1\nrules:\n"
              "  - {what: never_boots, when: {call: 1}, times: 1}\n"
              "  - {what: {boots_slowly: {factor: 10}}, when: {call: 2}, times: 1}\n"
              "  - {what: {dies_at: {after: 60s}}, when: {call: 3}, times: 1}\n"
              "  - {what: wrong_market, when: {call: 4}, times: 1}\n"
              "  - {what: {fails_to_start: {code: Server.InternalError}}, when: {call: 5}, times: 1}\n"
              "  - {what: {interrupted: {after: 300s}}, when: {call: 6}, times: 1}\n");
    struct rb_cloud_instance *i[6];
    for (int k = 0; k < 6; k++)
        i[k] = launched(k == 5 ? RB_MARKET_SPOT : RB_MARKET_ON_DEMAND, T0);
    rb_cloud_advance(w.cloud, T0 + 8 * S);
    assert_int_equal(n_orders_of(RB_CLOUD_BOOT), 3); // all but the first, the second and the one that never came
    rb_cloud_advance(w.cloud, T0 + 35 * S - 1);
    assert_int_equal(n_orders_of(RB_CLOUD_BOOT), 0);
    rb_cloud_advance(w.cloud, T0 + 35 * S); // 5 s to running, ten times 3 s more
    assert_int_equal(n_orders_of(RB_CLOUD_BOOT), 1);
    rb_cloud_advance(w.cloud, T0 + 65 * S);
    assert_int_equal(n_orders_of(RB_CLOUD_DARK), 1);
    assert_int_equal(i[2]->state, RB_CLOUD_RUNNING); // the cloud does not notice, and bills
    assert_int_equal(i[3]->offer->market, RB_MARKET_SPOT);
    assert_int_equal(i[3]->offer->rate.uusd_per_hour, 412500);
    assert_int_equal(i[4]->cause, RB_CLOUD_CAUSE_CAPACITY);
    assert_string_equal(i[4]->failure_code, "Server.InternalError");
    assert_int_equal(rb_cloud_bill(i[4], T0 + 100 * S).total_uusd, 0);
    rb_cloud_advance(w.cloud, T0 + 185 * S);
    assert_true(rb_cloud_notice(i[5], T0 + 185 * S, &at_us));
    rb_cloud_advance(w.cloud, T0 + 305 * S);
    assert_int_equal(i[5]->cause, RB_CLOUD_CAUSE_TAKEN);
    rb_cloud_advance(w.cloud, T0 + 100000 * S);
    assert_int_equal(i[0]->state, RB_CLOUD_RUNNING);
    assert_int_equal(n_orders_of(RB_CLOUD_BOOT), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(quotas_count_units_of_a_region, teardown),
        cmocka_unit_test_teardown(a_pool_fills_and_empties_over_time, teardown),
        cmocka_unit_test_teardown(a_table_of_capacity_is_replayed, teardown),
        cmocka_unit_test_teardown(a_pool_with_prices_is_billed_at_them, teardown),
        cmocka_unit_test(prices_of_pools_are_whole),
        cmocka_unit_test_teardown(buckets_empty_and_refill, teardown),
        cmocka_unit_test_teardown(listings_are_behind_and_tags_fade, teardown),
        cmocka_unit_test_teardown(an_allowed_time_ends, teardown),
        cmocka_unit_test_teardown(fates_come_true, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
