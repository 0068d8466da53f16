// Distributions against reference values, against each other (quantile, CDF, density, moments) and at the
// edges.
#include "check.h"

#include "profiles/fit/dist.h"

static struct rb_dist make(enum rb_dist_kind kind, double mean, double cv)
{
    struct rb_dist d = {.kind = kind, .mean = mean, .cv = cv};
    struct rb_err err = {0};
    if (!rb_dist_prepare(&d, &err))
        fail_msg("%s mean %g cv %g: %s", rb_dist_kind_name(kind), mean, cv, err.message);
    return d;
}

static const enum rb_dist_kind families[] = {RB_DIST_NORMAL, RB_DIST_LOGNORMAL, RB_DIST_GAMMA, RB_DIST_WEIBULL,
                                             RB_DIST_EXPONENTIAL};
static const double cvs[] = {1e-6, 1e-4, 0.0015, 0.009, 0.011, 0.05, 0.3, 0.9, 1.0, 1.5, 3.0, 10.0};

// Values of scipy 1.10 (truncnorm, lognorm, gamma, weibull_min), an independent implementation.
static void test_quantiles_are_those_of_the_textbook(void **state)
{
    (void)state;
    static const struct {
        enum rb_dist_kind kind;
        double mean, cv, u, quantile;
    } cases[] = {
        {RB_DIST_GAMMA, 60, 0.3, 1e-12, 2.303579712993745},
        {RB_DIST_GAMMA, 60, 0.3, 0.001, 19.179509612813231},
        {RB_DIST_GAMMA, 60, 0.3, 0.5, 58.209917546515996},
        {RB_DIST_GAMMA, 60, 0.3, 0.9, 83.913070104253194},
        {RB_DIST_GAMMA, 60, 0.3, 0.999999, 186.93036081179977},
        {RB_DIST_GAMMA, 2, 5.0, 1e-12, 2.8993791704287824e-299},
        {RB_DIST_GAMMA, 2, 5.0, 0.001, 2.8993791704287004e-74},
        {RB_DIST_GAMMA, 2, 5.0, 0.5, 8.6408234197130042e-07},
        {RB_DIST_GAMMA, 2, 5.0, 0.9, 2.1692067664556682},
        {RB_DIST_GAMMA, 2, 5.0, 0.999999, 423.46334073238233},
        {RB_DIST_GAMMA, 1, 0.01, 1e-12, 0.93126289698542264},
        {RB_DIST_GAMMA, 1, 0.01, 0.5, 0.99996666686420477},
        {RB_DIST_GAMMA, 1, 0.01, 0.999999, 1.0482561164638258},
        {RB_DIST_GAMMA, 10, 1.0, 1e-12, 1.0000000000005e-11},
        {RB_DIST_GAMMA, 10, 1.0, 0.999999, 138.15510557935517},
        {RB_DIST_GAMMA, 1, 10.0, 0.9, 0.0015035936230702927},
        {RB_DIST_GAMMA, 1, 10.0, 0.999999, 715.12534780848819},
        {RB_DIST_WEIBULL, 60, 0.3, 0.001, 10.34885233801554},
        {RB_DIST_WEIBULL, 60, 0.3, 0.5, 60.225032262234414},
        {RB_DIST_WEIBULL, 60, 0.3, 0.999999, 134.80374448090078},
        {RB_DIST_WEIBULL, 2, 5.0, 0.5, 0.078217591913421772},
        {RB_DIST_WEIBULL, 2, 5.0, 0.999999, 1167.6734145968267},
        {RB_DIST_WEIBULL, 1, 0.01, 0.001, 0.95152815073924668},
        {RB_DIST_WEIBULL, 1, 0.01, 0.999999, 1.0253820865430296},
        {RB_DIST_LOGNORMAL, 60, 0.3, 0.001, 23.198461143725972},
        {RB_DIST_LOGNORMAL, 60, 0.3, 0.5, 57.469577113269082},
        {RB_DIST_LOGNORMAL, 2, 5.0, 0.999999, 2088.3383591616303},
        {RB_DIST_NORMAL, 60, 0.3, 0.001, 6.3115610392711687},
        {RB_DIST_NORMAL, 60, 0.3, 0.5, 60.009679453330932},
        {RB_DIST_NORMAL, 60, 0.3, 0.999999, 145.56319862522304},
        {RB_DIST_NORMAL, 2, 5.0, 0.001, 0.014811020384523532},
        {RB_DIST_NORMAL, 2, 5.0, 0.5, 7.5446637817671824},
        {RB_DIST_NORMAL, 2, 5.0, 0.999999, 50.626032004163619},
        {RB_DIST_EXPONENTIAL, 10, 1.0, 0.5, 6.9314718055994531},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        const struct rb_dist d = make(cases[i].kind, cases[i].mean, cases[i].cv);
        assert_near(rb_dist_quantile(&d, cases[i].u), cases[i].quantile, 1e-9);
    }
}

