// Means and paired differences against numbers worked out by hand and from tables of Student's distribution.
#include "simulator/stage/compare.h"

#include "check.h"

#include <math.h>

#include <gsl/gsl_cdf.h>

static void near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("got %.9g, expected %.9g", got, expected);
}

static void a_mean_has_students_interval(void **state)
{
    (void)state;
    const double values[] = {1, 2, 3, 4, 5};
    const struct rb_mean m = rb_mean_of(values, 5);
    near(m.mean, 3, 1e-12);
    near(m.sd, sqrt(2.5), 1e-12);
    near(m.high - m.mean, 2.7764451 * sqrt(2.5 / 5), 1e-6); // t(0.975, 4)
    near(m.mean - m.low, m.high - m.mean, 1e-12);
    const struct rb_mean one = rb_mean_of(values, 1);
    assert_true(one.n == 1);
    near(one.low, 1, 0);
    near(one.high, 1, 0);
}

// Tables of Clopper and Pearson; the ends are solutions of (1 - p)^n = 0.025.
static void a_share_has_its_exact_interval(void **state)
{
    (void)state;
    const struct rb_share some = rb_share_of(8, 10), all = rb_share_of(256, 256), none = rb_share_of(0, 3);
    near(some.share, 0.8, 1e-12);
    near(some.low, 0.4439, 1e-4);
    near(some.high, 0.9748, 1e-4);
    near(all.low, pow(0.025, 1.0 / 256), 1e-9);
    near(all.high, 1, 0);
    near(none.low, 0, 0);
    near(none.high, 1 - pow(0.025, 1.0 / 3), 1e-9);
}

// As many runs as commands make: each end is where the other side has a probability of 0.025.
static void every_share_has_an_interval(void **state)
{
    (void)state;
    static const int runs[] = {3, 256, 1024, 4096};
    for (int i = 0; i < 4; i++) {
        const int n = runs[i];
        for (int hits = 1; hits < n; hits++) {
            const struct rb_share s = rb_share_of(hits, n);
            near(gsl_cdf_beta_P(s.low, hits, n - hits + 1), 0.025, 1e-9);
            near(gsl_cdf_beta_P(s.high, hits + 1, n - hits), 0.975, 1e-9);
        }
    }
}

static void pairs_are_compared_with_each_other(void **state)
{
    (void)state;
    const double a[] = {2, 4, 6, 8, 10, 12}, b[] = {1, 2, 5, 6, 10, 13};
    const struct rb_paired p = rb_paired_of(a, b, 6); // 1 2 1 2 0 -1
    near(p.difference.mean, 5.0 / 6, 1e-12);
    near(p.difference.sd, 1.1690452, 1e-6);
    assert_int_equal(p.n_above, 4);
    assert_int_equal(p.n_below, 1);
    near(p.p_sign, 0.375, 1e-9); // 2 (1 + 5) / 2^5
    near(p.p_t, 0.1411, 5e-4);   // t = 1.746 with 5 degrees of freedom
}

static void no_difference_is_certain(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3}, more[] = {2, 3, 4};
    const struct rb_paired none = rb_paired_of(a, a, 3), always = rb_paired_of(more, a, 3),
                           single = rb_paired_of(more, a, 1);
    near(none.p_t, 1, 0);
    near(none.p_sign, 1, 0);
    near(always.p_t, 0, 0); // the same difference every time
    near(always.p_sign, 0.25, 1e-12);
    near(single.p_t, 1, 0); // one pair says nothing of its spread
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mean_has_students_interval),
        cmocka_unit_test(a_share_has_its_exact_interval),
        cmocka_unit_test(every_share_has_an_interval),
        cmocka_unit_test(pairs_are_compared_with_each_other),
        cmocka_unit_test(no_difference_is_certain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
