// Which family a sample is from, how well it fits, and what happens to samples that are from none.
#include "profiles/fit/dist_fit.h"
#include "tests/profiles/measured.h"

#define MAX_N 4000

static int setup(void **state)
{
    static struct rb_arena arena;
    rb_arena_init(&arena);
    *state = &arena;
    return 0;
}

static int teardown(void **state)
{
    rb_arena_finish(*state);
    return 0;
}

static struct rb_dist family(enum rb_dist_kind kind, double mean, double cv)
{
    struct rb_dist d = {.kind = kind, .mean = mean, .cv = cv};
    assert_true(rb_dist_prepare(&d, NULL));
    return d;
}

static void draw_sample(const struct rb_dist *d, int n, uint32_t replicate, double *out)
{
    struct rb_stream s = test_stream(3, replicate);
    for (int i = 0; i < n; i++) {
        out[i] = rb_dist_draw(d, &s);
    }
}

static void the_right_family_is_chosen_and_recovered(void **state)
{
    const struct {
        enum rb_dist_kind kind;
        double mean, cv;
    } truths[] = {{RB_DIST_LOGNORMAL, 18, 0.4}, {RB_DIST_LOGNORMAL, 0.02, 1.5}, {RB_DIST_GAMMA, 60, 0.7},
                  {RB_DIST_WEIBULL, 8, 0.3},    {RB_DIST_WEIBULL, 8, 2.0},      {RB_DIST_EXPONENTIAL, 5, 1}};
    static double values[MAX_N];
    for (int i = 0; i < N_OF(truths); i++) {
        const struct rb_dist truth = family(truths[i].kind, truths[i].mean, truths[i].cv);
        struct rb_dist_fit fit;
        struct rb_err err;
        draw_sample(&truth, MAX_N, (uint32_t)i, values);
        assert_ok(rb_dist_fit(values, MAX_N, *state, &fit, &err), &err);
        if (fit.dist.kind != truth.kind) {
            fail_msg("%s taken for %s", rb_dist_kind_name(truth.kind), rb_dist_kind_name(fit.dist.kind));
        }
        assert_close(fit.dist.mean / truth.mean, 1, 5 * truth.cv / sqrt(MAX_N));
        assert_close(fit.dist.cv / truth.cv, 1, 0.12);
        assert_false(fit.poor);
        assert_int_equal(fit.n, MAX_N);
    }
}

// A maximum: no neighbour in mean or cv is more likely. Holds for every family whatever the sample is from.
static void estimates_are_maxima_of_the_likelihood(void **state)
{
    static double values[200];
    const enum rb_dist_kind kinds[] = {RB_DIST_LOGNORMAL, RB_DIST_GAMMA, RB_DIST_WEIBULL, RB_DIST_EXPONENTIAL};
    for (int k = 0; k < N_OF(kinds); k++) {
        const struct rb_dist truth = family(kinds[k], 10, kinds[k] == RB_DIST_EXPONENTIAL ? 1 : 0.5);
        struct rb_dist_fit fit;
        struct rb_err err;
        draw_sample(&truth, N_OF(values), 50 + (uint32_t)k, values);
        assert_ok(rb_dist_fit(values, N_OF(values), *state, &fit, &err), &err);
        for (int step = 0; step < 4; step++) {
            const double up = step % 2 ? 1.02 : 1 / 1.02;
            if (fit.dist.kind == RB_DIST_EXPONENTIAL && step >= 2) {
                continue; // has no cv of its own
            }
            const struct rb_dist near =
                family(fit.dist.kind, fit.dist.mean * (step < 2 ? up : 1), fit.dist.cv * (step < 2 ? 1 : up));
            double likelihood = 0;
            for (int i = 0; i < N_OF(values); i++) {
                likelihood += rb_dist_log_density(&near, values[i]);
            }
            assert_true(likelihood < fit.log_likelihood);
        }
    }
}

static void lognormal_by_hand(void **state)
{
    const double values[] = {1, exp(1), exp(2)}; // mean log 1, variance 2/3
    struct rb_dist_fit fit;
    assert_true(rb_dist_fit(values, 3, *state, &fit, NULL));
    if (fit.dist.kind == RB_DIST_LOGNORMAL) {
        assert_close(fit.dist.mean, exp(1 + 1.0 / 3), 1e-9);
        assert_close(fit.dist.cv, sqrt(exp(2.0 / 3) - 1), 1e-9);
    }
    assert_true(fit.ks > 0 && fit.ks < 0.5 && fit.ks_p > 0.5);
    assert_close(fit.aic, (fit.dist.kind == RB_DIST_EXPONENTIAL ? 2 : 4) - 2 * fit.log_likelihood, 1e-9);
}

// Of 1, 2, 3: mean 2, variance of the mean 1/3; Student's 95 % quantile with two degrees of freedom is 2.9200.
static void means_of_few_values_may_be_off(void **state)
{
    const double values[] = {1, 3, 2}, one[] = {5}, zero[] = {0, 0};
    struct rb_dist_fit fit;
    assert_true(rb_dist_fit(values, 3, *state, &fit, NULL));
    assert_close(fit.dist.relative_error, sqrt(1.0 / 3) / 2 * 2.919986 / 1.644854, 1e-6);
    assert_true(rb_dist_fit(one, 1, *state, &fit, NULL));
    assert_close(fit.dist.relative_error, 0, 0);
    assert_true(rb_dist_fit_latency(zero, 2, *state, &fit, NULL));
    assert_close(fit.dist.relative_error, 0, 0);
}

