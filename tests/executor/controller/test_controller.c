// The controller on the fake cloud in virtual time: how runs end, and what is never left behind.
#include "fake_run.h"

#include "executor/report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// cmocka wants the four above first
#include <cmocka.h>

#define MINUTE_US INT64_C(60000000)
#define FAR_US    (600 * MINUTE_US)

static int best_of(const struct fake_run *r)
{
    return rb_engine_best(rb_controller_engine(r->controller));
}

static int best_undisturbed(void)
{
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    const int best = best_of(&r);
    fake_run_finish(&r);
    return best;
}

static bool talked_of(const struct fake_run *r, const char *text)
{
    return strstr(r->talk, text) != NULL;
}

// --- a node that is about to be reclaimed

static struct fake_process *last_process(const struct fake_run *r)
{
    return r->machines.processes[r->machines.n_processes - 1];
}

// Its trial saves and gives way; nothing starts there until it is clear that the node stays.
static void a_node_that_leaves_gets_no_more_trials(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    while (r.machines.n_processes == 0 || last_process(&r)->stage != 2 || last_process(&r)->n_lines < 2)
        fake_run_step_until(&r, r.v.now_us + 1000000);
    const struct fake_process *p = last_process(&r);
    const int n_processes = r.machines.n_processes, node = r.machines.nodes[r.machines.n_nodes - 1].node;
    assert_int_equal(r.machines.nodes[r.machines.n_nodes - 1].instance, p->slots[0].instance);
    r.machines.events.leaving(r.machines.events.ctx, node, 30);
    r.machines.events.leaving(r.machines.events.ctx, node, 30); // said again
    fake_run_step_until(&r, r.v.now_us + MINUTE_US);
    assert_int_equal(p->state, FAKE_EXITED);
    assert_int_equal(p->exit_code, 75);
    assert_int_equal(r.machines.n_processes, n_processes);
    fake_run_step_until(&r, r.v.now_us + MINUTE_US); // half a minute of notice, and one of doubt, are over
    assert_int_equal(r.machines.n_processes, n_processes + 1);
    assert_int_equal(last_process(&r)->resource_start, p->resource_start + p->n_lines);
    assert_true(talked_of(&r, "its cloud takes it back in 30 s"));
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    fake_run_finish(&r);
}

// --- a run that ends well

static void completes(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(r.err.code, RB_ERR_NONE);
    assert_string_equal(r.talk, "");
    assert_int_equal(r.cloud.n_instances, 3);
    assert_true(r.machines.n_heartbeats >= 3);

    const struct rb_report report = fake_run_report(&r);
    const struct rb_bill_parts *by = &report.by;
    assert_int_equal(report.cost_uusd, fake_cloud_bill_uusd(&r.cloud, &r.billing));
    assert_int_equal(by->train_uusd + by->boot_uusd + by->idle_barrier_uusd + by->minimum_uusd + by->lost_uusd +
                         by->checkpoint_uusd,
                     report.cost_uusd);
    assert_true(by->train_uusd > by->boot_uusd && by->boot_uusd > 0 && by->checkpoint_uusd > 0);
    assert_int_equal(by->lost_uusd, 0);
    assert_int_equal(report.instances_left, 0);
    assert_true(report.leak_checked_at_us >= report.time_us);
    int64_t stages = 0;
    for (int i = 0; i < report.n_stages; i++) {
        assert_int_equal(report.stages[i].nodes, 3 - i);
        stages += report.stages[i].cost_uusd;
    }
    assert_int_equal(stages, report.cost_uusd);
    assert_non_null(report.best_checkpoint);
    assert_string_equal(report.best_checkpoint + strlen(report.best_checkpoint) - 12, "/stage-2.tar");
    fake_run_finish(&r);
}

// --- stops, and going on

static void stops_for_the_user_and_goes_on(void **state)
{
    (void)state;
    struct fake_run r;
    const int best = best_undisturbed();
    fake_run_init(&r, 1);
    fake_run_open(&r);
    fake_run_step_until(&r, 40 * 1000000);
    rb_controller_stop(r.controller, RB_STOP_USER);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_STOPPED);
    assert_int_equal(r.reason, RB_STOP_USER);
    assert_int_equal(r.err.code, RB_ERR_NONE);
    fake_run_close(&r);

    r.go_on = true;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(best_of(&r), best);
    fake_run_finish(&r);
}

