// The controller and a cloud that cannot be reached: what was never sent is not waited for, and what is waited for is reported.
#include "fake_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define MINUTE_US INT64_C(60000000)

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

static int launches_in(struct fake_run *r, enum rb_launch_state state)
{
    struct rb_launch_row *rows;
    struct rb_err err;
    int n_rows, n = 0;
    assert_true(rb_journal_launches(r->journal, &r->arena, &rows, &n_rows, &err));
    assert_true(n_rows > 0);
    for (int i = 0; i < n_rows; i++)
        n += rows[i].state == state;
    return n;
}

// --- before anything was sent

static void begin_unreachable(struct fake_run *r, bool gangs)
{
    fake_run_init(r, 1);
    if (gangs)
        fake_run_make_gangs(r);
    r->cloud.faults.unreachable = true;
    fake_run_open(r);
    fake_run_step_for(r, 5 * MINUTE_US);
}

static void a_launch_that_never_left_is_made_once_the_cloud_is_back(void **state)
{
    (void)state;
    for (int gangs = 0; gangs < 2; gangs++) {
        struct fake_run r;
        begin_unreachable(&r, gangs);
        assert_int_equal(launches_in(&r, RB_LAUNCH_AMBIGUOUS), 0);
        fake_run_assert_said(&r, "was not sent (Couldn't connect to server)");
        assert_int_equal(count(r.talk, "was not sent"), gangs ? 2 : 3); // of each request once
        r.cloud.faults.unreachable = false;
        fake_run_end_within(&r, 600 * MINUTE_US);
        assert_int_equal(r.outcome, RB_JOB_COMPLETE);
        assert_int_equal(r.cloud.n_instances, gangs ? 4 : 3);
        fake_run_finish(&r);
    }
}

// Nothing can be there: what is left to wait for is a look, and that has an end.
static void a_stop_does_not_wait_for_what_was_never_sent(void **state)
{
    (void)state;
    for (int gangs = 0; gangs < 2; gangs++) {
        struct fake_run r;
        begin_unreachable(&r, gangs);
        const int n = launches_in(&r, RB_LAUNCH_INTENT) + launches_in(&r, RB_LAUNCH_SENT);
        rb_controller_stop(r.controller, RB_STOP_USER);
        fake_run_end_within(&r, 5 * MINUTE_US);
        assert_int_equal(r.outcome, RB_JOB_STOPPED);
        assert_int_equal(launches_in(&r, RB_LAUNCH_REFUSED), n);
        assert_int_equal(r.err.number, RB_E_INSTANCES_LEFT); // no one has seen that there is nothing
        assert_int_equal(r.cloud.n_instances, 0);
        fake_run_finish(&r);
    }
}

// As `rbrun stop` does after a crash.
static void nor_does_one_who_comes_back(void **state)
{
    (void)state;
    struct fake_run r;
    begin_unreachable(&r, false);
    while (launches_in(&r, RB_LAUNCH_SENT) > 0)
        fake_run_step_for(&r, 10000);
    fake_run_close(&r);
    fake_run_open(&r);
    rb_controller_stop(r.controller, RB_STOP_USER);
    fake_run_end_within(&r, 5 * MINUTE_US);
    assert_int_equal(r.outcome, RB_JOB_STOPPED);
    assert_int_equal(r.cloud.n_instances, 0);
    fake_run_finish(&r);
}

// --- after something was sent

// The first answer is lost with the network. That later ones were not sent says nothing of the first.
static void what_may_have_been_sent_is_waited_for(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    r.cloud.faults.lost_answer = 1;
    fake_run_open(&r);
    fake_run_step_for(&r, 1000000);
    r.cloud.faults.lost_answer = 0;
    r.cloud.faults.unreachable = true;
    assert_true(fake_cloud_alive(&r.cloud) > 0);
    rb_controller_stop(r.controller, RB_STOP_USER);
    fake_run_step_for(&r, 25 * MINUTE_US);
    assert_false(r.finished);
    r.cloud.faults.unreachable = false;
    fake_run_end_within(&r, 4 * MINUTE_US);
    assert_int_equal(r.err.code, RB_ERR_NONE);
    fake_run_finish(&r);
}