static void test_moments_of_the_truncated_normal(void **state)
{
    (void)state;
    const struct rb_dist narrow = make(RB_DIST_NORMAL, 60, 0.3), wide = make(RB_DIST_NORMAL, 2, 5);
    assert_near(rb_dist_mean(&narrow), 60.027772938199355, 1e-12);
    assert_near(rb_dist_variance(&narrow), 322.3328523719423, 1e-12);
    assert_near(rb_dist_mean(&wide), 8.750731797902922, 1e-12);
    assert_near(rb_dist_variance(&wide), 40.926156596976554, 1e-12);
}

// Small probabilities are compared with u, large ones with 1 - u, each relative to what is left.
static void check_inverse(const struct rb_dist *d, double u, double tolerance)
{
    const double x = rb_dist_quantile(d, u);
    if (!(isfinite(x) && x >= 0))
        fail_msg("%s mean %g cv %g: quantile(%g) is %g", rb_dist_kind_name(d->kind), d->mean, d->cv, u, x);
    if (x < 1e-290)
        return; // the CDF of a subnormal number has no digits left
    const double error = fabs(rb_dist_cdf(d, x) - u) / fmin(u, 1 - u);
    if (!(error <= tolerance))
        fail_msg("%s mean %g cv %g: cdf(quantile(%.17g)) is off by %g", rb_dist_kind_name(d->kind), d->mean, d->cv, u,
                 error);
}

static void test_quantile_inverts_the_cdf(void **state)
{
    (void)state;
    for (size_t f = 0; f < N_OF(families); f++) {
        for (size_t c = 0; c < N_OF(cvs); c++) {
            const struct rb_dist d = make(families[f], 7.5, cvs[c]);
            for (int k = 1; k < 20; k++) {
                // A relative error of 1e-15 in x is one of 1e-15 / cv standard deviations.
                const double tolerance = 1e-9 + 1e-13 / d.cv;
                check_inverse(&d, ldexp(1, -k), tolerance);
                check_inverse(&d, 1 - ldexp(1, -k), tolerance);
                check_inverse(&d, k / 20.0, tolerance);
            }
        }
    }
}