static void opening_a_stopped_run_without_going_on_launches_nothing(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    fake_run_step_until(&r, 40 * 1000000);
    rb_controller_stop(r.controller, RB_STOP_USER);
    fake_run_end_within(&r, FAR_US);
    fake_run_close(&r);
    const int n_instances = r.cloud.n_instances;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_STOPPED);
    assert_int_equal(r.cloud.n_instances, n_instances);
    fake_run_finish(&r);
}

static void stops_at_the_deadline_and_goes_on_with_more(void **state)
{
    (void)state;
    struct fake_run r;
    struct rb_err err;
    const int best = best_undisturbed();
    fake_run_init(&r, 1);
    r.deadline_us = 60 * 1000000;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_STOPPED);
    assert_int_equal(r.reason, RB_STOP_DEADLINE);
    assert_true(fake_run_report(&r).time_us == 60 * 1000000);
    const int n_instances = r.cloud.n_instances;
    fake_run_close(&r);

    r.go_on = true; // without more time: nothing is rented
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.reason, RB_STOP_DEADLINE);
    assert_int_equal(r.cloud.n_instances, n_instances);
    assert_true(talked_of(&r, "deadline has passed"));
    assert_true(rb_journal_set_limits(r.journal, FAR_US, -1, &err));
    fake_run_close(&r);

    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(best_of(&r), best);
    fake_run_finish(&r);
}

static void never_spends_more_than_the_budget(void **state)
{
    (void)state;
    for (int64_t budget_uusd = 20000; budget_uusd < 500000; budget_uusd += 37000) {
        struct fake_run r;
        fake_run_init(&r, 1);
        r.budget_uusd = budget_uusd;
        fake_run_open(&r);
        fake_run_end_within(&r, FAR_US);
        const int64_t cost = fake_cloud_bill_uusd(&r.cloud, &r.billing);
        assert_true(cost <= budget_uusd);
        assert_true(r.outcome == RB_JOB_COMPLETE || (r.outcome == RB_JOB_STOPPED && r.reason == RB_STOP_BUDGET));
        if (budget_uusd < 60000) // not even one node's minimum
            assert_int_equal(r.cloud.n_instances, 0);
        fake_run_finish(&r);
    }
}

static void more_budget_lets_it_go_on(void **state)
{
    (void)state;
    struct fake_run r;
    struct rb_err err;
    fake_run_init(&r, 1);
    r.budget_uusd = 200000;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.reason, RB_STOP_BUDGET);
    assert_true(rb_journal_set_limits(r.journal, -1, 5000000, &err));
    fake_run_close(&r);
    r.go_on = true;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    fake_run_finish(&r);
}

// --- clouds that refuse

static void gives_up_without_capacity(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.cloud.faults.capacity = 1;
    r.capacity_retries = 4;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.err.code, RB_ERR_CAPACITY);
    assert_int_equal(rb_err_exit_code(&r.err), 6);
    assert_int_equal(r.cloud.n_instances, 0);
    assert_in_range(r.cloud.n_launch_calls, 4, 3 * 4);
    fake_run_finish(&r);
}

static void gives_up_at_once_when_denied(void **state)
{
    (void)state;
    const enum rb_err_code codes[] = {RB_ERR_DENIED, RB_ERR_INVALID};
    const int exit_codes[] = {5, 2};
    for (int i = 0; i < 2; i++) {
        struct fake_run r;
        fake_run_init(&r, 1);
        r.cloud.faults.refuse_all = codes[i];
        fake_run_open(&r);
        fake_run_end_within(&r, FAR_US);
        assert_int_equal(rb_err_exit_code(&r.err), exit_codes[i]);
        assert_true(r.cloud.n_launch_calls <= 3);
        fake_run_finish(&r);
    }
}

