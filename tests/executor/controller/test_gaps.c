// A controller that was stopped, or whose machine slept: what it did not hear says nothing about who was silent.
#include "fake_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define SECOND_US INT64_C(1000000)
#define MINUTE_US (60 * SECOND_US)

// By the end: trials that were started more than once for a stage, and what went wrong.
static int restarts(struct fake_run *r)
{
    int n = 0;
    for (int i = 0; i < r->machines.n_processes; i++)
        n += r->machines.processes[i]->attempt > 0;
    return n;
}

// What the engine came to, as text: the reports it believed.
static void results(struct fake_run *r, char *out, size_t size)
{
    size_t len = 0;
    for (int i = 0; i < rb_engine_n_trials(rb_controller_engine(r->controller)); i++) {
        const struct rb_trial *t = rb_engine_trial(rb_controller_engine(r->controller), i);
        len += (size_t)snprintf(out + len, size - len, "%d: %lld %d;", i, (long long)t->resource, (int)t->state);
    }
}

static void undisturbed(char *out, size_t size)
{
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    fake_run_end_within(&r, 600 * MINUTE_US);
    results(&r, out, size);
    fake_run_finish(&r);
}

// trial.timeout is 60 s, and so is it for connections to come back.
static void trials_that_trained_on_are_not_taken_to_hang(void **state)
{
    (void)state;
    char expected[1024], got[1024];
    undisturbed(expected, sizeof expected);
    static const struct {
        int64_t at_us, for_us, catch_up_us;
    } cases[] = {
        {60 * SECOND_US, 70 * SECOND_US, SECOND_US}, {80 * SECOND_US, 8 * 60 * MINUTE_US, 40 * SECOND_US},
        {50 * SECOND_US, 9 * SECOND_US, SECOND_US},  {95 * SECOND_US, 59 * SECOND_US, 30 * SECOND_US},
        {20 * SECOND_US, 90 * SECOND_US, SECOND_US}, {5 * SECOND_US, 30 * MINUTE_US, SECOND_US},
        {3 * SECOND_US, 15 * MINUTE_US, SECOND_US},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_run r;
        fake_run_init(&r, 1);
        r.machines.catch_up_us = cases[i].catch_up_us;
        fake_run_open(&r);
        fake_run_step_for(&r, cases[i].at_us);
        virtual_loop_stop_for(&r.v, cases[i].for_us);
        fake_run_end_within(&r, 600 * MINUTE_US);
        results(&r, got, sizeof got);
        if (restarts(&r) != 0 || r.outcome != RB_JOB_COMPLETE || strcmp(got, expected) != 0)
            fail_msg("case %zu: %d restarts, %s\n%s", i, restarts(&r), got, r.talk);
        if (cases[i].for_us >= 10 * SECOND_US)
            fake_run_assert_said(&r, "this process did not run for");
        fake_run_finish(&r);
    }
}