static void test_quantile_is_finite_and_rises_over_all_uniforms(void **state)
{
    (void)state;
    for (size_t f = 0; f < N_OF(families); f++) {
        for (size_t c = 0; c < N_OF(cvs); c++) {
            const struct rb_dist d = make(families[f], RB_DIST_MAX_MEAN, cvs[c]);
            double previous = 0;
            for (int k = -54; k <= 54; k++) { // 2^-54, 2^-53, ..., 1/2, ..., 1 - 2^-53
                const double u = k < 0 ? ldexp(1, k) : k == 0 ? 0.5 : 1 - ldexp(1, -k - (k < 54) + 1);
                if (u >= 1)
                    continue;
                const double x = rb_dist_quantile(&d, u);
                assert_true(isfinite(x) && x >= previous && x < 9e12);
                previous = x;
            }
        }
    }
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Neighbouring uniforms 2^-40 apart, around random points: a quantile that is only piecewise right would fall
// back.
static void test_quantile_does_not_fall_between_neighbours(void **state)
{
    (void)state;
    struct rb_stream s = test_stream(1, 0);
    for (size_t f = 0; f < N_OF(families); f++) {
        for (size_t c = 0; c < N_OF(cvs); c++) {
            const struct rb_dist d = make(families[f], 1, cvs[c]);
            double us[200];
            for (size_t i = 0; i < N_OF(us); i += 2) {
                us[i] = rb_stream_uniform(&s);
                us[i + 1] = fmin(us[i] + 0x1p-40, 1 - 0x1p-53);
            }
            qsort(us, N_OF(us), sizeof us[0], compare_doubles);
            for (size_t i = 1; i < N_OF(us); i++) {
                const double low = rb_dist_quantile(&d, us[i - 1]), high = rb_dist_quantile(&d, us[i]);
                if (high < low * (1 - 1e-12)) // GSL's incomplete gamma function wavers in the 12th digit
                    fail_msg("%s cv %g: quantile(%.17g) = %.17g, quantile(%.17g) = %.17g", rb_dist_kind_name(d.kind),
                             d.cv, us[i - 1], low, us[i], high);
            }
        }
    }
}

// E[h(X)] = integral of h(quantile(Phi(z))) phi(z) dz by the trapezoidal rule, which converges exponentially
// here.
static void integrate_moments(const struct rb_dist *d, double *mean, double *variance)
{
    const double step = 1.0 / 64, edge = 8;
    double m1 = 0, m2 = 0, weight = 0;
    for (double z = -edge; z <= edge; z += step) {
        const double u = z < 0 ? erfc(-z / M_SQRT2) / 2 : 1 - erfc(z / M_SQRT2) / 2;
        const double w = exp(-z * z / 2), x = rb_dist_quantile(d, u);
        m1 += w * x;
        m2 += w * x * x;
        weight += w;
    }
    *mean = m1 / weight;
    *variance = m2 / weight - *mean * *mean;
}

static void test_moments_are_those_of_the_draws(void **state)
{
    (void)state;
    static const double moderate[] = {0.05, 0.3, 0.9}; // heavier tails reach beyond what 16 digits of u can show
    for (size_t f = 0; f < N_OF(families); f++) {
        for (size_t c = 0; c < N_OF(moderate); c++) {
            const struct rb_dist d = make(families[f], 12, moderate[c]);
            double mean, variance;
            integrate_moments(&d, &mean, &variance);
            assert_near(rb_dist_mean(&d), mean, 1e-6);
            assert_near(rb_dist_variance(&d), variance, 1e-4);
        }
    }
}

static void test_density_is_the_slope_of_the_cdf(void **state)
{
    (void)state;
    for (size_t f = 0; f < N_OF(families); f++) {
        for (double cv = 0.1; cv < 2; cv *= 2) {
            const struct rb_dist d = make(families[f], 3, cv);
            for (double u = 0.1; u < 0.95; u += 0.2) {
                const double x = rb_dist_quantile(&d, u), h = x * 1e-5;
                const double slope = (rb_dist_cdf(&d, x + h) - rb_dist_cdf(&d, x - h)) / (2 * h);
                assert_near(exp(rb_dist_log_density(&d, x)), slope, 1e-5);
            }
            assert_true(isinf(rb_dist_log_density(&d, -1)));
        }
    }
}

static void test_weibull_keeps_the_cv_it_was_given(void **state)
{
    (void)state;
    for (double cv = 1e-9; cv < 10; cv *= 3) {
        const struct rb_dist d = make(RB_DIST_WEIBULL, 1, cv);
        if (cv < 1e-3) // small cv: ln X is nearly a Gumbel variable with standard deviation pi / sqrt(6) / shape
            assert_near(M_PI / sqrt(6) / d.a, cv, 2 * cv + 1e-6);
        else
            assert_near(sqrt(tgamma(1 + 2 / d.a) / pow(tgamma(1 + 1 / d.a), 2) - 1), cv, 1e-8);
    }
}

static void test_no_spread_is_a_constant(void **state)
{
    (void)state;
    static const double no_spread[] = {0, 1e-300, 1e-13};
    for (size_t f = 0; f < N_OF(families); f++) {
        if (families[f] == RB_DIST_EXPONENTIAL)
            continue; // its cv is 1, whatever was asked
        for (size_t c = 0; c < N_OF(no_spread); c++) {
            const struct rb_dist d = make(families[f], 4.5, no_spread[c]);
            assert_true(rb_dist_quantile(&d, 0.001) >= 4.5 && rb_dist_quantile(&d, 0.999) <= 4.5);
            assert_near(rb_dist_mean(&d), 4.5, 0);
            assert_true(rb_dist_variance(&d) <= 0);
            assert_true(rb_dist_cdf(&d, 4.4) <= 0 && rb_dist_cdf(&d, 4.5) >= 1);
        }
    }
    const struct rb_dist never = make(RB_DIST_LOGNORMAL, 0, 0.5);
    assert_true(rb_dist_quantile(&never, 0.9) <= 0);
}

static void test_empirical_is_linear_between_order_statistics(void **state)
{
    (void)state;
    static const double values[] = {1, 2, 4, 4, 9};
    struct rb_dist d = {.kind = RB_DIST_EMPIRICAL, .values = values, .n_values = N_OF(values)};
    assert_true(rb_dist_prepare(&d, NULL));
    assert_near(rb_dist_quantile(&d, 0.125), 1.5, 1e-15);
    assert_near(rb_dist_quantile(&d, 0.25), 2, 1e-15);
    assert_near(rb_dist_quantile(&d, 0.375), 3, 1e-15);
    assert_near(rb_dist_quantile(&d, 0.625), 4, 1e-15);
    assert_near(rb_dist_quantile(&d, 0.875), 6.5, 1e-15);
    assert_near(rb_dist_cdf(&d, 1.5), 0.125, 1e-15);
    assert_near(rb_dist_cdf(&d, 4), 0.75, 1e-15);
    assert_near(rb_dist_cdf(&d, 6.5), 0.875, 1e-15);
    assert_true(rb_dist_cdf(&d, 0.9) <= 0 && rb_dist_cdf(&d, 9) >= 1);
    // Segments 1-2, 2-4, 4-4, 4-9, each a quarter: mean (1.5 + 3 + 4 + 6.5) / 4, second moment by (a^2 + ab +
    // b^2) / 3.
    const double mean = 15.0 / 4, second = (7.0 / 3 + 28.0 / 3 + 16 + 133.0 / 3) / 4;
    assert_near(rb_dist_mean(&d), mean, 1e-15);
    assert_near(rb_dist_variance(&d), second - mean * mean, 1e-13);
}

static void test_one_value_is_a_constant(void **state)
{
    (void)state;
    static const double value[] = {3};
    struct rb_dist d = {.kind = RB_DIST_EMPIRICAL, .values = value, .n_values = 1};
    assert_true(rb_dist_prepare(&d, NULL));
    assert_near(rb_dist_quantile(&d, 0.99), 3, 0);
    assert_true(rb_dist_variance(&d) <= 0);
}

static void test_a_draw_takes_exactly_one_uniform(void **state)
{
    (void)state;
    static const double values[] = {1, 2};
    struct rb_dist dists[] = {rb_dist_constant(5),
                              make(RB_DIST_NORMAL, 1, 2),
                              make(RB_DIST_GAMMA, 1, 2),
                              make(RB_DIST_WEIBULL, 1, 0),
                              {.kind = RB_DIST_EMPIRICAL, .values = values, .n_values = 2}};
    assert_true(rb_dist_prepare(&dists[4], NULL));
    for (size_t i = 0; i < N_OF(dists); i++) {
        struct rb_stream drawn = test_stream(2, 0), counted = test_stream(2, 0);
        const double u = rb_stream_uniform(&counted);
        assert_near(rb_dist_draw(&dists[i], &drawn), rb_dist_quantile(&dists[i], u), 0);
        assert_int_equal(rb_stream_u64(&drawn), rb_stream_u64(&counted));
    }
}

static void test_nonsense_is_refused_and_leaves_the_value_alone(void **state)
{
    (void)state;
    static const double unsorted[] = {2, 1}, negative[] = {-1, 1};
    struct rb_dist bad[] = {
        {.kind = RB_DIST_LOGNORMAL, .mean = -1, .cv = 1},
        {.kind = RB_DIST_LOGNORMAL, .mean = NAN, .cv = 1},
        {.kind = RB_DIST_GAMMA, .mean = 1, .cv = -0.1},
        {.kind = RB_DIST_GAMMA, .mean = 1, .cv = INFINITY},
        {.kind = RB_DIST_WEIBULL, .mean = 1, .cv = NAN},
        {.kind = RB_DIST_CONSTANT, .mean = INFINITY},
        {.kind = RB_DIST_EMPIRICAL},
        {.kind = RB_DIST_EMPIRICAL, .values = unsorted, .n_values = 2},
        {.kind = RB_DIST_EMPIRICAL, .values = negative, .n_values = 2},
    };
    for (size_t i = 0; i < N_OF(bad); i++) {
        struct rb_err err = {0};
        bad[i].a = 42;
        assert_false(rb_dist_prepare(&bad[i], &err));
        assert_int_equal(err.code, RB_ERR_INVALID);
        assert_near(bad[i].a, 42, 0);
    }
}

// --- files ---

static void test_forms_that_mean_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        enum rb_dist_kind kind;
        double mean, cv;
    } cases[] = {
        {"8", RB_DIST_CONSTANT, 8, 0},
        {"0.25", RB_DIST_CONSTANT, 0.25, 0},
        {"{distribution: constant, mean: 2}", RB_DIST_CONSTANT, 2, 0},
        {"{distribution: lognormal, mean: 8, cv: 0.3}", RB_DIST_LOGNORMAL, 8, 0.3},
        {"{distribution: lognormal, mu: 0, sigma: 0.83255461115769769}", RB_DIST_LOGNORMAL, M_SQRT2,
         1}, // sigma^2 = ln 2
        {"{distribution: gamma, shape: 4, scale: 0.5}", RB_DIST_GAMMA, 2, 0.5},
        {"{distribution: weibull, shape: 1, scale: 3}", RB_DIST_WEIBULL, 3, 1},
        {"{distribution: exponential, mean: 5}", RB_DIST_EXPONENTIAL, 5, 1},
        {"{distribution: exponential, rate: 0.2}", RB_DIST_EXPONENTIAL, 5, 1},
        {"{distribution: empirical, values: [3, 1]}", RB_DIST_EMPIRICAL, 2, 0.28867513459481287},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_doc doc = parse_yaml(cases[i].yaml);
        struct rb_arena arena;
        struct rb_dist d;
        struct rb_err err = {0};
        rb_arena_init(&arena);
        if (!rb_dist_read(doc.root, &arena, &d, &err))
            fail_msg("%s: %s", cases[i].yaml, err.message);
        assert_int_equal(d.kind, cases[i].kind);
        assert_near(d.mean, cases[i].mean, 1e-12);
        assert_near(d.cv, cases[i].cv, 1e-9);
        rb_arena_finish(&arena);
        rb_doc_finish(&doc);
    }
}

