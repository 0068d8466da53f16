// Where a node's bill went: the parts always add up, and window by window they are what they are called.
#include "engine/plan/bill_split.h"

#include "base/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define S INT64_C(1000000)

static void parts_add_up(void **state)
{
    (void)state;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 1, .purpose = RB_DRAW_SEARCH});
    for (int round = 0; round < 5000; round++) {
        int64_t weights[8], parts[8], sum = 0;
        const int n = 1 + (int)rb_stream_below(&s, 8);
        const int64_t total = (int64_t)rb_stream_below(&s, round % 2 ? 20 : UINT64_C(1) << 50);
        for (int i = 0; i < n; i++)
            weights[i] = (int64_t)rb_stream_below(&s, round % 3 ? 5 : UINT64_C(1) << 55);
        rb_apportion(total, weights, n, n - 1, parts);
        for (int i = 0; i < n; i++) {
            assert_true(parts[i] >= 0);
            sum += parts[i];
        }
        assert_int_equal(sum, total);
    }
}

static void largest_remainders_first(void **state)
{
    (void)state;
    int64_t parts[3];
    rb_apportion(10, (const int64_t[]){1, 1, 1}, 3, 0, parts); // ties by index
    assert_true(parts[0] == 4 && parts[1] == 3 && parts[2] == 3);
    rb_apportion(10, (const int64_t[]){0, 26, 74}, 3, 0, parts);
    assert_true(parts[0] == 0 && parts[1] == 3 && parts[2] == 7);
    rb_apportion(10, (const int64_t[]){0, 0, 0}, 3, 1, parts);
    assert_true(parts[0] == 0 && parts[1] == 10 && parts[2] == 0);
}

static int64_t sum_of(const struct rb_bill_parts *p)
{
    return p->train_uusd + p->boot_uusd + p->idle_barrier_uusd + p->minimum_uusd + p->lost_uusd + p->checkpoint_uusd;
}

// At 1 $/s, 2 GPUs: running at 0, ready at 20 s, ended at 100 s; the first window ends at 50 s.
static void windows_share_a_life(void **state)
{
    (void)state;
    const struct rb_billing billing = {.rate = {3600 * S}, .data_uusd = 7};
    const struct rb_node_life life = {.gpus = 2, .running_us = 0, .ready_us = 20 * S, .ended_us = 100 * S};
    struct rb_gpu_spell spells[] = {
        {.gpus = 1, .from_us = 60 * S, .saving_us = 90 * S, .to_us = 100 * S},
        {.gpus = 2, .from_us = 20 * S, .saving_us = 40 * S, .to_us = 50 * S},
        {.gpus = 2, .from_us = 50 * S, .saving_us = 60 * S, .to_us = 60 * S, .lost = true},
    };
    const int64_t cut_us = 50 * S;
    struct rb_bill_parts by[2] = {0};
    const struct rb_bill bill = rb_bill_node(&billing, life.running_us, life.ended_us);
    rb_bill_split(&bill, &life, spells, 3, &cut_us, 2, by);
    assert_int_equal(by[0].boot_uusd, 20 * S + 7);
    assert_int_equal(by[0].train_uusd, 10 * S);
    assert_int_equal(by[0].checkpoint_uusd, 5 * S);
    assert_int_equal(by[0].idle_barrier_uusd, 15 * S);
    assert_int_equal(by[1].lost_uusd, 5 * S);
    assert_int_equal(by[1].train_uusd, 15 * S);
    assert_int_equal(by[1].checkpoint_uusd, 5 * S);
    assert_int_equal(by[1].idle_barrier_uusd, 25 * S);
    assert_int_equal(sum_of(&by[0]) + sum_of(&by[1]), bill.total_uusd);
}

// Ended 15 s after it began to run: what the minimum adds counts where it ended.
static void the_minimum_counts_where_it_was_reached(void **state)
{
    (void)state;
    const struct rb_billing billing = {.rate = {3600 * S}};
    const struct rb_node_life life = {.gpus = 1, .running_us = 40 * S, .ready_us = -1, .ended_us = 55 * S};
    const int64_t cut_us = 50 * S;
    struct rb_bill_parts by[2] = {0};
    const struct rb_bill bill = rb_bill_node(&billing, life.running_us, life.ended_us);
    rb_bill_split(&bill, &life, NULL, 0, &cut_us, 2, by);
    assert_int_equal(by[0].boot_uusd, 10 * S);
    assert_int_equal(by[1].boot_uusd, 5 * S);
    assert_int_equal(by[1].minimum_uusd, 45 * S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(largest_remainders_first),
        cmocka_unit_test(windows_share_a_life),
        cmocka_unit_test(the_minimum_counts_where_it_was_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
