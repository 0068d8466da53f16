// The line of a run: what it says, what gives way where the terminal is narrow, and that unknown is never zero.
#include "engine/events/event.h"
#include "views/live/progress.h"
#include "views/tables/report_table.h"
#include "views/tables/text_table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct rb_progress going_on(void)
{
    return (struct rb_progress){
        .stage = 1,
        .n_stages = 4,
        .trials_ended = 5,
        .trials = 9,
        .nodes_ready = 3,
        .nodes = 4,
        .metric_name = "val_acc",
        .best_trial = 12,
        .best_metric = 0.97219,
        .spent_uusd = 210000,
        .elapsed_us = 100 * RB_US_PER_S,
        .deadline_us = 2000 * RB_US_PER_S,
        .budget_uusd = 1000000,
        .end_p50_us = 820 * RB_US_PER_S,
        .end_p95_us = 1000 * RB_US_PER_S,
        .cost_mean_uusd = 600000,
        .cost_p95_uusd = 730000,
        .p_on_time = 0.974,
        .p_in_budget = 0.9,
        .pace = NAN,
        .pace_low = NAN,
        .pace_high = NAN,
    };
}

static void check(const struct rb_progress *p, int width, const char *expected)
{
    struct rb_buf out = RB_BUF_INIT;
    rb_progress_write(p, width, &out);
    assert_string_equal(rb_buf_str(&out), expected);
    rb_buf_finish(&out);
}

static void it_says_what_counts(void **state)
{
    (void)state;
    struct rb_progress p = going_on();
    check(&p, 0,
          "stage 1 of 0-3  5/9 trials  val_acc 0.9722  3/4 nodes  $0.2100 of $0.6000 (max $1.00)  "
          "ETA 12 m 0 s (95 % <= 15 m 0 s)  P(on time) 0.97");
    p.budget_uusd = -1;
    p.deadline_us = -1;
    check(&p, 0,
          "stage 1 of 0-3  5/9 trials  val_acc 0.9722  3/4 nodes  $0.2100 of $0.6000 (95 % <= $0.7300)  ETA 12 m 0 s "
          "(95 % <= 15 m 0 s)");
    p.spent_uusd = p.cost_mean_uusd = p.cost_p95_uusd = 0;
    p.best_trial = -1;
    check(&p, 0, "stage 1 of 0-3  5/9 trials  3/4 nodes  free  ETA 12 m 0 s (95 % <= 15 m 0 s)");
    p.is_lent = true;
    check(&p, 0, "stage 1 of 0-3  5/9 trials  3/4 nodes  lent nodes  ETA 12 m 0 s (95 % <= 15 m 0 s)");
}

static void what_is_unknown_is_a_question_mark(void **state)
{
    (void)state;
    struct rb_progress p = going_on();
    rb_progress_set_unknown(&p, "no one knows");
    check(&p, 0,
          "stage 1 of 0-3  5/9 trials  val_acc 0.9722  3/4 nodes  $0.2100 of ? (max $1.00)  ETA ?  P(on time) ?");
    p.spent_uusd = -1;
    p.stage = -1;
    p.best_trial = -1;
    check(&p, 0, "beginning  3/4 nodes  $? of ? (max $1.00)  ETA ?  P(on time) ?");
}

static void what_is_over_has_no_end_to_come(void **state)
{
    (void)state;
    struct rb_progress p = going_on();
    rb_progress_set_unknown(&p, "the run is over");
    p.over = true;
    p.nodes = p.nodes_ready = 0;
    check(&p, 0, "stage 1 of 0-3  5/9 trials  val_acc 0.9722  $0.2100");
    p.nodes = 1; // one is still to be ended
    check(&p, 0, "stage 1 of 0-3  5/9 trials  val_acc 0.9722  0/1 nodes  $0.2100");
}

static void the_least_important_parts_give_way(void **state)
{
    (void)state;
    struct rb_progress p = going_on();
    check(&p, 120,
          "stage 1 of 0-3  5/9 trials  val_acc 0.9722  3/4 nodes  $0.2100 of $0.6000 (max $1.00)  ETA 12 m 0 s"
          "  P(on time) 0.97");
    check(&p, 80, "stage 1 of 0-3  5/9 trials  $0.2100 of $0.6000  ETA 12 m 0 s  P(on time) 0.97");
    check(&p, 48, "stage 1  $0.2100 of $0.6000  ETA 12 m 0 s");
    check(&p, 40, "stage 1  ETA 12 m 0 s");
    check(&p, 12, "stage 1");
    check(&p, 4, "stag");
}

