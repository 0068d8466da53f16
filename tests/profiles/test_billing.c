// Bills worked out by hand. Sources of the rules: EC2 bills per second from `running` with 60 s at least; one
// line item is rounded up to the micro-dollar.
#include "check.h"

#include "profiles/catalog/billing.h"
#include "profiles/catalog/capacity.h"

#include <inttypes.h>

#define S RB_US_PER_S

static void test_bills_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct rb_billing billing;
        int64_t running_us, terminated_us;
        struct rb_bill bill; // machine, disk, data, minimum, billed_s, total, tail
    } cases[] = {
        // $3.60 an hour is 1000 micro-dollars a second.
        {"one hour", {.rate = {3600000}}, 0, 3600 * S, {3600000, 0, 0, 0, 3600, 3600000}},
        {"exactly the minimum", {.rate = {3600000}}, 5 * S, 65 * S, {60000, 0, 0, 0, 60, 60000}},
        {"a second over the minimum", {.rate = {3600000}}, 0, 61 * S, {61000, 0, 0, 0, 61, 61000}},
        {"45 s are billed as 60", {.rate = {3600000}}, 0, 45 * S, {60000, 0, 0, 15000, 60, 60000}},
        {"a part of a second counts whole", {.rate = {3600000}}, 0, 100 * S + 1, {101000, 0, 0, 0, 101, 101000}},
        {"a part of a second below the minimum", {.rate = {3600000}}, 0, 1, {60000, 0, 0, 59000, 60, 60000}},
        {"terminated as it starts to run", {.rate = {3600000}}, 7 * S, 7 * S, {60000, 0, 0, 60000, 60, 60000}},
        {"terminated before it ran", {.rate = {3600000}, .data_uusd = 9}, 7 * S, 7 * S - 1, {0}},
        {"never ran", {.rate = {3600000}, .data_uusd = 9}, -1, 7 * S, {0}},
        // $1.00 an hour for 61 s: 16944.4.. micro-dollars.
        {"rounded up once", {.rate = {1000000}}, 0, 61 * S, {16945, 0, 0, 0, 61, 16945}},
        {"the smallest rate costs a micro-dollar", {.rate = {1}}, 0, 3600 * S, {1, 0, 0, 0, 3600, 1}},
        // g5.12xlarge in us-east-1, $5.672 an hour, for 1 h 40 m 30 s = 6030 s: 9500600.
        {"a real price", {.rate = {5672000}}, 0, 6030 * S, {9500600, 0, 0, 0, 6030, 9500600}},
        // 200 GB at 110 micro-dollars a GB-hour for 61 s: 372.8 micro-dollars, a line item of its own.
        {"disk is its own line item",
         {.rate = {1000000}, .disk_rate = {110}, .disk_gb = 200},
         0,
         61 * S,
         {16945, 373, 0, 0, 61, 17318}},
        {"disk has the minimum too", {.disk_rate = {3600}, .disk_gb = 1}, 0, S, {0, 60, 0, 0, 60, 60}},
        {"data once", {.rate = {3600000}, .data_uusd = 1234}, 0, 3600 * S, {3600000, 0, 1234, 0, 3600, 3601234}},
        // An autoscaler's machine goes ten minutes later: no minimum less, and no disk more.
        {"a tail", {.rate = {3600000}, .release_s = 600}, 0, 45 * S, {60000, 0, 0, 15000, 60, 660000, 600000}},
        {"a tail is its own line item", {.rate = {1000000}, .release_s = 61}, 0, 61 * S, {16945, 0, 0, 0, 61, 33890, 16945}},
        {"never ran, no tail", {.rate = {3600000}, .release_s = 600}, -1, 7 * S, {0}},
        {"free machine", {.rate = {0}}, 0, 3600 * S, {0, 0, 0, 0, 3600, 0}},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        const struct rb_bill got = rb_bill_node(&cases[i].billing, cases[i].running_us, cases[i].terminated_us);
        if (memcmp(&got, &cases[i].bill, sizeof got) != 0)
            fail_msg("%s: machine %" PRId64 " disk %" PRId64 " data %" PRId64 " minimum %" PRId64 " billed %" PRId64
                     " s total %" PRId64,
                     cases[i].what, got.machine_uusd, got.disk_uusd, got.data_uusd, got.minimum_uusd, got.billed_s,
                     got.total_uusd);
    }
}

// p4d at $98.32 an hour for ten years: the product of rate and microseconds does not fit 64 bits.
static void test_no_intermediate_overflow(void **state)
{
    (void)state;
    const int64_t hours = 10 * 8766;
    const struct rb_billing b = {.rate = {98320000}, .disk_rate = {110}, .disk_gb = 64000};
    const struct rb_bill bill = rb_bill_node(&b, 0, hours * 3600 * S);
    assert_int_equal(bill.machine_uusd, 98320000 * hours);
    assert_int_equal(bill.disk_uusd, 110 * 64000 * hours);
}