// Its answer was lost, and asking again is not allowed for a while: a clock that was set. It may be there all the same.
static void a_launch_that_was_not_answered_is_not_refused_by_a_denial(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.cloud.faults.lost_answer = 1;
    r.cloud.faults.visible_after_us = 60 * 1000000;
    fake_run_open(&r);
    while (r.cloud.n_instances < 3)
        assert_true(virtual_loop_step(&r.v));
    r.cloud.faults.lost_answer = 0;
    r.cloud.faults.denied_launches = 4;
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(r.cloud.n_instances, 3);
    assert_int_equal(r.cloud.faults.denied_launches, 0);
    fake_run_finish(&r);

    fake_run_init(&r, 1); // for ever: then it is said, and the run stops
    r.cloud.faults.lost_request = 1;
    fake_run_open(&r);
    fake_run_step_until(&r, 4 * 1000000);
    r.cloud.faults.lost_request = 0;
    r.cloud.faults.denied_launches = 1000;
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(rb_err_exit_code(&r.err), 5);
    assert_int_equal(r.cloud.n_instances, 0);
    fake_run_finish(&r);
}

static void gives_up_when_no_node_can_be_set_up(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.machines.training.set_up_fails = true;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.err.code, RB_ERR_IO);
    assert_non_null(strstr(r.err.message, "pip: command not found"));
    assert_true(r.cloud.n_instances <= 6);
    fake_run_finish(&r);
}

// The machines failed, and no trial did: what began elsewhere has all its restarts left.
static void a_node_without_room_is_replaced(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.machines.training.full_nodes = 2;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.err.code, RB_ERR_NONE);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    const struct rb_report report = fake_run_report(&r);
    for (int i = 0; i < report.n_notes; i++)
        if (strcmp(report.notes[i].kind, "fault") == 0) {
            assert_non_null(strstr(report.notes[i].text, "lost: its disk does not take what trial"));
            assert_non_null(strstr(report.notes[i].text, "No space left on device"));
        }
    assert_true(r.cloud.n_instances > 3);
    fake_run_finish(&r);
}

static void stops_when_no_node_has_room(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.machines.training.full_nodes = 1000;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(rb_err_number(&r.err), RB_E_NODE_NO_ROOM);
    assert_non_null(strstr(r.err.message, "3 nodes in a row had no room for trial"));
    assert_int_equal(r.reason, RB_STOP_FAILURE);
    assert_true(r.cloud.n_instances <= 3 + 2 * 3);
    fake_run_close(&r);
    r.machines.training.full_nodes = 0;
    r.go_on = true;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    fake_run_finish(&r);
}

// Longer than a boot may take, and than a node lives that hears nothing: it is waited for, and gets heartbeats.
static void waits_for_the_data_of_a_job(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.machines.training.fetch_us = 45 * MINUTE_US;
    r.boot_timeout_us = 5 * MINUTE_US;
    fake_run_open(&r);
    const int64_t until_us = r.v.now_us + 40 * MINUTE_US;
    while (r.v.now_us < until_us && virtual_loop_step(&r.v))
        ;
    assert_true(r.machines.n_heartbeats >= 20);
    assert_int_equal(r.machines.n_processes, 0);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.err.code, RB_ERR_NONE);
    assert_true(r.machines.n_processes > 0);
    fake_run_finish(&r);
}

// In a queue a node may wait for days, at no cost. One that has its machine, and does not start there, is billed.
static void a_node_that_is_billed_and_held_up_is_lost(void **state)
{
    (void)state;
    for (int billed = 0; billed < 2; billed++) {
        struct fake_run r;
        fake_run_init(&r, 1);
        r.cloud.faults.never_boots = true;
        r.boot_timeout_us = 7 * 24 * 60 * MINUTE_US;
        r.held_timeout_us = 15 * MINUTE_US;
        fake_run_open(&r);
        const int64_t until_us = r.v.now_us + 120 * MINUTE_US;
        while (r.v.now_us < until_us && !r.finished && virtual_loop_step(&r.v)) {
            for (int i = 0; i < r.cloud.n_instances; i++) {
                struct fake_instance *x = r.cloud.instances[i];
                if (x->state != RB_INSTANCE_PENDING)
                    continue;
                x->reason = "FailedMount: secret \"s\" not found";
                if (billed)
                    x->running_unix_us = r.v.ours.unix_us(r.v.ours.ctx);
            }
        }
        assert_int_equal(r.finished, billed);
        if (billed)
            assert_non_null(strstr(r.err.message, "has its machine, and did not start within 15 m 0 s: FailedMount: secret"));
        fake_run_finish(&r);
    }
}