// Not for ever: the run ends with an error that says what is missing, and the user who stops it later finds everything.
static void every_wait_of_the_end_has_a_bound(void **state)
{
    (void)state;
    for (int deadline = 0; deadline < 2; deadline++) { // a signal, or the run's own deadline
        struct fake_run r;
        fake_run_init(&r, 1);
        r.deadline_us = deadline ? MINUTE_US : -1;
        fake_run_open(&r);
        fake_run_step_for(&r, 50 * 1000000);
        r.cloud.faults.unreachable = true;
        if (!deadline)
            rb_controller_stop(r.controller, RB_STOP_USER);
        fake_run_step_for(&r, 29 * MINUTE_US);
        assert_false(r.finished);
        fake_run_step_for(&r, 2 * MINUTE_US);
        assert_true(r.finished);
        assert_int_equal(r.err.number, RB_E_INSTANCES_LEFT);
        assert_non_null(strstr(r.err.message, "to end"));
        assert_non_null(strstr(r.err.message, "`rbrun stop "));
        r.cloud.faults.unreachable = false;
        fake_run_close(&r);
        r.finished = false;
        fake_run_open(&r);
        fake_run_end_within(&r, 10 * MINUTE_US);
        assert_int_equal(r.err.code, RB_ERR_NONE);
        fake_run_finish(&r);
    }
}

// A look at what is there comes before the launch, and its answer is 404: nothing was sent, so nothing is in doubt.
static void what_was_never_sent_is_not_ambiguous(void **state)
{
    (void)state;
    const enum rb_err_code answers[] = {RB_ERR_NOT_FOUND, RB_ERR_IO, RB_ERR_THROTTLED};
    for (int i = 0; i < 3; i++) {
        struct fake_run r;
        fake_run_init(&r, 1);
        r.cloud.faults.unsent = answers[i];
        fake_run_open(&r);
        fake_run_step_for(&r, 30 * 1000000);
        assert_int_equal(launches_in(&r, RB_LAUNCH_AMBIGUOUS), 0);
        if (answers[i] != RB_ERR_NOT_FOUND) { // may pass
            fake_run_step_for(&r, 10 * MINUTE_US);
            assert_false(r.finished);
            rb_controller_stop(r.controller, RB_STOP_USER);
        }
        fake_run_end_within(&r, 3 * MINUTE_US);
        assert_int_equal(r.cloud.n_instances, 0);
        assert_int_equal(r.err.code, answers[i] == RB_ERR_NOT_FOUND ? RB_ERR_NOT_FOUND : RB_ERR_NONE);
        fake_run_finish(&r);
    }
}

// The cloud was too busy for a request, and took a copy of it. What a listing then shows belongs to the launch, and is billed once.
static void a_copy_of_what_was_refused_is_its_launch(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        const int64_t wait_us = 1000000 + i / 2 * 4000000;
        struct fake_run r;
        struct rb_launch_row *rows;
        struct rb_err err;
        int n;
        int64_t rows_uusd = 0;
        fake_run_init(&r, 1);
        if (i % 2)
            fake_run_make_gangs(&r);
        r.cloud.faults.unsent = RB_ERR_THROTTLED;
        r.cloud.faults.unsent_copy = true;
        fake_run_open(&r);
        fake_run_step_for(&r, wait_us);
        r.cloud.faults.unsent = RB_ERR_NONE;
        fake_run_end_within(&r, 30 * MINUTE_US);
        assert_int_equal(r.outcome, RB_JOB_COMPLETE);
        assert_true(rb_journal_launches(r.journal, &r.arena, &rows, &n, &err));
        for (int k = 0; k < n; k++) {
            rows_uusd += rows[k].cost_uusd;
            for (int other = 0; other < k; other++)
                assert_string_not_equal(rows[k].instance_id, rows[other].instance_id);
        }
        assert_int_equal(rows_uusd, fake_cloud_bill_uusd(&r.cloud, &r.billing));
        fake_run_finish(&r);
    }
}

static int64_t bill_of_rows(struct fake_run *r)
{
    struct rb_launch_row *rows;
    struct rb_err err;
    int n;
    int64_t uusd = 0;
    assert_true(rb_journal_launches(r->journal, &r->arena, &rows, &n, &err));
    for (int k = 0; k < n; k++)
        uusd += rows[k].cost_uusd;
    return uusd;
}

