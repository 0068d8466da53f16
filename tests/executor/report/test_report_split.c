// Bills of a run: starts become spells of GPU time, and stages share by time.
#include "executor/report/report_split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define S INT64_C(1000000)

// A node of 2 GPUs, running at 0, ready at 20 s, ended at 100 s, at 1 $/s.
static const struct rb_report_node node = {.node = 4, .running_us = 0, .ready_us = 20 * S, .terminated_us = 100 * S};
static const struct rb_billing billing = {.rate = {3600 * S}, .data_uusd = 7};

static struct rb_bill_parts split(const struct rb_task_row *tasks, int n)
{
    struct rb_bill_parts by = {0};
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
    const struct rb_bill_parts by = split(tasks, 3);
    assert_int_equal(by.boot_uusd, 20 * S + 7);
    assert_int_equal(by.train_uusd, 15 * S);
    assert_int_equal(by.checkpoint_uusd, 5 * S);
    assert_int_equal(by.lost_uusd, 20 * S);
    assert_int_equal(by.idle_barrier_uusd, 40 * S);
    assert_int_equal(by.minimum_uusd, 0);
}

// Both GPUs from 20 s to 80 s, of which 45 s were saved midway.
static void what_was_saved_midway_is_not_lost(void **state)
{
    (void)state;
    const struct rb_slot both[] = {{4, 3}};
    struct rb_task_row task = {.state = RB_TASK_KILLED,
                               .started_us = 20 * S,
                               .exited_us = -1,
                               .ended_us = 80 * S,
                               .kept_us = 65 * S,
                               .slots = both,
                               .n_slots = 1};
    const struct rb_bill_parts by = split(&task, 1);
    assert_int_equal(by.train_uusd, 45 * S);
    assert_int_equal(by.lost_uusd, 15 * S);
    task.state = RB_TASK_SAVED;
    assert_int_equal(split(&task, 1).train_uusd, 60 * S);
}

// Two on one GPU from 20 s to 60 s, one of them without success: the GPU was busy for 40 s, not for 80.
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
    const struct rb_bill_parts by = split(tasks, 2);
    assert_int_equal(by.train_uusd, 10 * S);
    assert_int_equal(by.lost_uusd, 10 * S);
    assert_int_equal(by.idle_barrier_uusd, 60 * S);
}

static void the_minimum_is_named(void **state)
{
    (void)state;
    struct rb_bill_parts by = {0};
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

// EC2 names whole seconds: a node that runs within the first second of a run was launched before the run began, as it says.
static void whole_seconds_do_not_hide_when_a_node_ran(void **state)
{
    (void)state;
    const int64_t run_began = 1800000000 * S + 400000;
    assert_int_equal(rb_report_run_time_us(1800000000 * S, run_began, 20000), 20000);
    assert_int_equal(rb_report_run_time_us(1800000007 * S, run_began, 20000), 6600000);
    assert_int_equal(rb_report_run_time_us(-1, run_began, 20000), -1);
    struct rb_report_stage stages[] = {{.start_us = 0, .end_us = 30 * S}, {.start_us = 30 * S, .end_us = 100 * S}};
    struct rb_report_node billed = node;
    billed.cost_uusd = 1000;
    billed.running_us = rb_report_run_time_us(1800000000 * S, run_began, 0);
    rb_report_split_stages(&billed, 0, stages, 2);
    assert_int_equal(stages[0].cost_uusd, 300);
    assert_int_equal(stages[1].cost_uusd, 700);
}

// What a bill of one a GPU and microsecond would say: nothing is due to a minimum, and it needs no price.
static void node_time_is_split_like_a_bill(void **state)
{
    (void)state;
    const struct rb_slot first[] = {{4, 1}}, both[] = {{4, 3}};
    const struct rb_task_row tasks[] = {
        {.state = RB_TASK_SAVED,
         .started_us = 20 * S,
         .exited_us = 50 * S,
         .ended_us = 60 * S,
         .slots = first,
         .n_slots = 1},
        {.state = RB_TASK_ENDED,
         .started_us = 60 * S,
         .exited_us = -1,
         .ended_us = 80 * S,
         .slots = both,
         .n_slots = 1},
    };
    struct rb_node_time t;
    rb_report_split_time(&node, 2, tasks, 2, 0, -1, &t);
    assert_int_equal(t.boot_us, 40 * S);
    assert_int_equal(t.train_us, 30 * S);
    assert_int_equal(t.checkpoint_us, 10 * S);
    assert_int_equal(t.lost_us, 40 * S);
    assert_int_equal(t.idle_barrier_us, 80 * S);
    assert_int_equal(rb_node_time_sum(&t), 200 * S);
    // Of a pool's node the run had 90 GPU seconds, 80 of them at work; booting is the pool's.
    rb_report_split_time(&node, 2, tasks, 2, 0, 90 * S, &t);
    assert_int_equal(t.boot_us, 0);
    assert_int_equal(t.idle_barrier_us, 10 * S);
    assert_int_equal(rb_node_time_sum(&t), 90 * S);
    // One that lives still, and one that never ran.
    const struct rb_report_node
        young = {.node = 4, .running_us = 0, .ready_us = 20 * S, .terminated_us = -1, .gone_us = -1},
        never = {.node = 4, .running_us = -1, .ready_us = -1, .terminated_us = 9 * S, .gone_us = -1};
    rb_report_split_time(&young, 2, tasks, 1, 30 * S, -1, &t);
    assert_int_equal(t.train_us, 10 * S);
    assert_int_equal(rb_node_time_sum(&t), 60 * S);
    rb_report_split_time(&never, 2, NULL, 0, 30 * S, -1, &t);
    assert_int_equal(rb_node_time_sum(&t), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_split_by_gpu),
        cmocka_unit_test(what_was_saved_midway_is_not_lost),
        cmocka_unit_test(a_shared_gpu_is_paid_once),
        cmocka_unit_test(the_minimum_is_named),
        cmocka_unit_test(stages_share_a_bill_by_time),
        cmocka_unit_test(whole_seconds_do_not_hide_when_a_node_ran),
        cmocka_unit_test(node_time_is_split_like_a_bill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
