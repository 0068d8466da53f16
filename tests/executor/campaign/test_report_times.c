#include "executor/campaign/report_times.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka wants these first
#include <cmocka.h>

#define S INT64_C(1000000)

static struct rb_report_times begun(void)
{
    struct rb_report_times t;
    rb_report_times_init(&t, 8);
    rb_report_times_start(&t, 100 * S, 0);
    return t;
}

static void assert_units(const struct rb_report_times *t, int n, const double *expected)
{
    assert_int_equal(t->n_units, n);
    for (int i = 0; i < n; i++)
        assert_float_equal(t->unit_s[i], expected[i], 1e-9);
}

static void test_first_report_holds_the_startup(void **state)
{
    (void)state;
    struct rb_report_times t = begun();
    assert_int_equal(rb_report_times_take(&t, 110 * S, 0, 1, true), -1);
    assert_int_equal(rb_report_times_take(&t, 113 * S, 0, 2, true), 3 * S);
    rb_report_times_take(&t, 123 * S, 0, 4, true); // two units
    assert_units(&t, 2, (double[]){3, 5});
    assert_float_equal(rb_report_times_startup_s(&t), 10 - 4, 1e-9);
    rb_report_times_finish(&t);
}

static void test_a_gap_measures_nothing(void **state)
{
    (void)state;
    struct rb_report_times t = begun();
    rb_report_times_take(&t, 101 * S, 0, 1, true);
    rb_report_times_take(&t, 200 * S, 90 * S, 2, true);
    rb_report_times_take(&t, 201 * S, 90 * S, 3, true);
    rb_report_times_take(&t, 202 * S, 90 * S, 4, false); // another run on its GPU does not train
    assert_units(&t, 1, (double[]){1});
    assert_int_equal(t.n_gaps, 1);
    assert_false(t.late_startup);
    rb_report_times_finish(&t);

    t = begun();
    rb_report_times_take(&t, 200 * S, 90 * S, 1, true);
    assert_true(t.late_startup);
    rb_report_times_finish(&t);
}

static void test_lines_read_together_share_their_time(void **state)
{
    (void)state;
    const int64_t at[] = {110 * S, 110 * S + 2, 112 * S, 112 * S + 2, 112 * S + 4, 113 * S};
    struct rb_report_times t = begun();
    for (int i = 0; i < 6; i++)
        rb_report_times_take(&t, at[i], 0, i + 1, true);
    rb_report_times_end(&t); // the second line came with the first: its unit has no time
    const double third = (2 + 2e-6) / 3;
    assert_units(&t, 4, (double[]){third, third, third, 1 - 4e-6});
    rb_report_times_finish(&t);
}

static void test_all_at_once(void **state)
{
    (void)state;
    struct rb_report_times t = begun();
    for (int i = 1; i <= 4; i++)
        rb_report_times_take(&t, 108 * S, 0, i, true);
    rb_report_times_took_file(&t, 0, true);
    assert_true(t.at_once);
    assert_int_equal(t.n_units, 0);
    assert_true(isnan(rb_report_times_mean_s(&t)));
    assert_true(rb_report_times_as_one(&t, 108 * S));
    rb_report_times_end(&t);
    assert_units(&t, 1, (double[]){2});
    assert_float_equal(rb_report_times_startup_s(&t), 0, 1e-9);
    assert_false(rb_report_times_as_one(&t, 109 * S));
    rb_report_times_finish(&t);
}

// On a busy machine a quick script has ended before its first line is read.
static void test_all_in_one_read(void **state)
{
    (void)state;
    struct rb_report_times t = begun();
    for (int i = 1; i <= 4; i++)
        rb_report_times_take(&t, 108 * S + i, 0, i, true);
    assert_true(rb_report_times_as_one(&t, 108 * S));
    assert_units(&t, 1, (double[]){2});
    rb_report_times_finish(&t);

    t = begun();
    for (int i = 1; i <= 4; i++)
        rb_report_times_take(&t, 108 * S + 2000 * i, 0, i, true);
    assert_false(rb_report_times_as_one(&t, 109 * S)); // 2 ms each
    assert_int_equal(t.n_units, 3);
    rb_report_times_finish(&t);
}

static void test_a_file_in_parts(void **state)
{
    (void)state;
    struct rb_report_times t = begun();
    rb_report_times_take(&t, 101 * S, 0, 1, true);
    rb_report_times_took_file(&t, 0, true);
    assert_false(t.at_once);
    rb_report_times_take(&t, 107 * S, 0, 2, true);
    rb_report_times_take(&t, 107 * S, 0, 3, true);
    rb_report_times_took_file(&t, 0, false);
    assert_units(&t, 2, (double[]){3, 3});
    rb_report_times_finish(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_report_holds_the_startup),
        cmocka_unit_test(test_a_gap_measures_nothing),
        cmocka_unit_test(test_lines_read_together_share_their_time),
        cmocka_unit_test(test_all_at_once),
        cmocka_unit_test(test_all_in_one_read),
        cmocka_unit_test(test_a_file_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