static void gives_up_when_no_node_ever_boots(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.cloud.faults.never_boots = true;
    r.boot_timeout_us = 5 * MINUTE_US;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(rb_err_number(&r.err), RB_E_NODE_NOT_READY);
    assert_non_null(strstr(r.err.message, "mock/here box did not run within 5 m 0 s of its launch"));
    assert_int_equal(r.reason, RB_STOP_FAILURE);
    assert_int_equal(fake_cloud_bill_uusd(&r.cloud, &r.billing), 0);
    fake_run_finish(&r);
}

// The terminal, the journal and the report say what ssh said and what to do about it.
static void says_why_no_node_was_reached(void **state)
{
    (void)state;
    static const char said[] = "and was not ready within 5 m 0 s of its launch: ssh: Connection timed out; let";
    struct fake_run r;
    fake_run_init(&r, 1);
    r.cloud.faults.silent = true;
    r.boot_timeout_us = 5 * MINUTE_US;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.err.code, RB_ERR_IO);
    assert_non_null(strstr(r.err.message, said));
    assert_true(talked_of(&r, said));
    const struct rb_report report = fake_run_report(&r);
    char outcome[64];
    int n_faults = 0;
    assert_string_equal(rb_report_outcome(report.outcome, report.reason, false, outcome), "stopped: failure");
    for (int i = 0; i < report.n_notes; i++)
        n_faults += strcmp(report.notes[i].kind, "fault") == 0 && strstr(report.notes[i].text, said);
    assert_int_equal(n_faults, 3); // two that are lost, and the third, for which the run ends
    assert_int_equal(report.cost_uusd, fake_cloud_bill_uusd(&r.cloud, &r.billing));
    fake_run_finish(&r);
}

// --- clouds that lie

static void ends_a_stranger_with_its_tag(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    fake_run_step_until(&r, 10 * 1000000);
    fake_cloud_add_stranger(&r.cloud, "fake-run");
    fake_cloud_add_stranger(&r.cloud, "another-run");
    const int other = r.cloud.n_instances - 1;
    fake_run_step_until(&r, FAR_US);
    assert_true(r.finished);
    assert_true(talked_of(&r, "belongs to no launch"));
    assert_int_equal(fake_cloud_alive(&r.cloud), 1);
    assert_int_equal(r.cloud.instances[other]->state, RB_INSTANCE_RUNNING);
    fake_run_finish(&r);
}

// Every instance shows up in listings only after 30 s, and a termination before that is answered with "not found".
static void does_not_believe_an_absence_before_an_end_was_accepted(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct fake_run r;
        fake_run_init(&r, seed);
        r.cloud.faults.visible_after_us = 60 * 1000000;
        fake_run_open(&r);
        fake_run_step_until(&r, 2 * 1000000);
        rb_controller_stop(r.controller, RB_STOP_USER);
        fake_run_end_within(&r, FAR_US);
        assert_int_equal(r.err.code, RB_ERR_NONE);
        assert_int_equal(fake_run_report(&r).cost_uusd, fake_cloud_bill_uusd(&r.cloud, &r.billing));
        fake_run_finish(&r);
    }
}

static void believes_an_end_that_is_listed_no_more(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.cloud.faults.vanishing = true;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(fake_run_report(&r).cost_uusd, fake_cloud_bill_uusd(&r.cloud, &r.billing));
    fake_run_finish(&r);
}

// Where a cloud reports changes, the next listing comes at once; where it does not, with the next poll. Nothing else is
// different: what has changed, listings say.
static void a_change_wakes_the_next_listing(void **state)
{
    (void)state;
    int64_t took_us[2];
    int n_listings[2];
    for (int wakes = 0; wakes < 2; wakes++) {
        struct fake_run r;
        fake_run_init(&r, 1);
        r.poll_us = 60 * 1000000;
        r.cloud.wakes = wakes;
        fake_run_open(&r);
        fake_run_step_until(&r, 30 * 1000000);
        assert_int_equal(r.cloud.instances[0]->state, RB_INSTANCE_RUNNING); // within half a period
        fake_run_end_within(&r, FAR_US);
        assert_int_equal(r.outcome, RB_JOB_COMPLETE);
        assert_int_equal(fake_run_report(&r).cost_uusd, fake_cloud_bill_uusd(&r.cloud, &r.billing));
        took_us[wakes] = r.v.now_us;
        n_listings[wakes] = r.cloud.n_listings;
        fake_run_finish(&r);
    }
    assert_true(took_us[1] < took_us[0] - 45 * 1000000);
    // one for each change at most, and those that are due anyway
    assert_true(n_listings[1] <= n_listings[0] + 2 * 8);
}

