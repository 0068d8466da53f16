// Sums without sampling: many copies of one law against the families that are closed under sums, and sums of different
// laws against each other and against closed forms.
#include "check.h"

#include "simulator/one_wave/law.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

static struct rb_dist dist(enum rb_dist_kind kind, double mean, double cv)
{
    struct rb_dist d = {.kind = kind, .mean = mean, .cv = cv};
    struct rb_err err;
    if (!rb_dist_prepare(&d, &err))
        fail_msg("%s", err.message);
    return d;
}

// A gamma's sum is a gamma, whatever its shape: 1 is the exponential, whose density jumps.
static void copies_of_a_gamma(void **state)
{
    (void)state;
    static const double cvs[] = {0.05, 0.3, 1};
    static const int copies[] = {1, 2, 3, 10, 1000, 50000};
    struct rb_arena arena;
    rb_arena_init(&arena);
    for (int c = 0; c < 3; c++) {
        const struct rb_dist one = dist(RB_DIST_GAMMA, 2, cvs[c]);
        const struct rb_law law = rb_law_of_dist(&one, &arena);
        for (int k = 0; k < 6; k++) {
            const struct rb_dist all = dist(RB_DIST_GAMMA, 2.0 * copies[k], cvs[c] / sqrt(copies[k]));
            const struct rb_law sum = rb_law_sum_of(&law, copies[k], &arena);
            assert_float_equal(sum.mean_s, 2.0 * copies[k], 1e-9 * copies[k]);
            assert_float_equal(sum.variance_s2 / rb_dist_variance(&all), 1, 1e-12);
            assert_true(sum.error < 1e-4);
            for (int i = 1; i < 1000; i++) {
                const double x = rb_dist_quantile(&all, i / 1000.0);
                assert_float_equal(rb_law_below(&sum, x), i / 1000.0, sum.error);
            }
            for (double tail = 1e-3; tail > 1e-8; tail /= 10) { // what the largest of many asks for
                const double x = rb_dist_quantile(&all, 1 - tail);
                assert_float_equal(rb_law_above(&sum, x), tail, 2e-3 * tail + 2e-10);
            }
        }
    }
    rb_arena_finish(&arena);
}

static void copies_of_an_empirical_law_add_up(void **state)
{
    (void)state;
    static const double values[] = {0.5, 1, 1.1, 2};
    struct rb_arena arena;
    rb_arena_init(&arena);
    struct rb_dist d = {.kind = RB_DIST_EMPIRICAL, .values = values, .n_values = 4};
    assert_true(rb_dist_prepare(&d, NULL));
    const struct rb_law law = rb_law_of_dist(&d, &arena), sum = rb_law_sum_of(&law, 400, &arena);
    const double deviation = sqrt(400 * rb_dist_variance(&d));
    for (int i = -30; i <= 30; i++) // 400 are nearly normal; Berry and Esseen allow 0.02
        assert_float_equal(rb_law_below(&sum, 400 * d.mean + i * 0.1 * deviation), gsl_cdf_ugaussian_P(i * 0.1), 0.02);
    assert_float_equal(sum.mean_s, 400 * d.mean, 1e-9);
    rb_arena_finish(&arena);
}

static void different_laws(void **state)
{
    (void)state;
    struct rb_arena arena;
    rb_arena_init(&arena);
    const struct rb_dist a = dist(RB_DIST_NORMAL, 300, 0.1), b = dist(RB_DIST_NORMAL, 80, 0.1);
    const struct rb_law la = rb_law_of_dist(&a, &arena), lb = rb_law_of_dist(&b, &arena), c = rb_law_constant(20);
    const struct rb_law *laws[] = {&la, &lb, &c, &lb};
    const struct rb_law_sum sum = rb_law_sum_create(laws, 4, &arena);
    const double deviation = sqrt(900 + 64 + 64);
    assert_float_equal(sum.mean_s, 480, 1e-9);
    assert_float_equal(sum.variance_s2, 1028, 1e-6);
    assert_true(sum.error < 1e-6);
    for (int i = -50; i <= 50; i++)
        assert_float_equal(rb_law_sum_below(&sum, 480 + i * 0.1 * deviation), gsl_cdf_ugaussian_P(i * 0.1), sum.error);
    for (int i = 1; i < 100; i++)
        assert_float_equal(rb_law_sum_quantile(&sum, i / 100.0), 480 + deviation * gsl_cdf_ugaussian_Pinv(i / 100.0),
                           1e-4 * deviation);
    assert_float_equal(rb_law_sum_below(&sum, -1), 0, 0);
    assert_float_equal(rb_law_sum_below(&sum, 1e6), 1, 0);
    rb_arena_finish(&arena);
}

// One way to add two laws is a mixture, the other a product of transforms.
static void two_ways_agree(void **state)
{
    (void)state;
    struct rb_arena arena;
    rb_arena_init(&arena);
    const struct rb_dist parts[] = {dist(RB_DIST_LOGNORMAL, 100, 0.3), dist(RB_DIST_EXPONENTIAL, 20, 1),
                                    dist(RB_DIST_WEIBULL, 60, 0.4), dist(RB_DIST_NORMAL, 40, 0.8)};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const struct rb_law a = rb_law_of_dist(&parts[i], &arena), b = rb_law_of_dist(&parts[j], &arena);
            const struct rb_law *laws[] = {&a, &b};
            const struct rb_law mixed = rb_law_plus(&a, &b, &arena);
            const struct rb_law_sum sum = rb_law_sum_create(laws, 2, &arena);
            for (int k = 1; k < 200; k++) {
                const double x = rb_law_quantile(&mixed, k / 200.0);
                assert_float_equal(rb_law_sum_below(&sum, x), k / 200.0, sum.error + mixed.error);
            }
            assert_true(sum.error + mixed.error < 2e-3);
        }
    }
    rb_arena_finish(&arena);
}

static void constants_add_up(void **state)
{
    (void)state;
    struct rb_arena arena;
    rb_arena_init(&arena);
    const struct rb_law a = rb_law_constant(2), b = rb_law_constant(5);
    const struct rb_law *laws[] = {&a, &b};
    const struct rb_law_sum sum = rb_law_sum_create(laws, 2, &arena);
    assert_float_equal(rb_law_sum_below(&sum, 6.999), 0, 0);
    assert_float_equal(rb_law_sum_below(&sum, 7), 1, 0);
    assert_float_equal(rb_law_sum_quantile(&sum, 0.5), 7, 0);
    rb_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_a_gamma), cmocka_unit_test(copies_of_an_empirical_law_add_up),
        cmocka_unit_test(different_laws),    cmocka_unit_test(two_ways_agree),
        cmocka_unit_test(constants_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