static void two_peaks_fit_no_family(void **state)
{
    double values[60];
    struct rb_stream s = test_stream(9, 0);
    for (int i = 0; i < N_OF(values); i++) {
        values[i] = (i % 2 ? 10 : 100) * exp(0.01 * draw_normal(&s));
    }
    struct rb_dist_fit fit;
    assert_true(rb_dist_fit(values, N_OF(values), *state, &fit, NULL));
    assert_true(fit.poor && fit.ks_p < 0.05);
    assert_int_equal(fit.dist.kind, RB_DIST_EMPIRICAL);
    assert_int_equal(fit.dist.n_values, N_OF(values));
    assert_true(fit.dist.values[0] < 11 && fit.dist.values[59] > 90); // sorted
}

static void small_and_constant_samples(void **state)
{
    const double one[] = {5}, two[] = {7, 3}, equal[] = {4, 4, 4, 4}, almost[] = {4, 4.0000000001, 4};
    struct rb_dist_fit fit;
    assert_true(rb_dist_fit(one, 1, *state, &fit, NULL));
    assert_int_equal(fit.dist.kind, RB_DIST_EMPIRICAL);
    assert_close(rb_dist_quantile(&fit.dist, 0.9), 5, 1e-12);
    assert_true(rb_dist_fit(two, 2, *state, &fit, NULL));
    assert_int_equal(fit.dist.kind, RB_DIST_EMPIRICAL);
    assert_close(fit.dist.values[0], 3, 0);
    assert_true(rb_dist_fit(equal, 4, *state, &fit, NULL));
    assert_int_equal(fit.dist.kind, RB_DIST_CONSTANT);
    assert_close(fit.dist.mean, 4, 1e-12);
    assert_true(rb_dist_fit(almost, 3, *state, &fit, NULL));
    assert_int_equal(fit.dist.kind, RB_DIST_CONSTANT);
}

static void nothing_is_ever_nan(void **state)
{
    const double samples[][4] = {{1e-6, 1, 1e3, 1e6}, {1e-6, 1e-6, 1e-6, 1e6}, {1, 1.00001, 1.00002, 1},
                                 {1e-300, 1, 2, 3},   {5e-324, 1e6, 1, 1},     {999999, 1e6, 999998, 1e6}};
    for (int i = 0; i < N_OF(samples); i++) {
        struct rb_dist_fit fit;
        struct rb_err err;
        assert_ok(rb_dist_fit(samples[i], 4, *state, &fit, &err), &err);
        assert_true(isfinite(fit.log_likelihood) && isfinite(fit.aic) && isfinite(fit.ks));
        assert_true(fit.ks_p >= 0 && fit.ks_p <= 1);
        assert_true(isfinite(rb_dist_mean(&fit.dist)) && rb_dist_mean(&fit.dist) > 0);
        assert_true(isfinite(rb_dist_quantile(&fit.dist, 0.999)));
    }
}

static void samples_of_a_family_are_rarely_called_poor(void **state)
{
    // With two parameters estimated the p-value is optimistic: rarely small for a sample of the family itself.
    double values[50];
    int n_small = 0;
    for (uint32_t i = 0; i < 200; i++) {
        const struct rb_dist truth = family(RB_DIST_GAMMA, 3, 0.6);
        struct rb_dist_fit fit;
        draw_sample(&truth, N_OF(values), 500 + i, values);
        assert_true(rb_dist_fit(values, N_OF(values), *state, &fit, NULL));
        n_small += fit.ks_p < 0.05;
    }
    assert_in_range(n_small, 0, 10);
}

static void latencies_may_be_shorter_than_the_clock(void **state)
{
    const double none[] = {0, 0, 0}, some[] = {0, 0.5, 0.7, 0.6}, negative[] = {1, -1, 2};
    struct rb_dist_fit fit;
    struct rb_err err;
    assert_true(rb_dist_fit_latency(none, 3, *state, &fit, NULL));
    assert_int_equal(fit.dist.kind, RB_DIST_CONSTANT);
    assert_close(fit.dist.mean, 0, 0);
    assert_ok(rb_dist_fit_latency(some, 4, *state, &fit, &err), &err);
    assert_true(rb_dist_mean(&fit.dist) > 0);
    assert_false(rb_dist_fit_latency(negative, 3, *state, &fit, &err));
    assert_false(rb_dist_fit_latency(none, 0, *state, &fit, &err));
}

static void nonsense_is_refused(void **state)
{
    const double bad[] = {0, -3, NAN, INFINITY, 1e7};
    struct rb_dist_fit fit = {.n = 42};
    struct rb_err err;
    for (int i = 0; i < N_OF(bad); i++) {
        const double values[] = {1, bad[i], 2};
        assert_false(rb_dist_fit(values, 3, *state, &fit, &err));
        assert_int_equal(err.code, RB_ERR_INVALID);
        assert_says(&err, "value 2: expected");
    }
    assert_false(rb_dist_fit(bad, 0, *state, &fit, &err));
    assert_int_equal(fit.n, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_right_family_is_chosen_and_recovered),
        cmocka_unit_test(estimates_are_maxima_of_the_likelihood),
        cmocka_unit_test(lognormal_by_hand),
        cmocka_unit_test(means_of_few_values_may_be_off),
        cmocka_unit_test(two_peaks_fit_no_family),
        cmocka_unit_test(small_and_constant_samples),
        cmocka_unit_test(nothing_is_ever_nan),
        cmocka_unit_test(samples_of_a_family_are_rarely_called_poor),
        cmocka_unit_test(latencies_may_be_shorter_than_the_clock),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