// A copy of a refused request arrives when the disk is full. It cannot be prevented or written down: it is ended and reported, and
// billed if the cloud still lists it when the run goes on.
static void a_copy_of_what_was_refused_arrives_at_a_full_disk(void **state)
{
    (void)state;
    int n_reported = 0;
    int64_t forgotten_uusd = 0;
    for (int i = 0; i < 40; i++) {
        struct fake_run r;
        fake_run_init(&r, 1);
        r.cloud.faults.unsent = RB_ERR_CAPACITY;
        r.cloud.faults.unsent_copy = true;
        r.cloud.queue_mean_us = 100000; // runs, and is billed, before it is seen
        r.cloud.faults.vanishing = i % 2;
        fake_run_open_dying(&r, 1 + i / 2, RB_JOURNAL_FULL);
        fake_run_end_within(&r, 30 * MINUTE_US);
        assert_non_null(strstr(r.err.message, "a listing shows none left"));
        const bool reported =
            strstr(r.talk, "is not in the journal") && strstr(r.talk, "if the cloud still lists it when");
        n_reported += reported;
        fake_run_close(&r);
        r.finished = false;
        r.cloud.faults.unsent = RB_ERR_NONE;
        fake_run_open(&r);
        fake_run_end_within(&r, 30 * MINUTE_US);
        assert_int_equal(r.outcome, RB_JOB_COMPLETE);
        const int64_t missing_uusd = fake_cloud_bill_uusd(&r.cloud, &r.billing) - bill_of_rows(&r);
        assert_true(i % 2 && reported ? missing_uusd >= 0 : missing_uusd == 0);
        forgotten_uusd += missing_uusd;
        fake_run_finish(&r);
    }
    assert_true(n_reported > 4 && forgotten_uusd > 0);
}

static void a_stop_says_what_it_waits_for_and_until_when(void **state)
{
    (void)state;
    struct fake_run r;
    RB_AUTO(rb_buf_finish) struct rb_buf what = RB_BUF_INIT;
    int64_t at_most_us;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    fake_run_step_for(&r, 50 * 1000000);
    assert_false(rb_controller_waits(r.controller, &what, &at_most_us));
    rb_controller_stop(r.controller, RB_STOP_USER);
    assert_true(rb_controller_waits(r.controller, &what, &at_most_us));
    assert_non_null(strstr(rb_buf_str(&what), "instances to end, a listing that shows no instance"));
    assert_in_range(at_most_us, 1, 30 * MINUTE_US);
    fake_run_end_within(&r, 10 * MINUTE_US);
    fake_run_finish(&r);
}

static void a_stop_that_waits_says_for_what_and_what_can_be_done(void **state)
{
    (void)state;
    for (int back = 0; back < 2; back++) { // the process at work, or one that comes after it was killed
        struct fake_run r;
        fake_run_init(&r, 1);
        fake_run_open(&r);
        fake_run_step_for(&r, 40 * 1000000);
        r.cloud.faults.unreachable = true;
        fake_run_step_for(&r, MINUTE_US); // the cloud's silence is known and reported already
        if (back) {
            fake_run_close(&r);
            fake_run_open(&r);
        }
        r.talk[0] = '\0';
        rb_controller_stop(r.controller, RB_STOP_USER);
        fake_run_step_for(&r, MINUTE_US);
        assert_false(r.finished);
        fake_run_assert_said(&r, "cannot be listed: Couldn't connect to server");
        fake_run_assert_said(&r, "the end of this run waits until it answers");
        fake_run_assert_said(&r, "Ctrl-C");
        fake_run_assert_said(&r, "`rbrun stop ");
        r.talk[0] = '\0';
        fake_run_step_for(&r, 10 * MINUTE_US);
        fake_run_assert_said(&r, "the end of this run waits until it answers"); // again, now and then
        assert_in_range(count(r.talk, "the end of this run waits"), 1, 40);
        r.cloud.faults.unreachable = false;
        fake_run_end_within(&r, 10 * MINUTE_US);
        fake_run_finish(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_that_never_left_is_made_once_the_cloud_is_back),
        cmocka_unit_test(a_stop_does_not_wait_for_what_was_never_sent),
        cmocka_unit_test(nor_does_one_who_comes_back),
        cmocka_unit_test(what_may_have_been_sent_is_waited_for),
        cmocka_unit_test(every_wait_of_the_end_has_a_bound),
        cmocka_unit_test(what_was_never_sent_is_not_ambiguous),
        cmocka_unit_test(a_copy_of_what_was_refused_is_its_launch),
        cmocka_unit_test(a_copy_of_what_was_refused_arrives_at_a_full_disk),
        cmocka_unit_test(a_stop_says_what_it_waits_for_and_until_when),
        cmocka_unit_test(a_stop_that_waits_says_for_what_and_what_can_be_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
