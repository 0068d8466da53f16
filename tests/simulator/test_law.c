// Laws against the closed forms of the families they come from, against GSL, and against plain draws.
#include "check.h"

#include "simulator/laws/law_grid.h"
#include "simulator/laws/trial_law.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#define DRAWS 60000

static const enum rb_dist_kind families[] = {RB_DIST_NORMAL, RB_DIST_LOGNORMAL, RB_DIST_GAMMA, RB_DIST_WEIBULL,
                                             RB_DIST_EXPONENTIAL};
#define N_FAMILIES (sizeof families / sizeof *families)

static struct rb_dist dist(enum rb_dist_kind kind, double mean, double cv)
{
    struct rb_dist d = {.kind = kind, .mean = mean, .cv = cv};
    struct rb_err err;
    if (!rb_dist_prepare(&d, &err))
        fail_msg("%s", err.message);
    return d;
}

static double quantile(const struct rb_law *law, double u)
{
    struct rb_law_reader reader = rb_law_read_from(law, u);
    return rb_law_read_quantile(&reader, u);
}

static double highest(const struct rb_law *law)
{
    return law->low_s + law->step_s * (law->n - 1);
}

static void families_are_reproduced(void **state)
{
    (void)state;
    static const double cvs[] = {0.01, 0.2, 0.5};
    struct rb_arena arena;
    rb_arena_init(&arena);
    for (size_t f = 0; f < N_FAMILIES; f++) {
        for (int c = 0; c < 3; c++) {
            const struct rb_dist d = dist(families[f], 10, cvs[c]);
            const struct rb_law law = rb_law_of_dist(&d, &arena);
            assert_true(law.error < 2e-6 && law.jump == 0);
            assert_float_equal(law.mean_s, rb_dist_mean(&d), 1e-12);
            assert_float_equal(law.variance_s2, rb_dist_variance(&d), 1e-9);
            const struct rb_law_curve curve = rb_law_curve_make(&law, &arena);
            for (int i = 1; i < 1000; i++) {
                const double x = law.low_s + (highest(&law) - law.low_s) * i / 1000, p = rb_dist_cdf(&d, x);
                assert_float_equal(rb_law_below(&law, x), p, law.error);
                assert_float_equal(rb_law_curve_above(&curve, x), 1 - p, law.error);
                if (1 - p > 1e-9) // the tail, relative to itself
                    assert_float_equal(rb_law_curve_above(&curve, x) / (1 - p), 1, 5e-3);
                if (p > 1e-3 && p < 0.999)
                    assert_float_equal(quantile(&law, p), x, 1e-3 * sqrt(law.variance_s2));
            }
        }
    }
    rb_arena_finish(&arena);
}

// What an even grid cannot show is counted in `error`: a law with a heavy tail has a larger one, and it holds.
static void errors_are_reported(void **state)
{
    (void)state;
    struct rb_arena arena;
    rb_arena_init(&arena);
    for (size_t f = 0; f < N_FAMILIES; f++) {
        for (double cv = 0.7; cv < 8; cv *= 1.7) {
            const struct rb_dist d = dist(families[f], 10, cv);
            const struct rb_law law = rb_law_of_dist(&d, &arena);
            for (int i = 1; i < 3000; i++) {
                const double x = rb_dist_quantile(&d, i / 3000.0);
                assert_float_equal(rb_law_below(&law, x), i / 3000.0, law.error + 1e-12);
            }
        }
    }
    rb_arena_finish(&arena);
}

static void constants_move_and_stretch(void **state)
{
    (void)state;
    struct rb_arena arena;
    rb_arena_init(&arena);
    const struct rb_dist d = dist(RB_DIST_LOGNORMAL, 10, 0.3);
    const struct rb_law law = rb_law_of_dist(&d, &arena), five = rb_law_constant(5);
    const struct rb_law moved = rb_law_plus(&five, &law, &arena), stretched = rb_law_product(&law, &five, &arena);
    assert_float_equal(moved.mean_s, 15, 1e-12);
    assert_float_equal(stretched.mean_s, 50, 1e-12);
    for (int i = 1; i < 100; i++) {
        const double x = rb_dist_quantile(&d, i / 100.0);
        assert_float_equal(rb_law_below(&moved, x + 5), i / 100.0, law.error);
        assert_float_equal(rb_law_below(&stretched, x * 5), i / 100.0, law.error);
    }
    const struct rb_law ten = rb_law_sum_of(&five, 2, &arena), none = rb_law_times(&law, 0, &arena);
    assert_int_equal(ten.n, 1);
    assert_float_equal(ten.low_s, 10, 0);
    assert_int_equal(none.n, 1);
    assert_float_equal(rb_law_below(&five, 4.999), 0, 0);
    assert_float_equal(rb_law_below(&five, 5), 1, 0);
    assert_float_equal(quantile(&five, 0.3), 5, 0);
    rb_arena_finish(&arena);
}