static void it_is_never_wider_than_asked(void **state)
{
    (void)state;
    struct rb_progress p = going_on();
    p.metric_name = "pr\xc3\xa4zision"; // two bytes, one column
    for (int on_demand = 0; on_demand <= 1; on_demand++) {
        p.on_demand = on_demand;
        p.n_by_state[RB_TRIAL_RUNNING] = p.n_by_state[RB_TRIAL_PAUSED] = 123;
        size_t longest = 0;
        for (int width = 1; width < 160; width++) {
            struct rb_buf out = RB_BUF_INIT;
            rb_progress_write(&p, width, &out);
            assert_true(rb_text_columns(rb_buf_str(&out)) <= width);
            assert_true(out.len >= longest || width > 9); // parts come and go; the beginning of the line only grows
            longest = out.len > longest ? out.len : longest;
            rb_buf_finish(&out);
        }
    }
}

static void probabilities_never_claim_certainty(void **state)
{
    static const struct {
        double p;
        const char *text;
    } cases[] = {{NAN, "?"},    {1, "> 0.99"},     {0.996, "> 0.99"}, {0.99, "0.99"},
                 {0.5, "0.50"}, {0.004, "< 0.01"}, {0, "< 0.01"}};
    char text[32];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(rb_progress_probability(cases[i].p, text), cases[i].text);
}

static void durations_are_whole_seconds(void **state)
{
    char text[32];
    (void)state;
    assert_string_equal(rb_progress_duration(-1, text), "?");
    assert_string_equal(rb_progress_duration(0, text), "0 s");
    assert_string_equal(rb_progress_duration(1, text), "1 s");
    assert_string_equal(rb_progress_duration(59 * RB_US_PER_S, text), "59 s");
    assert_string_equal(rb_progress_duration(59 * RB_US_PER_S + 1, text), "1 m 0 s");
    assert_string_equal(rb_progress_duration(6060 * RB_US_PER_S, text), "1 h 41 m");
}

static void check_event(struct rb_event e, const char *expected)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    rb_progress_event_write(&e, NULL, &out);
    assert_string_equal(rb_buf_str(&out), expected);
}

static void ends_are_said_in_plain_words(void **state)
{
    (void)state;
    check_event((struct rb_event){.kind = RB_EVENT_TRIAL_ENDED, .trial = 3, .outcome = RB_OUTCOME_REACHED},
                "trial 3 ended: trained as far as this stage goes");
    check_event((struct rb_event){.kind = RB_EVENT_TRIAL_ENDED, .trial = 3, .outcome = RB_OUTCOME_EVICTED},
                "trial 3 ended: killed, it was asked to give way and did not in time");
    check_event((struct rb_event){.kind = RB_EVENT_STOP, .reason = RB_STOP_BUDGET}, "stopped at the budget");
    for (enum rb_stop_reason r = RB_STOP_USER; r <= RB_STOP_RELEASED; r++) {
        char outcome[64];
        snprintf(outcome, sizeof outcome, "stopped: %s", rb_stop_reason_name(r));
        assert_null(strchr(rb_report_outcome_words(outcome), ':'));
    }
    assert_string_equal(rb_report_outcome_words("target"), "target reached");
    assert_string_equal(rb_report_outcome_words("complete"), "complete");
    assert_string_equal(rb_report_outcome_words("incomplete"), "incomplete, no trial was trained to the end");
    assert_string_equal(rb_report_outcome_words("stopped: broken_script"), "stopped, its script is broken");
    assert_string_equal(rb_report_outcome_words("to come"), "to come");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_what_counts),
        cmocka_unit_test(what_is_unknown_is_a_question_mark),
        cmocka_unit_test(what_is_over_has_no_end_to_come),
        cmocka_unit_test(the_least_important_parts_give_way),
        cmocka_unit_test(it_is_never_wider_than_asked),
        cmocka_unit_test(probabilities_never_claim_certainty),
        cmocka_unit_test(durations_are_whole_seconds),
        cmocka_unit_test(ends_are_said_in_plain_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
