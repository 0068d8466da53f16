// The mock cloud's state machine in virtual time: idempotency (the table of EC2's "Ensuring idempotency"),
// life and death of an instance, capacity, and the bill.
#include "clouds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static struct small_cloud w;

static int setup(void **state)
{
    (void)state;
    small_cloud_setup(&w, "capacity: {g5.xlarge: 6}\n", 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    small_cloud_teardown(&w);
    return 0;
}

static struct rb_cloud_instance *launch_one(const struct rb_cloud_launch *l, int64_t now_us)
{
    struct rb_cloud_reservation r;
    assert_int_equal(rb_cloud_launch(w.cloud, l, now_us, &r), RB_CLOUD_OK);
    assert_int_equal(r.n, 1);
    return rb_cloud_instance(w.cloud, r.first);
}

static void terminate(struct rb_cloud_instance *i, int64_t now_us)
{
    int bad;
    const char *id = i->id;
    assert_int_equal(rb_cloud_terminate(w.cloud, i->region, &id, 1, now_us, &bad), RB_CLOUD_OK);
}

static void expect_order(int what, const struct rb_cloud_instance *i)
{
    struct rb_cloud_order order;
    assert_true(rb_cloud_next_order(w.cloud, &order));
    assert_int_equal(order.what, what);
    assert_ptr_equal(order.instance, i);
}

static void expect_no_order(void)
{
    struct rb_cloud_order order;
    assert_false(rb_cloud_next_order(w.cloud, &order));
}

// --- idempotency ---

// What a second call with the token "T" answers after a first one in us-east-1a.
static void a_repeated_token_follows_the_table(void **state)
{
    (void)state;
    static const struct {
        const char *why, *region, *zone, *token, *fingerprint;
        enum rb_cloud_answer answer;
        bool same_instance;
    } rows[] = {
        {"same parameters, same zone", "us-east-1", "us-east-1a", "T", "same", RB_CLOUD_OK, true},
        {"other parameters, same zone", "us-east-1", "us-east-1a", "T", "other", RB_CLOUD_TOKEN_MISMATCH, false},
        {"another zone launches again", "us-east-1", "us-east-1c", "T", "same", RB_CLOUD_OK, false},
        {"another zone, other parameters", "us-east-1", "us-east-1b", "T", "other", RB_CLOUD_OK, false},
        {"another region launches again", "us-west-2", "us-west-2a", "T", "same", RB_CLOUD_OK, false},
        {"no zone is another scope", "us-east-1", NULL, "T", "same", RB_CLOUD_OK, false},
        {"tokens are case-sensitive", "us-east-1", "us-east-1a", "t", "same", RB_CLOUD_OK, false},
        {"no token, no idempotency", "us-east-1", "us-east-1a", NULL, "same", RB_CLOUD_OK, false},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct rb_cloud_launch l = plain_launch();
        struct rb_cloud_reservation again = {.first = -1};
        teardown(NULL);
        setup(NULL);
        l.token = "T";
        struct rb_cloud_instance *first = launch_one(&l, T0);
        l.region = rows[k].region;
        l.zone = rows[k].zone;
        l.token = rows[k].token;
        l.fingerprint = rows[k].fingerprint;
        enum rb_cloud_answer answer = rb_cloud_launch(w.cloud, &l, T0 + S, &again);
        bool same = answer == RB_CLOUD_OK && again.first == first->ordinal;
        if (answer != rows[k].answer || same != rows[k].same_instance)
            fail_msg("%s: answer %d, same instance %d", rows[k].why, answer, same);
        assert_int_equal(rb_cloud_n_instances(w.cloud), answer == RB_CLOUD_OK && !same ? 2 : 1);
    }
}

static void a_regional_token_holds_for_the_region(void **state)
{
    (void)state;
    struct rb_cloud_launch l = plain_launch();
    l.token = "T";
    l.zone = NULL;
    struct rb_cloud_instance *first = launch_one(&l, T0);
    assert_ptr_equal(launch_one(&l, T0 + S), first);
    l.fingerprint = "other";
    struct rb_cloud_reservation r;
    assert_int_equal(rb_cloud_launch(w.cloud, &l, T0 + S, &r), RB_CLOUD_TOKEN_MISMATCH);
}

static void a_repeat_after_termination_returns_the_terminated_instance(void **state)
{
    (void)state;
    struct rb_cloud_launch l = plain_launch();
    l.token = "T";
    struct rb_cloud_instance *first = launch_one(&l, T0);
    terminate(first, T0 + S);
    rb_cloud_advance(w.cloud, T0 + 60 * S);
    assert_int_equal(first->state, RB_CLOUD_TERMINATED);
    assert_ptr_equal(launch_one(&l, T0 + 7200 * S), first);
    assert_int_equal(first->state, RB_CLOUD_TERMINATED);
    assert_int_equal(rb_cloud_n_instances(w.cloud), 1);
}

static void a_failed_or_dry_launch_does_not_use_up_its_token(void **state)
{
    (void)state;
    struct rb_cloud_launch l = plain_launch();
    struct rb_cloud_reservation r;
    l.token = "T";
    l.min_count = l.max_count = 7;
    assert_int_equal(rb_cloud_launch(w.cloud, &l, T0, &r), RB_CLOUD_NO_CAPACITY);
    l.min_count = l.max_count = 2;
    l.fingerprint = "smaller";
    l.dry_run = true;
    assert_int_equal(rb_cloud_launch(w.cloud, &l, T0, &r), RB_CLOUD_OK);
    assert_int_equal(rb_cloud_n_instances(w.cloud), 0);
    l.dry_run = false;
    assert_int_equal(rb_cloud_launch(w.cloud, &l, T0, &r), RB_CLOUD_OK);
    assert_int_equal(rb_cloud_n_instances(w.cloud), 2);
}

// --- life ---

static void an_instance_lives_and_ends(void **state)
{
    (void)state;
    struct rb_cloud_launch l = plain_launch();
    struct rb_cloud_instance *i = launch_one(&l, T0 + 250000);
    assert_int_equal(i->state, RB_CLOUD_PENDING);
    assert_int_equal(rb_cloud_next_us(w.cloud), T0 + 250000 + 5 * S);

    rb_cloud_advance(w.cloud, T0 + 5 * S); // 250 ms too early
    assert_int_equal(i->state, RB_CLOUD_PENDING);
    rb_cloud_advance(w.cloud, T0 + 6 * S);
    assert_int_equal(i->state, RB_CLOUD_RUNNING);
    assert_int_equal(i->running_us, T0 + 5 * S); // whole seconds, as launchTime
    expect_no_order();

    rb_cloud_advance(w.cloud, T0 + 9 * S);
    expect_order(RB_CLOUD_BOOT, i);
    rb_cloud_node_ready(w.cloud, i, T0 + 9 * S);
    assert_int_equal(rb_cloud_next_us(w.cloud), INT64_MAX);

    terminate(i, T0 + 100 * S + 700000);
    assert_int_equal(i->state, RB_CLOUD_SHUTTING_DOWN);
    assert_int_equal(i->terminated_us, T0 + 100 * S); // whole seconds
    expect_order(RB_CLOUD_END, i);
    rb_cloud_advance(w.cloud, T0 + 500 * S); // a caller that sees `terminated` may believe that nothing runs any more
    assert_int_equal(i->state, RB_CLOUD_SHUTTING_DOWN);
    rb_cloud_node_gone(w.cloud, i, T0 + 500 * S);
    assert_int_equal(i->state, RB_CLOUD_TERMINATED);

    // 95 s at 1.006 $/h: 26547.2 uusd, rounded up.
    assert_int_equal(rb_cloud_bill(i, T0 + 9999 * S).total_uusd, 26548);
    expect_no_order();
}

static void termination_before_running_is_free(void **state)
{
    (void)state;
    struct rb_cloud_launch l = plain_launch();
    struct rb_cloud_instance *i = launch_one(&l, T0);
    terminate(i, T0 + 4 * S);
    rb_cloud_advance(w.cloud, T0 + 100 * S);
    assert_int_equal(i->state, RB_CLOUD_TERMINATED);
    assert_int_equal(i->running_us, -1);
    assert_int_equal(rb_cloud_bill(i, T0 + 100 * S).total_uusd, 0);
    expect_no_order(); // it never booted
}

static void a_moment_of_running_costs_a_minute(void **state)
{
    (void)state;
    struct rb_cloud_launch l = plain_launch();
    struct rb_cloud_instance *i = launch_one(&l, T0 + 300000); // runs from .3 s
    terminate(i, T0 + 5 * S + 800000); // in the same second
    assert_int_equal(i->running_us, T0 + 5 * S);
    assert_int_equal(i->ended_us, T0 + 5 * S);
    assert_int_equal(rb_cloud_bill(i, T0 + 6 * S).billed_s, 60);
    assert_int_equal(rb_cloud_bill(i, T0 + 6 * S).total_uusd, 16767);
}

static void terminating_twice_changes_nothing(void **state)
{
    (void)state;
    struct rb_cloud_launch l = plain_launch();
    struct rb_cloud_instance *i = launch_one(&l, T0);
    rb_cloud_advance(w.cloud, T0 + 9 * S);
    expect_order(RB_CLOUD_BOOT, i);
    terminate(i, T0 + 70 * S);
    terminate(i, T0 + 90 * S);
    assert_int_equal(i->terminated_us, T0 + 70 * S);
    expect_order(RB_CLOUD_END, i);
    expect_no_order();
}

static void one_bad_id_spares_all(void **state)
{
    (void)state;
    struct rb_cloud_launch l = plain_launch();
    struct rb_cloud_instance *i = launch_one(&l, T0);
    const char *ids[] = {i->id, "i-00000000000000bad"};
    int bad = -1;
    assert_int_equal(rb_cloud_terminate(w.cloud, "us-east-1", ids, 2, T0, &bad), RB_CLOUD_NO_SUCH_INSTANCE);
    assert_int_equal(bad, 1);
    assert_int_equal(i->state, RB_CLOUD_PENDING);
    assert_int_equal(rb_cloud_terminate(w.cloud, "us-west-2", ids, 1, T0, &bad), RB_CLOUD_NO_SUCH_INSTANCE);
}

static void shutdown_from_inside_terminates_only_this_instance(void **state)
{
    (void)state;
    struct rb_cloud_launch l = plain_launch();
    struct rb_cloud_instance *i = launch_one(&l, T0), *other = launch_one(&l, T0);
    rb_cloud_advance(w.cloud, T0 + 9 * S);
    rb_cloud_guest_shutdown(w.cloud, i, T0 + 10 * S, 120 * S);
    assert_int_equal(rb_cloud_next_us(w.cloud), T0 + 130 * S);
    rb_cloud_guest_cancel(w.cloud, i);
    assert_int_equal(rb_cloud_next_us(w.cloud), INT64_MAX);
    rb_cloud_guest_shutdown(w.cloud, i, T0 + 10 * S, 120 * S);
    rb_cloud_advance(w.cloud, T0 + 1000 * S);
    assert_int_equal(i->state, RB_CLOUD_SHUTTING_DOWN);
    assert_int_equal(i->cause, RB_CLOUD_CAUSE_GUEST);
    assert_int_equal(i->ended_us, T0 + 130 * S); // at its instant, however late anybody looked
    assert_int_equal(other->state, RB_CLOUD_RUNNING);
}

static void a_stopped_instance_still_pays_for_its_disk(void **state)
{
    (void)state;
    struct rb_cloud_launch l = plain_launch();
    l.terminate_on_shutdown = false;
    l.disk_gb = 100; // 0.01 $/h
    struct rb_cloud_instance *i = launch_one(&l, T0);
    rb_cloud_advance(w.cloud, T0 + 9 * S);
    rb_cloud_guest_shutdown(w.cloud, i, T0 + 5 * S + 3600 * S, 0);
    rb_cloud_node_gone(w.cloud, i, T0 + 3700 * S);
    assert_int_equal(i->state, RB_CLOUD_STOPPED);
    struct rb_bill bill = rb_cloud_bill(i, T0 + 5 * S + 7200 * S);
    assert_int_equal(bill.machine_uusd, 1006000);
    assert_int_equal(bill.disk_uusd, 20000);
    assert_int_equal(bill.total_uusd, 1026000);
    terminate(i, T0 + 5 * S + 7200 * S);
    rb_cloud_advance(w.cloud, T0 + 9000 * S);
    assert_int_equal(i->state, RB_CLOUD_TERMINATED);
    assert_int_equal(rb_cloud_bill(i, T0 + 99999 * S).total_uusd, 1026000);
}

// --- what can be bought ---

static void launches_are_refused_with_their_reason(void **state)
{
    (void)state;
    static const struct {
        const char *zone, *type;
        enum rb_market market;
        int64_t disk_gb;
        enum rb_cloud_answer answer;
    } rows[] = {
        {"us-east-1a", "p99.huge", RB_MARKET_ON_DEMAND, 0, RB_CLOUD_NO_SUCH_TYPE},
        {"us-east-1z", "g5.xlarge", RB_MARKET_ON_DEMAND, 0, RB_CLOUD_NO_SUCH_ZONE},
        {"us-east-1a", "g5.12xlarge", RB_MARKET_ON_DEMAND, 0, RB_CLOUD_NOT_OFFERED}, // only in b
        {"us-east-1b", "g5.12xlarge", RB_MARKET_ON_DEMAND, 0, RB_CLOUD_OK},
        {"us-east-1b", "g5.12xlarge", RB_MARKET_SPOT, 0, RB_CLOUD_NOT_OFFERED},
        {NULL, "g5.12xlarge", RB_MARKET_ON_DEMAND, 0, RB_CLOUD_OK}, // the cloud finds b
        {"us-east-1a", "g5.xlarge", RB_MARKET_SPOT, 10, RB_CLOUD_OK},
        {"gcp", "g2-standard-4", RB_MARKET_ON_DEMAND, 0, RB_CLOUD_NO_SUCH_TYPE},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct rb_cloud_launch l = plain_launch();
        struct rb_cloud_reservation r;
        l.zone = rows[k].zone;
        l.instance_type = rows[k].type;
        l.market = rows[k].market;
        l.disk_gb = rows[k].disk_gb;
        int before = rb_cloud_n_instances(w.cloud);
        enum rb_cloud_answer answer = rb_cloud_launch(w.cloud, &l, T0, &r);
        if (answer != rows[k].answer)
            fail_msg("%s in %s: answer %d", rows[k].type, rows[k].zone, answer);
        assert_int_equal(rb_cloud_n_instances(w.cloud), before + (answer == RB_CLOUD_OK));
    }
}

static void a_disk_without_a_price_is_refused(void **state)
{
    (void)state;
    struct rb_cloud_launch l = plain_launch();
    struct rb_cloud_reservation r;
    l.region = "us-west-2";
    l.zone = "us-west-2a";
    l.disk_gb = 1;
    assert_int_equal(rb_cloud_launch(w.cloud, &l, T0, &r), RB_CLOUD_NO_DISK_PRICE);
}

static void as_many_as_there_is_room_for(void **state)
{
    (void)state;
    struct rb_cloud_launch l = plain_launch();
    struct rb_cloud_reservation r;
    l.min_count = 2;
    l.max_count = 100; // capacity is 6
    assert_int_equal(rb_cloud_launch(w.cloud, &l, T0, &r), RB_CLOUD_OK);
    assert_int_equal(r.n, 6);
    for (int k = 0; k < 6; k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(w.cloud, r.first + k);
        assert_int_equal(i->launch_index, k);
        assert_string_equal(i->reservation, rb_cloud_instance(w.cloud, r.first)->reservation);
        assert_int_equal(i->address, 0x7f010002 + (uint32_t)k);
    }
    assert_int_equal(rb_cloud_launch(w.cloud, &l, T0, &r), RB_CLOUD_NO_CAPACITY);
    terminate(rb_cloud_instance(w.cloud, 0), T0);
    terminate(rb_cloud_instance(w.cloud, 1), T0);
    assert_int_equal(rb_cloud_launch(w.cloud, &l, T0, &r), RB_CLOUD_NO_CAPACITY); // they are still shutting down
    rb_cloud_advance(w.cloud, T0 + 2 * S);
    assert_int_equal(rb_cloud_launch(w.cloud, &l, T0 + 2 * S, &r), RB_CLOUD_OK);
    assert_int_equal(r.n, 2);
    assert_int_equal(rb_cloud_instance(w.cloud, r.first)->address, 0x7f010002 + 6); // addresses are not used again
}

static void without_a_machine_the_request_ends_after_its_queueing_delay(void **state)
{
    (void)state;
    small_cloud_teardown(&w);
    small_cloud_setup(&w, "", 0.9);
    struct rb_cloud_launch l = plain_launch();
    struct rb_cloud_reservation r;
    l.max_count = l.min_count = 200;
    assert_int_equal(rb_cloud_launch(w.cloud, &l, T0, &r), RB_CLOUD_OK);
    rb_cloud_advance(w.cloud, T0 + 4 * S);
    int failed = 0;
    for (int k = 0; k < 200; k++)
        assert_int_equal(rb_cloud_instance(w.cloud, k)->state, RB_CLOUD_PENDING);
    rb_cloud_advance(w.cloud, T0 + 5 * S);
    for (int k = 0; k < 200; k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(w.cloud, k);
        if (i->state == RB_CLOUD_RUNNING)
            continue;
        failed++;
        assert_int_equal(i->state, RB_CLOUD_TERMINATED);
        assert_int_equal(i->cause, RB_CLOUD_CAUSE_CAPACITY);
        assert_int_equal(rb_cloud_bill(i, T0 + 99 * S).total_uusd, 0);
    }
    assert_in_range(failed, 165, 195); // 180 expected, standard deviation 4.2
}

static void delays_depend_on_seed_and_ordinal_only(void **state)
{
    (void)state;
    struct small_cloud a, b;
    struct rb_cloud_launch l = plain_launch();
    struct rb_cloud_reservation r;
    small_cloud_setup(&a, "", 0.5);
    small_cloud_setup(&b, "", 0.5);
    b.config.epoch_us = T0 + 12345; // another day: other ids, same delays
    for (int k = 0; k < 50; k++) {
        assert_int_equal(rb_cloud_launch(a.cloud, &l, T0, &r), RB_CLOUD_OK);
        assert_int_equal(rb_cloud_launch(b.cloud, &l, T0, &r), RB_CLOUD_OK);
        rb_cloud_fresh_id(b.cloud); // other requests in between
    }
    rb_cloud_advance(a.cloud, T0 + 6 * S);
    rb_cloud_advance(b.cloud, T0 + 6 * S);
    for (int k = 0; k < 50; k++) {
        assert_int_equal(rb_cloud_instance(a.cloud, k)->state, rb_cloud_instance(b.cloud, k)->state);
        assert_string_not_equal(rb_cloud_instance(a.cloud, k)->id, rb_cloud_instance(b.cloud, k)->id);
    }
    small_cloud_teardown(&a);
    small_cloud_teardown(&b);
}

static void terminated_instances_are_listed_for_an_hour(void **state)
{
    (void)state;
    struct rb_cloud_launch l = plain_launch();
    struct rb_cloud_instance *i = launch_one(&l, T0);
    terminate(i, T0);
    rb_cloud_advance(w.cloud, T0 + 2 * S);
    assert_true(rb_cloud_listed(i, "us-east-1", T0 + 3599 * S));
    assert_false(rb_cloud_listed(i, "us-east-1", T0 + 3600 * S));
    assert_false(rb_cloud_listed(i, "us-west-2", T0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_repeated_token_follows_the_table, setup, teardown),
        cmocka_unit_test_setup_teardown(a_regional_token_holds_for_the_region, setup, teardown),
        cmocka_unit_test_setup_teardown(a_repeat_after_termination_returns_the_terminated_instance, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_or_dry_launch_does_not_use_up_its_token, setup, teardown),
        cmocka_unit_test_setup_teardown(an_instance_lives_and_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(termination_before_running_is_free, setup, teardown),
        cmocka_unit_test_setup_teardown(a_moment_of_running_costs_a_minute, setup, teardown),
        cmocka_unit_test_setup_teardown(terminating_twice_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(one_bad_id_spares_all, setup, teardown),
        cmocka_unit_test_setup_teardown(shutdown_from_inside_terminates_only_this_instance, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stopped_instance_still_pays_for_its_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(launches_are_refused_with_their_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(a_disk_without_a_price_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(as_many_as_there_is_room_for, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_machine_the_request_ends_after_its_queueing_delay, setup, teardown),
        cmocka_unit_test_setup_teardown(delays_depend_on_seed_and_ordinal_only, setup, teardown),
        cmocka_unit_test_setup_teardown(terminated_instances_are_listed_for_an_hour, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