static void sums_and_products_of_two(void **state)
{
    (void)state;
    struct rb_arena arena;
    rb_arena_init(&arena);
    const struct rb_dist a = dist(RB_DIST_NORMAL, 30, 0.1), b = dist(RB_DIST_NORMAL, 20, 0.1);
    const struct rb_law la = rb_law_of_dist(&a, &arena), lb = rb_law_of_dist(&b, &arena);
    const struct rb_law sum = rb_law_plus(&la, &lb, &arena);
    const struct rb_law_curve of_sum = rb_law_curve_make(&sum, &arena);
    const double deviation = sqrt(13);
    for (int i = -50; i <= 60; i++) {
        const double x = 50 + i * 0.1 * deviation;
        assert_float_equal(rb_law_below(&sum, x), gsl_cdf_ugaussian_P(i * 0.1), sum.error);
        assert_float_equal(rb_law_curve_above(&of_sum, x) / gsl_cdf_ugaussian_Q(i * 0.1), 1, 5e-4);
    }
    const struct rb_dist c = dist(RB_DIST_LOGNORMAL, 2, 0.2), d = dist(RB_DIST_LOGNORMAL, 5, 0.3);
    const struct rb_law lc = rb_law_of_dist(&c, &arena), ld = rb_law_of_dist(&d, &arena);
    const struct rb_law product = rb_law_product(&lc, &ld, &arena);
    const struct rb_law_curve of_product = rb_law_curve_make(&product, &arena);
    const double mu = c.a + d.a, sigma = hypot(c.b, d.b);
    for (int i = -50; i <= 60; i++) {
        const double x = exp(mu + i * 0.1 * sigma);
        assert_float_equal(rb_law_below(&product, x), gsl_cdf_ugaussian_P(i * 0.1), product.error);
        assert_float_equal(rb_law_curve_above(&of_product, x) / gsl_cdf_ugaussian_Q(i * 0.1), 1, 5e-4);
    }
    assert_true(sum.error < 2e-6 && product.error < 2e-6);
    rb_arena_finish(&arena);
}

// --- trials and arrivals, against draws of the same random variables

// |difference of probabilities| in standard errors, at five levels, and of the mean.
static void agrees(const struct rb_law *law, double *drawn)
{
    static const double levels[] = {0.01, 0.05, 0.5, 0.95, 0.99};
    double mean = 0;
    for (int i = 0; i < DRAWS; i++)
        mean += drawn[i] / DRAWS;
    const double zm = (mean - law->mean_s) / sqrt(law->variance_s2 / DRAWS);
    if (fabs(zm) > 4.2)
        fail_msg("mean %g, drawn %g, z %.2f", law->mean_s, mean, zm);
    for (int l = 0; l < 5; l++) {
        const double at = quantile(law, levels[l]);
        double below = 0;
        for (int i = 0; i < DRAWS; i++)
            below += drawn[i] <= at ? 1.0 / DRAWS : 0;
        const double z = (below - levels[l]) / (sqrt(levels[l] * (1 - levels[l]) / DRAWS) + law->error);
        if (fabs(z) > 4.2)
            fail_msg("p%g at %g, but %.5f of the draws are below, z %.2f", 100 * levels[l], at, below, z);
    }
}

static const double few[] = {0.8, 0.9, 1.0, 1.05, 1.6};

static void trials(void **state)
{
    (void)state;
    struct rb_arena arena;
    double *drawn = rb_xcalloc(DRAWS, sizeof *drawn);
    rb_arena_init(&arena);
    struct rb_dist empirical = {.kind = RB_DIST_EMPIRICAL, .values = few, .n_values = 5};
    assert_true(rb_dist_prepare(&empirical, NULL));
    const struct rb_dist withins[] = {
        dist(RB_DIST_LOGNORMAL, 1, 0.1), dist(RB_DIST_GAMMA, 1, 0.3), dist(RB_DIST_NORMAL, 1, 0.6),
        dist(RB_DIST_EXPONENTIAL, 1, 1), rb_dist_constant(1),         empirical};
    for (int w = 0; w < 6; w++) {
        for (int units = 1; units <= 9; units += 4) {
            struct rb_profile p = {
                .within = withins[w],
                .between = w % 2 ? dist(RB_DIST_GAMMA, 1, 0.2) : dist(RB_DIST_LOGNORMAL, 1, 0.2),
                .startup_s = dist(w < 3 ? RB_DIST_LOGNORMAL : RB_DIST_EXPONENTIAL, 8, w < 3 ? 0.3 : 1),
                .checkpoint_s = w == 0 ? rb_dist_constant(2) : dist(RB_DIST_WEIBULL, 2, 0.5),
            };
            struct rb_stream s;
            rb_stream_init(&s,
                           &(struct rb_stream_key){
                               .seed = 9, .purpose = RB_DRAW_SEARCH, .index = (uint32_t)w, .attempt = (uint32_t)units});
            for (int i = 0; i < DRAWS; i++) {
                double sum = 0;
                for (int u = 0; u < units; u++)
                    sum += rb_dist_draw(&p.within, &s);
                const double work = sum * rb_dist_draw(&p.between, &s), startup = rb_dist_draw(&p.startup_s, &s);
                drawn[i] = 12 * work + startup + rb_dist_draw(&p.checkpoint_s, &s);
            }
            const struct rb_law law = rb_trial_law(&p, units, 12, &arena);
            assert_true(law.error < 1e-3 && law.jump == 0);
            agrees(&law, drawn);
        }
    }
    free(drawn);
    rb_arena_finish(&arena);
}

static void certain_trials_are_constants(void **state)
{
    (void)state;
    struct rb_arena arena;
    rb_arena_init(&arena);
    const struct rb_profile p = {.within = rb_dist_constant(1),
                                 .between = rb_dist_constant(1.5),
                                 .startup_s = rb_dist_constant(2),
                                 .checkpoint_s = rb_dist_constant(1)};
    const struct rb_law law = rb_trial_law(&p, 4, 10, &arena);
    assert_int_equal(law.n, 1);
    assert_float_equal(law.low_s, 63, 1e-12);
    assert_float_equal(law.error, 0, 0);
    rb_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_are_reproduced),
        cmocka_unit_test(errors_are_reported),
        cmocka_unit_test(constants_move_and_stretch),
        cmocka_unit_test(sums_and_products_of_two),
        cmocka_unit_test(trials),
        cmocka_unit_test(certain_trials_are_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