// One stop after the other: a machine that is busy for ever, a lid that is opened for a moment.
static void nor_are_they_by_many_stops(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    for (int i = 0; i < 40 && !r.finished; i++) {
        fake_run_step_for(&r, 7 * SECOND_US);
        virtual_loop_stop_for(&r.v, i % 2 ? 9 * SECOND_US : 65 * SECOND_US);
    }
    fake_run_end_within(&r, 600 * MINUTE_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(restarts(&r), 0);
    fake_run_finish(&r);
}

// What does hang is found all the same, a full timeout after the stop at the latest.
static void what_hangs_is_still_found(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.machines.training.hangs = 1;
    fake_run_open(&r);
    fake_run_step_for(&r, 60 * SECOND_US);
    virtual_loop_stop_for(&r.v, 20 * MINUTE_US);
    fake_run_step_for(&r, 20 * MINUTE_US + 3 * MINUTE_US);
    fake_run_assert_said(&r, "hung, killed");
    fake_run_finish(&r);
}

// Short stops are only taken off: a trial that hangs is found although the controller is late ever again.
static void by_a_starved_controller_too(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.machines.training.hangs = 1;
    fake_run_open(&r);
    fake_run_step_for(&r, 30 * SECOND_US);
    for (int i = 0; i < 60; i++) {
        fake_run_step_for(&r, 3 * SECOND_US);
        virtual_loop_stop_for(&r.v, 2 * SECOND_US);
    }
    fake_run_assert_said(&r, "hung, killed");
    fake_run_finish(&r);
}

// Deadline and budget are facts: they passed whether or not anyone looked.
static void a_deadline_in_the_gap_stops_the_run(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.deadline_us = 10 * MINUTE_US;
    fake_run_open(&r);
    fake_run_step_for(&r, MINUTE_US);
    virtual_loop_stop_for(&r.v, 60 * MINUTE_US);
    fake_run_end_within(&r, 600 * MINUTE_US);
    assert_int_equal(r.outcome, RB_JOB_STOPPED);
    assert_int_equal(r.reason, RB_STOP_DEADLINE);
    assert_true(r.v.now_us < 70 * MINUTE_US);
    fake_run_finish(&r);
}

static void a_budget_spent_in_the_gap_stops_the_run(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    fake_run_step_for(&r, MINUTE_US);
    fake_run_close(&r);
    fake_run_finish(&r);
    fake_run_init(&r, 1);
    r.budget_uusd = 5 * 3600000; // five node hours: three nodes train for three hours meanwhile
    fake_run_open(&r);
    fake_run_step_for(&r, MINUTE_US);
    virtual_loop_stop_for(&r.v, 180 * MINUTE_US);
    fake_run_end_within(&r, 600 * MINUTE_US);
    assert_int_equal(r.outcome, RB_JOB_STOPPED);
    assert_int_equal(r.reason, RB_STOP_BUDGET);
    fake_run_finish(&r);
}

// Nodes end themselves after 30 minutes of silence. What became of them is read from the listing; the heartbeat is not late
// by another two minutes.
static void nodes_that_ended_in_the_gap_are_seen_in_the_listing(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    fake_run_step_for(&r, 90 * SECOND_US);
    virtual_loop_stop_for(&r.v, 40 * MINUTE_US);
    fake_run_step_for(&r, 30 * MINUTE_US);
    const int n = r.cloud.n_instances;
    for (int i = 0; i < n; i++)
        fake_cloud_kill_instance(&r.cloud, i, "Client.InstanceInitiatedShutdown");
    fake_run_end_within(&r, 600 * MINUTE_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_true(r.cloud.n_instances > n);
    fake_run_assert_said(&r, "lost: Client.InstanceInitiatedShutdown");
    fake_run_finish(&r);
}

static void the_heartbeat_comes_at_once(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.machines.training.unit_us = 30 * MINUTE_US;
    ((struct rb_job *)(uintptr_t)r.plan->job)->trial.timeout_us = 200 * MINUTE_US;
    fake_run_open(&r);
    fake_run_step_for(&r, 130 * SECOND_US);
    const int n = r.machines.n_heartbeats;
    assert_true(n > 0);
    virtual_loop_stop_for(&r.v, 20 * SECOND_US); // the next is due a minute and a half later
    fake_run_step_for(&r, 22 * SECOND_US);
    assert_true(r.machines.n_heartbeats > n);
    fake_run_finish(&r);
}

// A node that boots is not given up because no one looked.
static void nodes_that_boot_are_not_given_up(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.boot_timeout_us = 5 * MINUTE_US;
    fake_run_open(&r);
    fake_run_step_for(&r, SECOND_US);
    virtual_loop_stop_for(&r.v, 6 * MINUTE_US);
    fake_run_end_within(&r, 600 * MINUTE_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(r.cloud.n_instances, 3);
    fake_run_finish(&r);
}

// What was asked to give way has its patience again; and a suspend is no unit of the resource.
static void no_one_is_evicted_for_our_absence(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_make_anytime(&r, 30 * MINUTE_US);
    r.deadline_us = 30 * MINUTE_US;
    fake_run_open(&r);
    for (int i = 0; i < 12 && !r.finished; i++) {
        fake_run_step_for(&r, 70 * SECOND_US);
        virtual_loop_stop_for(&r.v, 61 * SECOND_US);
    }
    fake_run_end_within(&r, 600 * MINUTE_US);
    assert_null(strstr(r.talk, "did not give way"));
    assert_null(strstr(r.talk, "hung"));
    fake_run_finish(&r);
}

// The clouds' silence is ours: a node whose ssh broke in the gap is not "cut off" by clouds that were never asked.
static void a_gap_is_not_a_lost_network(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    fake_run_step_for(&r, 60 * SECOND_US);
    virtual_loop_stop_for(&r.v, 15 * MINUTE_US);
    fake_run_end_within(&r, 600 * MINUTE_US);
    assert_null(strstr(r.talk, "is this machine's network gone"));
    fake_run_finish(&r);
}

// --- a network that is gone: what its trials print meanwhile comes once it is back

static void trials_without_a_network_are_not_taken_to_hang(void **state)
{
    (void)state;
    const int64_t for_us[] = {20 * SECOND_US, 29 * SECOND_US, 5 * MINUTE_US}; // launchers give a node up after 30 s
    for (int k = 0; k < 30; k++) {
        struct fake_run r;
        fake_run_init(&r, 1);
        r.machines.training.unit_us = 40 * SECOND_US; // 28 to 52; trial.timeout is 60 s
        fake_run_open(&r);
        fake_run_step_for(&r, (30 + 5 * (k / 3)) * SECOND_US);
        r.cloud.faults.unreachable = true;
        fake_machines_set_offline(&r.machines, true);
        fake_run_step_for(&r, for_us[k % 3]);
        r.cloud.faults.unreachable = false;
        fake_machines_set_offline(&r.machines, false);
        fake_run_end_within(&r, 600 * MINUTE_US);
        if (strstr(r.talk, "hung") || restarts(&r) != 0 || r.outcome != RB_JOB_COMPLETE)
            fail_msg("case %d: %d restarts; it said:\n%s", k, restarts(&r), r.talk);
        fake_run_finish(&r);
    }
}

// What hangs is found once its node has answered.
static void what_hangs_is_found_behind_a_lost_network(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.machines.training.hangs = 1;
    fake_run_open(&r);
    fake_run_step_for(&r, 60 * SECOND_US);
    r.cloud.faults.unreachable = true;
    fake_machines_set_offline(&r.machines, true);
    fake_run_step_for(&r, 25 * SECOND_US);
    r.cloud.faults.unreachable = false;
    fake_machines_set_offline(&r.machines, false);
    fake_run_step_for(&r, 3 * MINUTE_US);
    fake_run_assert_said(&r, "hung, killed");
    fake_run_finish(&r);
}

// --- a machine that is full: what could not be started here was no one's fault

// A command for each of the first trials cannot be started, every second for that long.
static void be_full(struct fake_run *r, int64_t us)
{
    const int64_t until_us = r->v.now_us + us;
    struct rb_err err = {0};
    rb_err_set(&err, RB_E_MACHINE_FULL, "cannot start ssh: this process may open no more files (ulimit -n)");
    while (!r->finished && r->v.now_us < until_us) {
        for (int trial = -1; trial < 9; trial++)
            r->machines.events.held_up(r->machines.events.ctx, trial, &err);
        fake_run_step_for(r, SECOND_US);
    }
}

static void a_full_machine_is_waited_for(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.machines.training.unit_us = 100 * SECOND_US; // longer than trial.timeout
    fake_run_open(&r);
    fake_run_step_for(&r, 60 * SECOND_US);
    be_full(&r, 4 * MINUTE_US);
    assert_false(r.finished);
    assert_null(strstr(r.talk, "hung"));
    assert_int_equal(restarts(&r), 0);
    fake_run_assert_said(&r, "waiting for room");
    fake_run_finish(&r);
}

// Prepared, saved and started again, killed: whatever could not be started is, once there is room.
static void and_what_it_held_up_is_done_then(void **state)
{
    (void)state;
    const int64_t at_us[] = {2 * SECOND_US, 45 * SECOND_US, 60 * SECOND_US, 110 * SECOND_US};
    for (size_t i = 0; i < sizeof at_us / sizeof *at_us; i++) {
        struct fake_run r;
        fake_run_init(&r, 1);
        fake_run_open(&r);
        fake_run_step_for(&r, at_us[i]);
        fake_machines_set_full(&r.machines, 4 * MINUTE_US);
        fake_run_end_within(&r, 600 * MINUTE_US);
        assert_int_equal(r.outcome, RB_JOB_COMPLETE);
        assert_int_equal(restarts(&r), 0);
        fake_run_assert_said(&r, "waiting for room");
        fake_run_finish(&r);
    }
}

static void but_not_for_ever(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.machines.training.unit_us = 600 * SECOND_US;
    fake_run_open(&r);
    fake_run_step_for(&r, 60 * SECOND_US);
    be_full(&r, 6 * MINUTE_US);
    fake_run_end_within(&r, 600 * MINUTE_US);
    assert_int_equal(r.outcome, RB_JOB_STOPPED);
    assert_int_equal(r.reason, RB_STOP_FAILURE);
    assert_int_equal(r.err.number, RB_E_MACHINE_FULL);
    assert_non_null(strstr(r.err.message, "full for 5 minutes"));
    assert_int_equal(restarts(&r), 0);
    fake_run_finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_that_trained_on_are_not_taken_to_hang),
        cmocka_unit_test(nor_are_they_by_many_stops),
        cmocka_unit_test(what_hangs_is_still_found),
        cmocka_unit_test(by_a_starved_controller_too),
        cmocka_unit_test(a_deadline_in_the_gap_stops_the_run),
        cmocka_unit_test(a_budget_spent_in_the_gap_stops_the_run),
        cmocka_unit_test(nodes_that_ended_in_the_gap_are_seen_in_the_listing),
        cmocka_unit_test(the_heartbeat_comes_at_once),
        cmocka_unit_test(nodes_that_boot_are_not_given_up),
        cmocka_unit_test(no_one_is_evicted_for_our_absence),
        cmocka_unit_test(a_gap_is_not_a_lost_network),
        cmocka_unit_test(trials_without_a_network_are_not_taken_to_hang),
        cmocka_unit_test(what_hangs_is_found_behind_a_lost_network),
        cmocka_unit_test(a_full_machine_is_waited_for),
        cmocka_unit_test(and_what_it_held_up_is_done_then),
        cmocka_unit_test(but_not_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
