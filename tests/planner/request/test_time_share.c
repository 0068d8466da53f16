// Parts of a time limit as limits of their own, one inside the other.
#include "planner/request/time_share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static double read_clock(void *ctx)
{
    return *(const double *)ctx;
}

static double used(const struct rb_plan_request *req)
{
    return req->time_used(req->out_of_time_ctx);
}

static bool over(const struct rb_plan_request *req)
{
    return req->out_of_time(req->out_of_time_ctx);
}

static void shares_end_in_time_for_the_next(void **state)
{
    (void)state;
    double now = 0.2;
    const struct rb_plan_request whole = {
        .time_used = read_clock, .out_of_time_ctx = &now, .time_limit_us = 10 * RB_US_PER_S};
    struct rb_plan_request outer = whole, inner;
    struct rb_time_share first, second;
    rb_time_share_begin(&first, &whole, 0.6, &outer);
    assert_true(outer.time_limit_us >= 4 * RB_US_PER_S - 1 && outer.time_limit_us <= 4 * RB_US_PER_S);
    assert_true(used(&outer) < 1e-12 && !over(&outer));

    now = 0.3;
    inner = outer;
    rb_time_share_begin(&second, &outer, 0.5, &inner); // from 0.3 to 0.4 of the whole
    now = 0.39;
    assert_false(over(&inner));
    now = 0.41;
    assert_true(over(&inner) && !over(&outer));
    second.until = 1;
    assert_false(over(&inner));
    now = 0.61;
    assert_true(over(&inner) && over(&outer));
}

static void late_shares_are_over_and_no_clock_is_no_limit(void **state)
{
    (void)state;
    double now = 0.7;
    const struct rb_plan_request whole = {
        .time_used = read_clock, .out_of_time_ctx = &now, .time_limit_us = RB_US_PER_S};
    const struct rb_plan_request endless = {0};
    struct rb_plan_request late = whole, free_of_limit = endless;
    struct rb_time_share share, unused;
    rb_time_share_begin(&share, &whole, 0.6, &late);
    assert_true(over(&late));
    assert_int_equal(late.time_limit_us, 1); // 0 would be no limit
    rb_time_share_begin(&unused, &endless, 0.5, &free_of_limit);
    assert_null(free_of_limit.out_of_time);
    assert_null(free_of_limit.time_used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_end_in_time_for_the_next),
        cmocka_unit_test(late_shares_are_over_and_no_clock_is_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