// Listed on its way in a zone that has no machine for it after all, while its call goes on to the next one; what that zone
// gave has come and gone before anybody lists again. No one asks for it by its launch any more but the launch itself.
static void a_launch_goes_on_to_the_next_zone_and_its_controller_dies(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.cloud.faults.second_zone = r.cloud.faults.vanishing = true;
    r.poll_us = 700000;
    fake_run_open(&r);
    while (r.cloud.n_instances < 6) // three that never came, and three that no one has listed yet
        assert_true(virtual_loop_step(&r.v));
    fake_run_close(&r);
    r.cloud.faults.second_zone = false;
    fake_run_step_until(&r, 15 * 1000000);
    for (int i = 3; i < 6; i++) {
        assert_int_equal(r.cloud.instances[i]->state, RB_INSTANCE_RUNNING);
        fake_cloud_kill_instance(&r.cloud, i, "Server.SpotInstanceTermination");
    }
    fake_run_step_until(&r, 20 * 1000000);
    r.go_on = true;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(fake_run_report(&r).cost_uusd, fake_cloud_bill_uusd(&r.cloud, &r.billing));
    fake_run_finish(&r);
}

// Terminating is allowed again after a while; until then it is said, once per node, and asked for.
static void says_loudly_that_it_may_not_end_a_node_and_asks_on(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    fake_run_step_until(&r, 30 * 1000000);
    r.cloud.faults.refused_ends = 7;
    rb_controller_stop(r.controller, RB_STOP_USER);
    fake_run_end_within(&r, FAR_US);
    const char *first = strstr(r.talk, "REFUSES to end i-");
    assert_non_null(first);
    assert_non_null(strstr(first, "UnauthorizedOperation"));
    for (int i = 0; i < r.cloud.n_instances; i++) {
        char words[64];
        snprintf(words, sizeof words, "REFUSES to end %s in", r.cloud.instances[i]->id);
        const char *said = strstr(r.talk, words);
        assert_true(!said || !strstr(said + 1, words));
    }
    assert_int_equal(r.cloud.faults.refused_ends, 0);
    assert_int_equal(fake_cloud_alive(&r.cloud), 0);
    assert_int_equal(fake_run_report(&r).instances_left, 0);
    fake_run_finish(&r);
}

static void says_so_when_the_last_listing_is_partial(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    fake_run_step_until(&r, 30 * 1000000);
    r.cloud.faults.partial_listing = 1;
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(rb_err_number(&r.err), RB_E_INSTANCES_LEFT);
    assert_int_equal(fake_run_report(&r).instances_left, -1);
    fake_run_finish(&r);
}

static void a_market_without_a_price_is_given_up(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.cloud.faults.other_market = true;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(rb_err_number(&r.err), RB_E_PRICE_NOT_AGREED);
    assert_true(talked_of(&r, "asked for on_demand, got spot"));
    assert_true(r.cloud.n_instances <= 6);
    fake_run_finish(&r);
}

static void another_market_is_billed_as_what_it_is(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    struct rb_offer offers[2] = {r.plan->offers[0], r.plan->offers[0]};
    offers[1].market = RB_MARKET_SPOT;
    offers[1].rate.uusd_per_hour = 1000000;
    r.plan->offers = offers;
    r.plan->n_offers = 2;
    r.cloud.faults.other_market = true;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    r.billing.rate.uusd_per_hour = 1000000;
    const struct rb_report report = fake_run_report(&r);
    assert_int_equal(report.cost_uusd, fake_cloud_bill_uusd(&r.cloud, &r.billing));
    assert_string_equal(report.nodes[0].market, "spot");
    fake_run_finish(&r);
}

// Machines that die while no one is there, without a word: the launcher would knock for ever.
static void gives_up_ready_nodes_that_do_not_answer_any_more(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    fake_run_step_until(&r, 40 * 1000000);
    fake_run_close(&r);
    const int n_instances = r.cloud.n_instances;
    r.cloud.faults.silent = true;
    fake_run_open(&r);
    fake_run_step_until(&r, r.v.now_us + 3 * MINUTE_US);
    assert_true(talked_of(&r, "cannot be reached again"));
    r.cloud.faults.silent = false;
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_true(r.cloud.n_instances >= n_instances + 3);
    assert_int_equal(fake_run_report(&r).cost_uusd, fake_cloud_bill_uusd(&r.cloud, &r.billing));
    fake_run_finish(&r);
}

