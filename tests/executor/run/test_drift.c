// A run that leaves its plan says so, once: by checks one at a time, and on the fake cloud, whose trials are slower than the
// profile says.
#include "fake_run.h"
#include "known_profile.h"

#include "tests/base/check.h"
#include "executor/run/drift.h"
#include "executor/run/standing.h"

#include <math.h>
#include <string.h>

// ---- one check at a time

static const struct rb_prediction_pace slow = {.pace = 1.31, .low = 1.27, .high = 1.35, .stage = 1, .n_trials = 9};

// Returns the line, "" for none.
static const char *check_at(struct rb_drift_watch *d, int stage, double on_time, double in_budget)
{
    static struct rb_buf line = RB_BUF_INIT;
    const struct rb_progress now = {.p_on_time = on_time, .p_in_budget = in_budget};
    rb_buf_clear(&line);
    const bool said = rb_drift_check(d, &now, stage, stage > 0 ? &slow : NULL, 0.95, &line);
    assert_int_equal(said, line.len > 0);
    return rb_buf_str(&line);
}

static void two_checks_in_a_row_say_it_once(void **state)
{
    (void)state;
    struct rb_drift_watch d = {0};
    assert_string_equal(check_at(&d, 0, 0.5, NAN), "");
    assert_string_equal(check_at(&d, 0, 0.93, NAN), ""); // within the margin: again from the beginning
    assert_string_equal(check_at(&d, 0, 0.5, NAN), "");
    assert_string_equal(check_at(&d, 0, 0.91, NAN), "P(on time) is 0.91, 0.95 was asked");
    assert_string_equal(check_at(&d, 0, 0.1, NAN), "");
    assert_string_equal(check_at(&d, 1, 0.1, 0.99), "");
    assert_string_equal(check_at(&d, 1, 0.1, 0.8), ""); // the budget is another condition
    assert_string_equal(
        check_at(&d, 1, 0.1, 0.8),
        "training takes 31 % longer than expected (9 trials, +-4 %); P(in budget) is 0.80, 0.95 was asked");
}

static void one_check_says_it_at_a_barrier(void **state)
{
    (void)state;
    struct rb_drift_watch d = {0};
    assert_string_equal(check_at(&d, 1, 0.99, 0.99), "");
    assert_string_equal(check_at(&d, 2, 0.71, 0.99),
                        "stage 1 took 31 % longer than expected (9 trials, +-4 %); P(on time) is 0.71, 0.95 was asked");
    struct rb_drift_watch both = {.n_stages = 2};
    assert_string_equal(
        check_at(&both, 2, 0.71, 0.5),
        "stage 1 took 31 % longer than expected (9 trials, +-4 %); P(on time) is 0.71, P(in budget) is 0.50, "
        "0.95 was asked");
}

static void what_is_unknown_is_no_drift(void **state)
{
    (void)state;
    struct rb_drift_watch d = {0};
    struct rb_buf line = RB_BUF_INIT;
    struct rb_progress now = {.p_on_time = 0.1, .p_in_budget = 0.1, .is_planned = true};
    for (int i = 0; i < 3; i++)
        assert_false(rb_drift_check(&d, &now, i, &slow, 0.95, &line));
    now.why_unknown = "no GPU is lent now";
    now.is_planned = false;
    assert_false(rb_drift_check(&d, &now, 4, &slow, 0.95, &line));
    now = (struct rb_progress){.p_on_time = NAN, .p_in_budget = NAN};
    for (int i = 0; i < 3; i++)
        assert_false(rb_drift_check(&d, &now, i, &slow, 0.95, &line));
    rb_buf_finish(&line);
}

static void what_was_said_is_not_said_again(void **state)
{
    (void)state;
    struct rb_drift_watch d = {0};
    rb_drift_recall(&d, "stage 1 took 31 % longer than expected (9 trials, +-4 %); P(on time) is 0.71, 0.95 was asked");
    assert_string_equal(check_at(&d, 1, 0.1, 0.99), "");
    assert_string_equal(check_at(&d, 2, 0.1, 0.99), "");
    assert_string_equal(
        check_at(&d, 3, 0.1, 0.1),
        "stage 1 took 31 % longer than expected (9 trials, +-4 %); P(in budget) is 0.10, 0.95 was asked");
}

static void two_checks_without_hope_end_it(void **state)
{
    (void)state;
    struct rb_drift_watch d = {0};
    check_at(&d, 0, 0.04, 0.99);
    assert_false(rb_drift_is_lost(&d));
    check_at(&d, 1, 0.06, 0.99); // a barrier or not
    assert_false(rb_drift_is_lost(&d));
    check_at(&d, 1, 0.04, 0.99);
    check_at(&d, 1, 0.99, 0.01); // each limit by itself
    assert_false(rb_drift_is_lost(&d));
    check_at(&d, 2, 0.99, 0.01);
    assert_true(rb_drift_is_lost(&d));
}

