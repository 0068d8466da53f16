// Where a node's bill went: the parts always add up, and time by time they are what they are called.
#include "executor/report_split.h"

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
        rb_report_apportion(total, weights, n, n - 1, parts);
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
    rb_report_apportion(10, (const int64_t[]){1, 1, 1}, 3, 0, parts); // ties by index
    assert_true(parts[0] == 4 && parts[1] == 3 && parts[2] == 3);
    rb_report_apportion(10, (const int64_t[]){0, 26, 74}, 3, 0, parts);
    assert_true(parts[0] == 0 && parts[1] == 3 && parts[2] == 7);
    rb_report_apportion(10, (const int64_t[]){0, 0, 0}, 3, 1, parts);
    assert_true(parts[0] == 0 && parts[1] == 10 && parts[2] == 0);
}

// A node of 2 GPUs, running at 0, ready at 20 s, ended at 100 s, at 1 $/s.
static const struct rb_report_node node = {.node = 4, .running_us = 0, .ready_us = 20 * S, .terminated_us = 100 * S};
static const struct rb_billing billing = {.rate = {3600 * S}, .data_uusd = 7};

static struct rb_report_cost split(const struct rb_task_row *tasks, int n)
{
    struct rb_report_cost by = {0};
    const struct rb_bill bill = rb_bill_node(&billing, node.running_us, node.terminated_us);
    rb_report_split_node(&bill, &node, 2, tasks, n, 0, &by);
    assert_int_equal(by.train_uusd + by.boot_uusd + by.idle_barrier_uusd + by.minimum_uusd + by.lost_uusd +
                         by.checkpoint_uusd,
                     bill.total_uusd);
    return by;
}

static void time_is_split_by_gpu(void **state)
{
    (void)state;
    const struct rb_slot first[] = {{4, 1}}, both[] = {{4, 3}}, elsewhere[] = {{5, 3}};
    const struct rb_task_row tasks[] = {
        // one GPU for 40 s, 10 s of them saving
        {.state = RB_TASK_SAVED,
         .started_us = 20 * S,
         .exited_us = 50 * S,
         .ended_us = 60 * S,
         .slots = first,
         .n_slots = 1},
        // both GPUs for 20 s, for nothing
        {.state = RB_TASK_ENDED,
         .started_us = 60 * S,
         .exited_us = -1,
         .ended_us = 80 * S,
         .slots = both,
         .n_slots = 1},
        {.state = RB_TASK_SAVED,
         .started_us = 20 * S,
         .exited_us = 90 * S,
         .ended_us = 99 * S,
         .slots = elsewhere,
         .n_slots = 1},
    };
    const struct rb_report_cost by = split(tasks, 3);
    assert_int_equal(by.boot_uusd, 20 * S + 7);
    assert_int_equal(by.train_uusd, 15 * S);
    assert_int_equal(by.checkpoint_uusd, 5 * S);
    assert_int_equal(by.lost_uusd, 20 * S);
    assert_int_equal(by.idle_barrier_uusd, 40 * S);
    assert_int_equal(by.minimum_uusd, 0);
}

// Two on one GPU from 20 s to 60 s, one of them in vain: the GPU was busy for 40 s, not for 80.
static void a_shared_gpu_is_paid_once(void **state)
{
    (void)state;
    const struct rb_slot half[] = {{4, 1}};
    const struct rb_task_row tasks[] = {
        {.state = RB_TASK_SAVED,
         .started_us = 20 * S,
         .exited_us = 60 * S,
         .ended_us = 60 * S,
         .slots = half,
         .n_slots = 1},
        {.state = RB_TASK_ENDED,
         .started_us = 20 * S,
         .exited_us = -1,
         .ended_us = 60 * S,
         .slots = half,
         .n_slots = 1},
    };
    const struct rb_report_cost by = split(tasks, 2);
    assert_int_equal(by.train_uusd, 10 * S);
    assert_int_equal(by.lost_uusd, 10 * S);
    assert_int_equal(by.idle_barrier_uusd, 60 * S);
}

static void the_minimum_is_named(void **state)
{
    (void)state;
    struct rb_report_cost by = {0};
    const struct rb_report_node brief = {.node = 1, .running_us = 0, .ready_us = -1, .terminated_us = 15 * S};
    const struct rb_bill bill = rb_bill_node(&billing, 0, 15 * S);
    rb_report_split_node(&bill, &brief, 2, NULL, 0, 0, &by);
    assert_int_equal(by.minimum_uusd, 45 * S);
    assert_int_equal(by.boot_uusd, 15 * S + 7);
}

static void stages_share_a_bill_by_time(void **state)
{
    (void)state;
    struct rb_report_stage stages[] = {
        {.start_us = 0, .end_us = 30 * S}, {.start_us = 30 * S, .end_us = 90 * S}, {.start_us = -1, .end_us = -1}};
    struct rb_report_node billed = node;
    billed.cost_uusd = 1000;
    rb_report_split_stages(&billed, 0, stages, 3); // the last 10 s count for the last stage that began
    assert_int_equal(stages[0].cost_uusd, 300);
    assert_int_equal(stages[1].cost_uusd, 700);
    assert_int_equal(stages[2].cost_uusd, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(largest_remainders_first),
        cmocka_unit_test(time_is_split_by_gpu),
        cmocka_unit_test(a_shared_gpu_is_paid_once),
        cmocka_unit_test(the_minimum_is_named),
        cmocka_unit_test(stages_share_a_bill_by_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