static void test_written_distributions_read_back(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"distribution\":\"constant\",\"mean\":2}",
        "{\"distribution\":\"normal\",\"mean\":0.1,\"cv\":3}",
        "{\"distribution\":\"lognormal\",\"mean\":8,\"cv\":0.30000000000000004}",
        "{\"distribution\":\"gamma\",\"mean\":1e-05,\"cv\":10}",
        "{\"distribution\":\"weibull\",\"mean\":60,\"cv\":0}",
        "{\"distribution\":\"exponential\",\"mean\":1000000}",
        "{\"distribution\":\"empirical\",\"values\":[0,0.5,0.5,7]}",
    };
    for (size_t i = 0; i < N_OF(texts); i++) {
        struct rb_doc doc = parse_json(texts[i]);
        struct rb_arena arena;
        struct rb_dist d;
        rb_arena_init(&arena);
        assert_true(rb_dist_read(doc.root, &arena, &d, NULL));
        struct rb_buf out = RB_BUF_INIT;
        struct rb_json j;
        rb_json_init(&j, &out, false);
        rb_dist_write(&d, &j);
        assert_string_equal(rb_buf_str(&out), texts[i]);
        rb_buf_finish(&out);
        rb_arena_finish(&arena);
        rb_doc_finish(&doc);
    }
}