static void set_offline(struct fake_run *r, bool offline)
{
    r->cloud.faults.offline = offline;
    fake_machines_set_offline(&r->machines, offline);
}

// Its own network goes: nodes that no one reaches are as well as before, and so is what runs there.
static void waits_for_its_own_network(void **state)
{
    (void)state;
    const int best = best_undisturbed();
    for (int64_t at_us = 5; at_us < 300; at_us += 7) {
        struct fake_run r;
        fake_run_init(&r, 1);
        fake_run_open(&r);
        fake_run_step_until(&r, at_us * 1000000);
        set_offline(&r, true);
        fake_run_step_until(&r, at_us * 1000000 + 15 * MINUTE_US);
        set_offline(&r, false);
        fake_run_end_within(&r, FAR_US);
        assert_int_equal(r.outcome, RB_JOB_COMPLETE);
        assert_int_equal(best_of(&r), best);
        assert_int_equal(r.cloud.n_instances, 3); // none was given up
        assert_false(talked_of(&r, "lost"));
        assert_true(at_us > 20 && at_us < 200 ? talked_of(&r, "is this machine's network gone?") : true);
        assert_int_equal(fake_run_report(&r).cost_uusd, fake_cloud_bill_uusd(&r.cloud, &r.billing));
        fake_run_finish(&r);
    }
}

// --- trials that fail

static void kills_and_restarts_what_hangs(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 4);
    r.machines.training.hangs = 0.3;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_true(talked_of(&r, "hung, killed"));
    assert_true(fake_run_report(&r).by.lost_uusd > 0);
    fake_run_finish(&r);
}

// As scripts do whose data loaders are left running.
static void says_what_has_trained_and_does_not_end(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 4);
    r.machines.training.hangs = 0.3;
    r.machines.training.hangs_at_end = true;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_true(talked_of(&r, "it has reported all and does not end"));
    assert_false(talked_of(&r, "no report for"));
    fake_run_finish(&r);
}

static void a_silent_end_is_a_failure_that_says_why(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.machines.training.silent = true;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_STOPPED); // the first three said nothing, alike
    assert_int_equal(r.reason, RB_STOP_BROKEN_SCRIPT);
    assert_int_equal(fake_run_report(&r).instances_left, 0);
    assert_int_equal(best_of(&r), -1);
    assert_true(talked_of(&r, "never reported epoch=1 with val_acc"));
    fake_run_finish(&r);
}

static void a_failure_shows_the_last_output_without_escape_sequences(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 2);
    r.machines.training.fails = 0.3;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_true(talked_of(&r, "ended with exit code 1"));
    assert_null(strchr(r.talk, '\x1b'));
    fake_run_finish(&r);
}

// --- one controller at a time

static void a_second_controller_is_refused(void **state)
{
    (void)state;
    struct fake_run r;
    struct rb_journal *second;
    struct rb_err err;
    char pid[32];
    fake_run_init(&r, 1);
    fake_run_open(&r);
    assert_false(rb_journal_open(r.journal_path, &second, &err));
    snprintf(pid, sizeof pid, "process %d", (int)getpid());
    assert_int_equal(err.code, RB_ERR_INVALID);
    assert_non_null(strstr(err.message, pid));
    fake_run_finish(&r);
}

// --- giving way

static int count_tasks(struct fake_run *r, enum rb_task_state state, int exit_code)
{
    struct rb_task_row *rows;
    struct rb_err err;
    int n, found = 0;
    assert_true(rb_journal_tasks(r->journal, &r->arena, &rows, &n, &err));
    for (int i = 0; i < n; i++)
        found += rows[i].state == state && rows[i].exit_code == exit_code;
    return found;
}

static int failures(const struct fake_run *r)
{
    const struct rb_engine *e = rb_controller_engine(r->controller);
    int n = 0;
    for (int i = 0; i < rb_engine_n_trials(e); i++)
        n += rb_engine_trial(e, i)->failures;
    return n;
}

static void who_is_asked_is_saved_and_goes_on_from_there(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_make_asynchronous(&r, RB_RULE_SPECULATE);
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_string_equal(r.talk, "");
    assert_true(count_tasks(&r, RB_TASK_SAVED, 75) >= 2);
    assert_int_equal(failures(&r), 0);
    fake_run_finish(&r);
}

