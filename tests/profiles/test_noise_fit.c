// The two layers of noise: exact answers for layouts small enough to do by hand, and recovery of known components.
#include "profiles/fit/noise_fit.h"
#include "tests/profiles/measured.h"

// Sd of the log of a lognormal factor with this coefficient of variation.
static double log_sd(double cv)
{
    return sqrt(log1p(cv * cv));
}

static void by_hand(void **state)
{
    (void)state;
    // logs: run 0: 0, 2; run 1: 4, 6. MS within = 2, MS between = 16, two units a run: between = (16 - 2) / 2 = 7.
    const struct rb_unit_sample samples[] = {{0, 0, 0, 1}, {0, 0, 0, exp(2)}, {0, 1, 1, exp(4)}, {0, 1, 1, exp(6)}};
    struct rb_noise_fit fit;
    struct rb_err err;
    assert_ok(rb_noise_fit(samples, 4, &fit, &err), &err);
    assert_close(fit.within_cv, sqrt(exp(2) - 1), 1e-9);
    assert_close(fit.between_cv, sqrt(exp(7) - 1), 1e-6);
    assert_int_equal(fit.n_runs, 2);
    assert_int_equal(fit.n_units, 4);
}

static void by_hand_unbalanced(void **state)
{
    (void)state;
    // logs: run 0: 0, 0, 3; run 1: 2. Cell mean 5/4. SS within = 6 over 2; SS between = 3/16 + 9/16 = 3/4 over 1.
    // Units a run: 4 - (9 + 1)/4 = 3/2. Between = (3/4 - 3) / (3/2) < 0, so 0.
    const struct rb_unit_sample samples[] = {{0, 0, 0, 1}, {0, 1, 1, exp(2)}, {0, 0, 0, 1}, {0, 0, 0, exp(3)}};
    struct rb_noise_fit fit;
    struct rb_err err;
    assert_ok(rb_noise_fit(samples, 4, &fit, &err), &err);
    assert_close(fit.within_cv, sqrt(exp(3) - 1), 1e-9);
    assert_close(fit.between_cv, 0, 0);
    const double variance_se = sqrt(2 * 0.75 * 0.75 / 1 + 2 * 3.0 * 3.0 / 2) / 1.5;
    assert_close(fit.between_se, sqrt(expm1(variance_se)), 1e-9);
}

// Two cells, in each the same two configurations, with the deviations +-3 and +-1 of run means: 3 = 2 + 1, 1 = 2 - 1.
static void configurations_by_hand(void **state)
{
    (void)state;
    struct rb_unit_sample samples[8];
    const double deviations[] = {3, -3, 1, -1};
    for (int run = 0; run < 4; run++) {
        for (int unit = 0; unit < 2; unit++)
            samples[2 * run + unit] = (struct rb_unit_sample){
                .cell = run / 2, .run = run, .configuration = run % 2, .unit_s = exp(deviations[run])};
    }
    struct rb_noise_fit fit;
    struct rb_err err;
    assert_ok(rb_noise_fit(samples, 8, &fit, &err), &err);
    // MS between = 2 (9 + 9 + 1 + 1) / 2 = 20, within 0, two units a run: 10. Configurations: SS = 2 * 2 * 4 = 16 over 1,
    // the rest 4 * 1 over 4 - 2 - 2 + 1 = 1, two runs each: (16 - 4) / 2 = 6, and 4 are left.
    assert_close(fit.between_cv, sqrt(exp(10) - 1), 1e-6);
    assert_close(fit.configuration_cv, sqrt(exp(6) - 1), 1e-6);
    assert_close(fit.rest_cv, sqrt(exp(4) - 1), 1e-6);
    for (int i = 0; i < 8; i++)
        samples[i].configuration = samples[i].run; // none ran twice
    assert_ok(rb_noise_fit(samples, 8, &fit, &err), &err);
    assert_true(isnan(fit.configuration_cv));
    assert_close(fit.rest_cv, fit.between_cv, 0);
}

static void configurations_are_separated_from_runs(void **state)
{
    (void)state;
    enum { CELLS = 3, CONFIGURATIONS = 60 };
    static struct rb_unit_sample samples[CELLS * CONFIGURATIONS * 3];
    struct rb_stream s = test_stream(12, 0);
    double slow[CONFIGURATIONS];
    int n = 0;
    for (int i = 0; i < CONFIGURATIONS; i++)
        slow[i] = log_sd(0.6) * draw_normal(&s);
    for (int run = 0; run < CELLS * CONFIGURATIONS; run++) {
        const int configuration = run % CONFIGURATIONS, cell = run / CONFIGURATIONS;
        const double node = log_sd(0.1) * draw_normal(&s);
        for (int unit = 0; unit < 3 && (configuration + cell) % 7 > 0; unit++) // not all of them everywhere
            samples[n++] = (struct rb_unit_sample){
                cell, run, configuration, (cell + 1) * exp(slow[configuration] + node + 0.05 * draw_normal(&s))};
    }
    struct rb_noise_fit fit;
    struct rb_err err;
    assert_ok(rb_noise_fit(samples, n, &fit, &err), &err);
    assert_close(fit.configuration_cv, 0.6, 0.15);
    assert_close(fit.rest_cv, 0.1, 0.05);
}