// ---- runs on the fake cloud

// The prediction hears every event, as in a session.
static void hear(void *ctx, struct fake_run *r, const struct rb_event *e)
{
    (void)r;
    rb_prediction_event(ctx, e);
}

static void look(struct fake_run *r, struct rb_standing *s, struct rb_drift_watch *d)
{
    struct rb_progress now;
    struct rb_buf line = RB_BUF_INIT;
    struct rb_prediction_pace pace;
    int64_t reserved;
    rb_progress_of_engine(rb_controller_engine(r->controller), r->plan, &now);
    rb_controller_spend(r->controller, &now.spent_uusd, &reserved);
    now.elapsed_us = rb_controller_now_us(r->controller);
    now.deadline_us = r->deadline_us;
    if (now.over)
        return;
    rb_standing_settle(s, &now);
    rb_standing_report(s, &now);
    const bool is_paced = rb_prediction_pace(s->prediction, &pace);
    if (rb_drift_check(d, &now, s->stage, is_paced ? &pace : NULL, 0.95, &line))
        rb_controller_note(r->controller, RB_DRIFT_NOTE, "%s", rb_buf_str(&line));
    rb_buf_finish(&line);
}

// A run whose units take `unit_us` on average, looked at every 10 s. Returns when it ended; -1: the deadline stopped it.
static int64_t run(int64_t unit_us, int64_t deadline_us, struct rb_note *out_notes, int *out_n)
{
    static struct known k;
    static char texts[8][256];
    struct fake_run r;
    fake_run_init(&r, 5);
    know(&k);
    r.plan->profile = &k.profile;
    r.plan->confidence = 0.95;
    r.machines.training.unit_us = unit_us;
    r.deadline_us = deadline_us;
    struct rb_standing standing = {.prediction = rb_prediction_create(r.plan)};
    struct rb_drift_watch drift = {0};
    r.observe = hear;
    r.observe_ctx = standing.prediction;
    fake_run_open(&r);
    int64_t ended_us = 0;
    for (int64_t at_us = r.v.now_us; !r.finished && at_us < 10000 * RB_US_PER_S; at_us += 10 * RB_US_PER_S) {
        fake_run_step_until(&r, at_us);
        if (r.finished)
            break;
        ended_us = rb_controller_now_us(r.controller);
        look(&r, &standing, &drift);
    }
    assert_true(r.finished);
    struct rb_note *notes;
    struct rb_err err;
    int n;
    *out_n = 0;
    assert_true(rb_journal_notes(r.journal, &r.arena, &notes, &n, &err));
    for (int i = 0; i < n; i++) {
        if (strcmp(notes[i].kind, RB_DRIFT_NOTE) != 0)
            continue;
        assert_true(*out_n < 8);
        snprintf(texts[*out_n], sizeof texts[0], "%s", notes[i].text);
        out_notes[*out_n] = (struct rb_note){notes[i].time_us, RB_DRIFT_NOTE, texts[*out_n]};
        ++*out_n;
    }
    rb_prediction_destroy(standing.prediction);
    fake_run_finish(&r);
    return r.outcome == RB_JOB_STOPPED && r.reason == RB_STOP_DEADLINE ? -1 : ended_us;
}

static void a_slow_run_says_so_in_its_journal(void **state)
{
    (void)state;
    struct rb_note notes[8];
    int n;
    const int64_t usual_us = run(20 * RB_US_PER_S, -1, notes, &n);
    assert_int_equal(n, 0); // without a limit there is nothing to miss
    const int64_t deadline_us = usual_us + usual_us / 5;
    run(20 * RB_US_PER_S, deadline_us, notes, &n);
    assert_int_equal(n, 0);
    assert_int_equal(run(32 * RB_US_PER_S, deadline_us, notes, &n), -1);
    assert_int_equal(n, 1);
    print_message("after %lld s of %lld: %s\n", (long long)(notes[0].time_us / RB_US_PER_S),
                  (long long)(deadline_us / RB_US_PER_S), notes[0].text);
    assert_non_null(strstr(notes[0].text, "% longer than expected ("));
    assert_non_null(strstr(notes[0].text, "P(on time) is 0."));
    assert_non_null(strstr(notes[0].text, ", 0.95 was asked"));
    assert_true(notes[0].time_us < deadline_us * 3 / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_checks_in_a_row_say_it_once), cmocka_unit_test(one_check_says_it_at_a_barrier),
        cmocka_unit_test(what_is_unknown_is_no_drift),     cmocka_unit_test(what_was_said_is_not_said_again),
        cmocka_unit_test(two_checks_without_hope_end_it),  cmocka_unit_test(a_slow_run_says_so_in_its_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