// By hand: 1000 micro-dollars a second before 100 s, then 2000, from 200 s on 500; the node's clock is 50 s behind.
static void a_price_that_changes_is_billed_second_by_second(void **state)
{
    (void)state;
    static const struct rb_capacity_step steps[] = {{100 * S, 9, 7200000}, {200 * S, 0, 1800000}};
    const struct rb_billing b = {.rate = {3600000}, .prices = {steps, 2, 50 * S}};
    static const struct {
        int64_t running_us, terminated_us, machine_uusd, minimum_uusd;
    } cases[] = {
        {0, 40 * S, 50000 + 10 * 2000, 30000},
        {0, 100 * S, 50000 + 50 * 2000, 0},
        {0, 200 * S, 50000 + 100 * 2000 + 50 * 500, 0},
        {300 * S, 400 * S, 50000, 0},                 // the last price holds for ever
        {0, 10 * S, 50000 + 10 * 2000, 60000},        // the minimum is of the node's first minute: 50 s of 1000, 10 s of 2000
        {S / 2, 100 * S + S / 2, 50 * 1000 + 50 * 2000, 0}, // a second costs what holds at its beginning
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        const struct rb_bill bill = rb_bill_node(&b, cases[i].running_us, cases[i].terminated_us);
        if (bill.machine_uusd != cases[i].machine_uusd || bill.minimum_uusd != cases[i].minimum_uusd)
            fail_msg("case %zu: machine %" PRId64 ", minimum %" PRId64, i, bill.machine_uusd, bill.minimum_uusd);
    }
    assert_int_equal(rb_bill_least_uusd(&b), 60000); // it may run at any time
}

// Against the sum over seconds; with one price it is the flat bill.
static void prices_against_counting(void **state)
{
    (void)state;
    struct rb_stream s = test_stream(3, 1);
    for (int i = 0; i < 300; i++) {
        struct rb_capacity_step steps[4];
        int64_t at_us = 0;
        for (int k = 0; k < 4; k++) {
            at_us += 1 + (int64_t)rb_stream_below(&s, 200 * S);
            steps[k] = (struct rb_capacity_step){at_us, 1, 1 + (int64_t)rb_stream_below(&s, 9000000)};
        }
        const int64_t rate = (int64_t)rb_stream_below(&s, 9000000), ahead_us = (int64_t)rb_stream_below(&s, 100 * S);
        const int64_t running_us = (int64_t)rb_stream_below(&s, 300 * S), life_us = (int64_t)rb_stream_below(&s, 600 * S);
        const struct rb_billing b = {.rate = {rate}, .prices = {steps, 4, ahead_us}};
        const struct rb_bill bill = rb_bill_node(&b, running_us, running_us + life_us);
        int64_t sum = 0;
        for (int64_t second = 0; second < bill.billed_s; second++) {
            int64_t price = rate;
            for (int k = 0; k < 4; k++)
                price = steps[k].at_us <= running_us + second * S + ahead_us ? steps[k].uusd_per_hour : price;
            sum += price;
        }
        assert_int_equal(bill.machine_uusd, (sum + 3599) / 3600);
        const struct rb_capacity_step one = {0, 1, rate + 1};
        const struct rb_billing flat = {.rate = {rate + 1}}, same = {.prices = {&one, 1, 0}};
        assert_int_equal(rb_bill_node(&flat, running_us, running_us + life_us).total_uusd,
                         rb_bill_node(&same, running_us, running_us + life_us).total_uusd);
    }
}

// ceil(rate x seconds / 3600) by counting: the least m with 3600 m >= rate x seconds.
static void test_rounding_against_counting(void **state)
{
    (void)state;
    struct rb_stream s = test_stream(3, 0);
    for (int i = 0; i < 5000; i++) {
        const int64_t rate = (int64_t)rb_stream_below(&s, 100000000),
                      life_us = (int64_t)rb_stream_below(&s, 100000 * S);
        const struct rb_billing b = {.rate = {rate}};
        const struct rb_bill bill = rb_bill_node(&b, 1000, 1000 + life_us);
        int64_t seconds = life_us / S;
        seconds += seconds * S < life_us;
        seconds = seconds < 60 ? 60 : seconds;
        assert_true(bill.billed_s == seconds);
        assert_true(bill.machine_uusd * 3600 >= rate * seconds && (bill.machine_uusd - 1) * 3600 < rate * seconds);
        assert_true(bill.minimum_uusd >= 0 && bill.minimum_uusd <= bill.machine_uusd);
        assert_true((bill.minimum_uusd > 0) <= (life_us < 60 * S));
    }
}

static void test_data_is_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(rb_bill_data_uusd(150 * INT64_C(1000000000), 20000), 3000000); // 150 GB at $0.02
    assert_int_equal(rb_bill_data_uusd(1, 1), 1);
    assert_int_equal(rb_bill_data_uusd(INT64_C(1000000001), 20000), 20001);
    assert_int_equal(rb_bill_data_uusd(0, 20000), 0);
    assert_int_equal(rb_bill_data_uusd(INT64_C(1) << 60, 1000), INT64_C(1152921504607));
}

// What a hard budget counts: ten seconds more, and of a requested node the least it can cost.
static void what_a_node_is_bound_to_cost(void **state)
{
    (void)state;
    const struct rb_billing b = {.rate = {3600000}, .data_uusd = 7}; // 1000 micro-dollars a second
    assert_int_equal(rb_bill_least_uusd(&b), 60007);
    assert_int_equal(rb_bill_bound_uusd(&b, -1, 500 * RB_US_PER_S), 60007);
    assert_int_equal(rb_bill_bound_uusd(&b, 100 * RB_US_PER_S, 120 * RB_US_PER_S), 60007);
    assert_int_equal(rb_bill_bound_uusd(&b, 100 * RB_US_PER_S, 200 * RB_US_PER_S), 110007);
    const struct rb_billing tail = {.rate = {3600000}, .data_uusd = 7, .release_s = 30};
    assert_int_equal(rb_bill_uusd_per_node(&tail), 30007);
    assert_int_equal(rb_bill_least_uusd(&tail), 90007);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_node_is_bound_to_cost),
        cmocka_unit_test(test_bills_by_hand),
        cmocka_unit_test(test_no_intermediate_overflow),
        cmocka_unit_test(test_rounding_against_counting),
        cmocka_unit_test(test_data_is_rounded_up),
        cmocka_unit_test(a_price_that_changes_is_billed_second_by_second),
        cmocka_unit_test(prices_against_counting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