static void test_errors_of_measured_means_are_read_where_they_are_carried(void **state)
{
    (void)state;
    static const char text[] = "{\"distribution\":\"lognormal\",\"mean\":8,\"cv\":0.3,\"relative_error\":0.05}";
    struct rb_doc doc = parse_json(text);
    struct rb_arena arena;
    struct rb_dist d;
    struct rb_err err = {0};
    rb_arena_init(&arena);
    assert_false(rb_dist_read(doc.root, &arena, &d, &err));
    assert_string_equal(err.key, "relative_error");
    assert_true(rb_dist_read_measured(doc.root, &arena, &d, &err));
    struct rb_buf out = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &out, false);
    rb_dist_write(&d, &j);
    assert_string_equal(rb_buf_str(&out), text);
    rb_buf_finish(&out);
    const struct rb_dist factor = rb_dist_error(d.relative_error), none = rb_dist_error(0);
    assert_near(rb_dist_mean(&factor), 1, 1e-12);
    assert_near(rb_dist_variance(&factor), 0.0025, 1e-9);
    assert_int_equal(none.kind, RB_DIST_CONSTANT);
    rb_arena_finish(&arena);
    rb_doc_finish(&doc);
}

static void test_bad_texts_name_the_key(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *key, *says;
    } cases[] = {
        {"-1", "", "expected a number in 0..1000000"},
        {"text", "", "expected a map"},
        {"{mean: 1}", "distribution", "required"},
        {"{distribution: log_normal, mean: 1, cv: 1}", "distribution", "did you mean \"lognormal\""},
        {"{distribution: lognormal, mean: 1}", "cv", "required"},
        {"{distribution: lognormal, mean: 1, sd: 1}", "sd", "unknown key"},
        {"{distribution: lognormal, mean: 1, mu: 0, sigma: 1}", "mean", "unknown key"},
        {"{distribution: lognormal, mean: -2, cv: 0.1}", "mean", "expected a number in 0..1000000"},
        {"{distribution: lognormal, mean: 1, cv: 11}", "cv", "expected a number in 0..10"},
        {"{distribution: lognormal, mu: 90, sigma: 1}", "", "expected a mean between"},
        {"{distribution: gamma, shape: 0, scale: 1}", "shape", "above 0"},
        {"{distribution: gamma, shape: 0.001, scale: 1}", "", "RB1312 expected a cv"},
        {"{distribution: constant, mean: 1, cv: 0.1}", "cv", "unknown key"},
        {"{distribution: exponential, rate: 0}", "rate", "above 0"},
        {"{distribution: empirical, values: []}", "values", "RB1123 expected 1.."},
        {"{distribution: empirical, values: 3}", "values", "expected a list"},
        {"{distribution: empirical, values: [1, -1]}", "values[1]", "expected a number"},
        {"{distribution: empirical, mean: 3, values: [1]}", "mean", "unknown key"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_doc doc = parse_yaml(cases[i].yaml);
        struct rb_arena arena;
        struct rb_dist d;
        struct rb_err err = {0};
        rb_arena_init(&arena);
        if (rb_dist_read(doc.root, &arena, &d, &err))
            fail_msg("%s was accepted", cases[i].yaml);
        assert_string_equal(err.key, cases[i].key);
        assert_int_equal(err.line, 1);
        assert_says(&err, cases[i].says);
        rb_arena_finish(&arena);
        rb_doc_finish(&doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles_are_those_of_the_textbook),
        cmocka_unit_test(test_moments_of_the_truncated_normal),
        cmocka_unit_test(test_quantile_inverts_the_cdf),
        cmocka_unit_test(test_quantile_is_finite_and_rises_over_all_uniforms),
        cmocka_unit_test(test_quantile_does_not_fall_between_neighbours),
        cmocka_unit_test(test_moments_are_those_of_the_draws),
        cmocka_unit_test(test_density_is_the_slope_of_the_cdf),
        cmocka_unit_test(test_weibull_keeps_the_cv_it_was_given),
        cmocka_unit_test(test_no_spread_is_a_constant),
        cmocka_unit_test(test_empirical_is_linear_between_order_statistics),
        cmocka_unit_test(test_one_value_is_a_constant),
        cmocka_unit_test(test_a_draw_takes_exactly_one_uniform),
        cmocka_unit_test(test_nonsense_is_refused_and_leaves_the_value_alone),
        cmocka_unit_test(test_forms_that_mean_the_same),
        cmocka_unit_test(test_written_distributions_read_back),
        cmocka_unit_test(test_errors_of_measured_means_are_read_where_they_are_carried),
        cmocka_unit_test(test_bad_texts_name_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
