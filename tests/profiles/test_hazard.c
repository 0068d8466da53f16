// A hazard by age: its integral, the inverse of that, and the two against each other.
#include "check.h"

#include "profiles/fit/hazard.h"

static const struct rb_hazard_step later[] = {{900, 1.30}, {3600, 0}, {14400, 0.36}};
static const struct rb_hazard east_1c = {.per_hour = 1.65, .later = later, .n_later = 3};

// 1.65 / 4 + 1.30 * 3 / 4 = 1.3875 in the first hour, nothing in the next three, 0.36 an hour from then on.
static void test_the_integral_is_the_sum_of_its_pieces(void **state)
{
    (void)state;
    assert_near(rb_hazard_over(&east_1c, 0, 0), 0, 0);
    assert_near(rb_hazard_over(&east_1c, 0, 450), 1.65 / 8, 1e-12);
    assert_near(rb_hazard_over(&east_1c, 0, 3600), 1.3875, 1e-12);
    assert_near(rb_hazard_over(&east_1c, 900, 900), 1.30 / 4, 1e-12);
    assert_near(rb_hazard_over(&east_1c, 3600, 10800), 0, 0);
    assert_near(rb_hazard_over(&east_1c, 0, 18000), 1.3875 + 0.36, 1e-12);
    assert_near(rb_hazard_over(&east_1c, 1e6, 7200), 0.72, 1e-12);
}

static void test_the_seconds_are_its_inverse(void **state)
{
    (void)state;
    static const double ages[] = {0, 1, 899, 900, 2000, 3600, 5000, 20000};
    for (size_t i = 0; i < N_OF(ages); i++) {
        for (double cumulative = 0.001; cumulative < 20; cumulative *= 1.3) {
            const double seconds = rb_hazard_seconds(&east_1c, ages[i], cumulative);
            assert_near(rb_hazard_over(&east_1c, ages[i], seconds), cumulative, 1e-9);
        }
    }
}

static void test_a_constant_hazard_is_the_exponential(void **state)
{
    (void)state;
    const struct rb_hazard constant = {.per_hour = 0.7};
    for (double u = 0.01; u < 1; u += 0.01) { // to the last bit: plans of before are made with it
        const double seconds = -log1p(-u) * (3600.0 / 0.7);
        assert_near(rb_hazard_seconds(&constant, 0, -log1p(-u)), seconds, 0);
    }
    assert_near(rb_hazard_over(&constant, 12345, 1000), 0.7 / 3600 * 1000, 0);
}

static void test_what_never_dies(void **state)
{
    (void)state;
    static const struct rb_hazard_step safe = {900, 0}, late = {900, 1};
    const struct rb_hazard none = {0}, only_young = {.per_hour = 1, .later = &safe, .n_later = 1};
    const struct rb_hazard only_old = {.later = &late, .n_later = 1};
    assert_true(rb_hazard_is_none(&none));
    assert_false(rb_hazard_is_none(&only_young));
    assert_false(rb_hazard_is_none(&only_old));
    assert_true(isinf(rb_hazard_seconds(&none, 0, 0.1)));
    assert_near(rb_hazard_seconds(&only_young, 0, 0.2), 720, 1e-9);
    assert_true(isinf(rb_hazard_seconds(&only_young, 0, 0.26)));
    assert_true(isinf(rb_hazard_seconds(&only_young, 900, 1e-9)));
    assert_near(rb_hazard_seconds(&only_old, 0, 0.5), 2700, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_integral_is_the_sum_of_its_pieces),
        cmocka_unit_test(test_the_seconds_are_its_inverse),
        cmocka_unit_test(test_a_constant_hazard_is_the_exponential),
        cmocka_unit_test(test_what_never_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
