// Until when a node is billed that has not ended yet: two clocks, one of which may lie.
#include "executor/controller/spend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#define S RB_US_PER_S

// Asked for at 100 s of the run, first seen to run at 130 s; by the cloud's clock it runs since 1000 s.
static struct rb_launch_row node(void)
{
    return (struct rb_launch_row){.state = RB_LAUNCH_READY,
                                  .intent_us = 100 * S,
                                  .running_us = 130 * S,
                                  .running_unix_us = 1000 * S,
                                  .terminated_unix_us = -1};
}

static void the_wall_clock_is_believed_within_what_the_run_saw(void **state)
{
    (void)state;
    static const struct {
        int64_t unix_s, run_s, end_s;
    } cases[] = {
        {1080, 200, 1080},  // 80 s: between the 70 s since it was seen and the 100 s since it was asked for
        {1010, 200, 1070},  // behind
        {8200, 200, 1100},  // two hours ahead
        {-6000, 200, 1070}, // two hours back
        {5000, 120, 1020},  // a run whose last event is older than what was seen
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rb_launch_row row = node();
        const struct rb_spend_now now = {cases[i].unix_s * S, cases[i].run_s * S};
        assert_int_equal(rb_spend_end_unix_us(&row, &now), cases[i].end_s * S);
    }
}

static void a_clock_that_jumps_makes_nothing_free(void **state)
{
    (void)state;
    const struct rb_billing billing = {.rate = {3600000}}; // 1000 micro-dollars a second
    const struct rb_spend_now back = {-6000 * S, 400 * S};
    const struct rb_launch_row row = node();
    assert_int_equal(rb_spend_bill(&billing, &row, &back).total_uusd, 270000);
}

static void what_the_cloud_says_is_final(void **state)
{
    (void)state;
    const struct rb_billing billing = {.rate = {3600000}};
    const struct rb_spend_now later = {9000 * S, 9000 * S};
    struct rb_launch_row row = node();
    row.terminated_unix_us = 1100 * S;
    assert_int_equal(rb_spend_bill(&billing, &row, &later).total_uusd, 100000);
}

// It may have been running since it was asked for.
static void an_undecided_launch_is_reserved_from_its_request(void **state)
{
    (void)state;
    const struct rb_billing billing = {.rate = {3600000}};
    const struct rb_spend_now now = {700 * S, 200 * S}; // the run began at 500
    struct rb_launch_row row = node();
    row.state = RB_LAUNCH_AMBIGUOUS;
    row.running_us = row.running_unix_us = -1;
    assert_int_equal(rb_spend_reserved_uusd(&billing, &row, 500 * S, &now), 110000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wall_clock_is_believed_within_what_the_run_saw),
        cmocka_unit_test(a_clock_that_jumps_makes_nothing_free),
        cmocka_unit_test(what_the_cloud_says_is_final),
        cmocka_unit_test(an_undecided_launch_is_reserved_from_its_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