static void cell_means_are_no_noise(void **state)
{
    (void)state;
    const struct rb_unit_sample samples[] = {
        {0, 0, 0, 30}, {0, 0, 0, 30}, {0, 1, 1, 30}, {1, 2, 2, 8}, {1, 2, 2, 8}, {1, 3, 3, 8}};
    struct rb_noise_fit fit;
    struct rb_err err;
    assert_ok(rb_noise_fit(samples, N_OF(samples), &fit, &err), &err);
    assert_close(fit.between_cv, 0, 1e-12);
    assert_close(fit.within_cv, 0, 1e-12);
}

// cells x runs x units with different sizes, lognormal factors with mean 1.
static int simulate(double between_cv, double within_cv, int n_cells, int runs_per_cell, uint32_t replicate,
                    struct rb_unit_sample *out)
{
    struct rb_stream s = test_stream(11, replicate);
    const double between = log_sd(between_cv), within = log_sd(within_cv);
    int n = 0;
    for (int run = 0; run < n_cells * runs_per_cell; run++) {
        const double slow = between * draw_normal(&s);
        for (int unit = 0; unit < 2 + run % 4; unit++) {
            const int cell = run / runs_per_cell;
            out[n++] = (struct rb_unit_sample){cell, run, run, 30.0 / (cell + 1) * exp(slow + within * draw_normal(&s))};
        }
    }
    return n;
}

static void known_components_are_recovered(void **state)
{
    (void)state;
    const struct {
        double between_cv, within_cv;
    } truths[] = {{0.05, 0.10}, {0.20, 0.05}, {0.0, 0.1}, {0.3, 0.3}};
    static struct rb_unit_sample samples[4 * 100 * 5];
    for (int i = 0; i < N_OF(truths); i++) {
        struct rb_noise_fit fit;
        struct rb_err err;
        const int n = simulate(truths[i].between_cv, truths[i].within_cv, 4, 100, (uint32_t)i, samples);
        assert_ok(rb_noise_fit(samples, n, &fit, &err), &err);
        // the within layer has n - runs degrees of freedom: relative standard error of its cv 1 / sqrt(2 df)
        assert_close(fit.within_cv, truths[i].within_cv, 4 * truths[i].within_cv / sqrt(2.0 * (n - fit.n_runs)));
        assert_close(fit.between_cv, truths[i].between_cv, 4 * fit.between_se);
        assert_true(fit.between_se < 0.1);
    }
}

static void the_standard_error_is_of_the_right_size(void **state)
{
    (void)state;
    struct rb_unit_sample samples[3 * 5 * 5];
    int n_covered = 0, n_replicates = 400;
    for (int i = 0; i < n_replicates; i++) {
        struct rb_noise_fit fit;
        const int n = simulate(0.2, 0.1, 3, 5, 1000 + (uint32_t)i, samples);
        assert_true(rb_noise_fit(samples, n, &fit, NULL));
        n_covered += fabs(fit.between_cv - 0.2) <= 2 * fit.between_se;
    }
    // With 12 degrees of freedom the estimate is skewed, and its error is underestimated where it is itself too small:
    // two standard errors cover about 88 %, not 95 %.
    assert_in_range(n_covered, 330, 400);
}

static void order_of_samples_does_not_matter(void **state)
{
    (void)state;
    struct rb_unit_sample samples[2 * 10 * 5], reversed[2 * 10 * 5];
    struct rb_noise_fit a, b;
    const int n = simulate(0.1, 0.1, 2, 10, 5, samples);
    for (int i = 0; i < n; i++) {
        reversed[i] = samples[n - 1 - i];
    }
    assert_true(rb_noise_fit(samples, n, &a, NULL) && rb_noise_fit(reversed, n, &b, NULL));
    assert_memory_equal(&a, &b, sizeof(a));
}

static void one_run_a_cell_leaves_between_unknown(void **state)
{
    (void)state;
    const struct rb_unit_sample samples[] = {{0, 0, 0, 10}, {0, 0, 0, 11}, {1, 1, 1, 5}, {1, 1, 1, 5.5}};
    struct rb_noise_fit fit;
    struct rb_err err;
    assert_ok(rb_noise_fit(samples, 4, &fit, &err), &err);
    assert_true(isinf(fit.between_se));
    assert_true(fit.within_cv > 0.05);
}

static void too_little_or_nonsense_is_refused(void **state)
{
    (void)state;
    const struct rb_unit_sample single[] = {{0, 0, 0, 10}, {0, 1, 1, 11}, {0, 2, 2, 12}};
    const double bad[] = {0, -1, NAN, INFINITY, 1e9};
    struct rb_noise_fit fit = {.n_runs = 42};
    struct rb_err err;
    assert_false(rb_noise_fit(single, 3, &fit, &err));
    assert_says(&err, "RB1313 no run has two units");
    assert_false(rb_noise_fit(single, 0, &fit, &err));
    for (int i = 0; i < N_OF(bad); i++) {
        const struct rb_unit_sample samples[] = {{0, 0, 0, 1}, {0, 0, 0, bad[i]}};
        assert_false(rb_noise_fit(samples, 2, &fit, &err));
        assert_int_equal(err.code, RB_ERR_INVALID);
        assert_says(&err, "seconds, got");
    }
    assert_int_equal(fit.n_runs, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(by_hand_unbalanced),
        cmocka_unit_test(configurations_by_hand),
        cmocka_unit_test(configurations_are_separated_from_runs),
        cmocka_unit_test(cell_means_are_no_noise),
        cmocka_unit_test(known_components_are_recovered),
        cmocka_unit_test(the_standard_error_is_of_the_right_size),
        cmocka_unit_test(order_of_samples_does_not_matter),
        cmocka_unit_test(one_run_a_cell_leaves_between_unknown),
        cmocka_unit_test(too_little_or_nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