static void who_does_not_hear_is_killed_and_the_user_learns_what_to_add(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_make_asynchronous(&r, RB_RULE_SPECULATE);
    r.machines.training.deaf = 1;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(count_tasks(&r, RB_TASK_SAVED, 75), 0);
    assert_true(count_tasks(&r, RB_TASK_KILLED, -1) >= 1);
    assert_true(talked_of(&r, "did not give way within"));
    const char *advice = strstr(r.talk, "$RB_PREEMPT_FILE");
    assert_non_null(advice);
    assert_null(strstr(advice + 1, "$RB_PREEMPT_FILE")); // once is enough
    assert_int_equal(failures(&r), 0);                 // it was our wish, not its fault
    fake_run_finish(&r);
}

// --- until the deadline

static void at_the_deadline_the_best_wins_and_its_checkpoint_is_there(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_make_anytime(&r, 15 * MINUTE_US);
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(r.err.code, RB_ERR_NONE);
    const struct rb_report report = fake_run_report(&r);
    const struct rb_trial *best = rb_engine_trial(rb_controller_engine(r.controller), report.best_trial);
    char name[32];
    snprintf(name, sizeof name, ".at-%d.tar", (int)best->resource); // of its last report
    assert_non_null(report.best_checkpoint);
    assert_non_null(strstr(report.best_checkpoint, name));
    assert_true(report.ended_at_deadline);
    assert_int_equal(report.time_us / MINUTE_US, 15);
    fake_run_finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completes),
        cmocka_unit_test(a_node_that_leaves_gets_no_more_trials),
        cmocka_unit_test(stops_for_the_user_and_goes_on),
        cmocka_unit_test(opening_a_stopped_run_without_going_on_launches_nothing),
        cmocka_unit_test(stops_at_the_deadline_and_goes_on_with_more),
        cmocka_unit_test(never_spends_more_than_the_budget),
        cmocka_unit_test(more_budget_lets_it_go_on),
        cmocka_unit_test(gives_up_without_capacity),
        cmocka_unit_test(gives_up_at_once_when_denied),
        cmocka_unit_test(a_launch_that_was_not_answered_is_not_refused_by_a_denial),
        cmocka_unit_test(gives_up_when_no_node_can_be_set_up),
        cmocka_unit_test(a_node_without_room_is_replaced),
        cmocka_unit_test(stops_when_no_node_has_room),
        cmocka_unit_test(waits_for_the_data_of_a_job),
        cmocka_unit_test(a_node_that_is_billed_and_held_up_is_lost),
        cmocka_unit_test(gives_up_when_no_node_ever_boots),
        cmocka_unit_test(says_why_no_node_was_reached),
        cmocka_unit_test(ends_a_stranger_with_its_tag),
        cmocka_unit_test(does_not_believe_an_absence_before_an_end_was_accepted),
        cmocka_unit_test(believes_an_end_that_is_listed_no_more),
        cmocka_unit_test(a_change_wakes_the_next_listing),
        cmocka_unit_test(a_launch_goes_on_to_the_next_zone_and_its_controller_dies),
        cmocka_unit_test(says_loudly_that_it_may_not_end_a_node_and_asks_on),
        cmocka_unit_test(says_so_when_the_last_listing_is_partial),
        cmocka_unit_test(a_market_without_a_price_is_given_up),
        cmocka_unit_test(another_market_is_billed_as_what_it_is),
        cmocka_unit_test(gives_up_ready_nodes_that_do_not_answer_any_more),
        cmocka_unit_test(waits_for_its_own_network),
        cmocka_unit_test(kills_and_restarts_what_hangs),
        cmocka_unit_test(says_what_has_trained_and_does_not_end),
        cmocka_unit_test(a_silent_end_is_a_failure_that_says_why),
        cmocka_unit_test(a_failure_shows_the_last_output_without_escape_sequences),
        cmocka_unit_test(a_second_controller_is_refused),
        cmocka_unit_test(who_is_asked_is_saved_and_goes_on_from_there),
        cmocka_unit_test(who_does_not_hear_is_killed_and_the_user_learns_what_to_add),
        cmocka_unit_test(at_the_deadline_the_best_wins_and_its_checkpoint_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
