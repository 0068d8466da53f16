// The expected best of a search, against what is known in closed form: order statistics of the normal distribution.
#include "planner/quality/best.h"
#include "planner/quality/drawn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DRAWS 20000

// E[max of n], Harter (1961).
static const struct {
    int n;
    double expected;
} maxima[] = {{1, 0}, {2, 0.56419}, {3, 0.84628}, {5, 1.16296}, {10, 1.53875}, {100, 2.50759}};

static struct rb_quality_law law_of(double rho_1, double rho_2)
{
    return (struct rb_quality_law){.source = "a test", .share = {0.1, 0.3, 1}, .rho = {rho_1, rho_2, 1}, .n = 3};
}

// Rungs at 10 %, 30 % and all of R; 0: not there.
static struct rb_search_shape shape_of(int n_1, int n_2, int n_3)
{
    static const double shares[] = {0.1, 0.3, 1};
    const int trials[] = {n_1, n_2, n_3};
    struct rb_search_shape shape = {.n = 1};
    for (int i = 0; i < 3; i++)
        if (trials[i] > 0)
            shape.brackets[0].rungs[shape.brackets[0].n++] = (struct rb_shape_rung){trials[i], shares[i]};
    return shape;
}

static double expected_by(int draws, const struct rb_quality_law *law, int n_1, int n_2, int n_3)
{
    const struct rb_search_shape shape = shape_of(n_1, n_2, n_3);
    struct rb_best best;
    rb_best_expect(law, &shape, 7, draws, &best);
    assert_true(best.z.low <= best.z.median && best.z.median <= best.z.high);
    return best.z.mean;
}

static double expected(const struct rb_quality_law *law, int n_1, int n_2, int n_3)
{
    return expected_by(DRAWS, law, n_1, n_2, n_3);
}

static void one_rung_is_the_maximum_of_n(void **state)
{
    const struct rb_quality_law law = law_of(0.5, 0.8);
    (void)state;
    for (size_t i = 0; i < sizeof maxima / sizeof maxima[0]; i++)
        assert_float_equal(expected(&law, 0, 0, maxima[i].n), maxima[i].expected, 0.03);
}

static void perfect_rungs_lose_nothing(void **state)
{
    const struct rb_quality_law law = law_of(1, 1);
    (void)state;
    assert_true(expected(&law, 27, 9, 3) == expected(&law, 0, 0, 27)); // the same draws
    assert_true(expected(&law, 10, 2, 1) == expected(&law, 0, 0, 10));
}

static void rungs_that_say_nothing_choose_at_random(void **state)
{
    const struct rb_quality_law law = law_of(0, 0);
    (void)state;
    assert_float_equal(expected(&law, 90, 30, 10), 1.53875, 0.03);
    assert_float_equal(expected(&law, 90, 0, 1), 0, 0.03);
}

// The one with the best y of n: E[z] = rho E[max of n].
static void one_survivor_has_rho_times_the_maximum(void **state)
{
    (void)state;
    for (int i = 1; i < 10; i += 4) {
        const struct rb_quality_law law = law_of(0.1 * i, 0.1 * i + 0.05);
        assert_float_equal(expected(&law, 100, 0, 1), 0.1 * i * 2.50759, 0.03);
        assert_float_equal(expected(&law, 100, 1, 1), 0.1 * i * 2.50759, 0.03); // the rung between decides nothing
        assert_float_equal(expected(&law, 0, 100, 1), (0.1 * i + 0.05) * 2.50759, 0.03);
    }
}

static void more_of_anything_is_no_worse(void **state)
{
    const struct rb_quality_law law = law_of(0.7, 0.9), better = law_of(0.8, 0.9);
    double before = -INFINITY;
    (void)state;
    for (int n = 1; n <= 64; n++) { // the same trials and one more: in every single draw
        const double now = expected_by(500, &law, 0, 0, n);
        assert_true(now >= before);
        before = now;
    }
    for (int n = 9; n <= 243; n *= 3)
        assert_true(expected(&law, 3 * n, n, n / 3) > expected(&law, n, n / 3, n / 9));
    assert_true(expected(&better, 81, 27, 9) > expected(&law, 81, 27, 9));
}

// ---- correlations

struct moments {
    double y[3][DRAWS], z[DRAWS];
    int n, rung;
};

static void note(void *ctx, int bracket, int rung, const struct rb_drawn_trial *trials, int n)
{
    struct moments *m = ctx;
    (void)bracket;
    for (int i = 0; i < n; i++) {
        assert_int_equal(trials[i].trial, i); // by number
        m->y[rung][m->n + i] = trials[i].y;
        m->z[m->n + i] = trials[i].z;
    }
}

static double correlation(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < DRAWS; i++)
        sum += a[i] * b[i];
    return sum / DRAWS; // both have mean 0 and variance 1
}

static void scores_are_normal_and_correlate_as_the_law_says(void **state)
{
    static struct moments m;
    const struct rb_quality_law law = law_of(0.6, 0.9);
    const struct rb_search_shape shape = shape_of(10, 10, 10); // no one is left behind
    struct rb_drawn d;
    (void)state;
    rb_drawn_init(&d, &law, &shape, 3);
    for (uint32_t k = 0; k < DRAWS / 10; k++, m.n += 10)
        rb_drawn_play(&d, k, note, &m);
    rb_drawn_finish(&d);
    for (int i = 0; i < 3; i++)
        assert_float_equal(correlation(m.y[i], m.y[i]), 1, 0.04);
    assert_float_equal(correlation(m.y[0], m.z), 0.6, 0.03);
    assert_float_equal(correlation(m.y[1], m.z), 0.9, 0.03);
    assert_float_equal(correlation(m.y[0], m.y[1]), 0.6 / 0.9, 0.03);
    assert_memory_equal(m.y[2], m.z, sizeof m.z);
}

static void correlations_lie_between_the_known_ones(void **state)
{
    struct rb_quality_law law;
    (void)state;
    rb_quality_law_prior(&law);
    assert_float_equal(rb_quality_correlation(&law, 0.04), 0.75, 1e-12);
    assert_float_equal(rb_quality_correlation(&law, sqrt(0.04 * 0.12)), 0.80, 1e-12);
    assert_float_equal(rb_quality_correlation(&law, 0.02), 0.375, 1e-12);
    assert_float_equal(rb_quality_correlation(&law, 1), 1, 1e-12);
    assert_true(isnan(rb_quality_metric(&law, 1, 0)));
}

// ---- shapes

static void tuners_have_the_shapes_of_their_rungs(void **state)
{
    static const struct {
        struct rb_scheduler scheduler;
        int n_brackets, first[4], last[4], n_rungs[4];
    } cases[] = {
        {{.type = "sha", .num_trials = 64, .min_resource = 1, .max_resource = 50, .eta = 3, .brackets = 1},
         1, {64}, {2}, {4}},
        {{.type = "asha", .num_trials = 20, .min_resource = 1, .max_resource = 81, .eta = 3, .brackets = 1},
         1, {20}, {1}, {5}},
        {{.type = "random", .num_trials = 8, .min_resource = 1, .max_resource = 9, .eta = 3, .brackets = 1},
         1, {8}, {8}, {1}},
        {{.type = "hyperband", .min_resource = 1, .max_resource = 9, .eta = 3, .brackets = 3},
         3, {9, 5, 3}, {1, 1, 3}, {3, 2, 1}},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        static struct rb_search_shape shape;
        const struct rb_job job = {.scheduler = cases[c].scheduler};
        struct rb_err err = {0};
        assert_true(rb_search_shape_of(&job, &shape, &err));
        assert_int_equal(shape.n, cases[c].n_brackets);
        for (int b = 0; b < shape.n; b++) {
            const struct rb_shape_bracket *bracket = &shape.brackets[b];
            assert_int_equal(bracket->n, cases[c].n_rungs[b]);
            assert_int_equal(bracket->rungs[0].trials, cases[c].first[b]);
            assert_int_equal(bracket->rungs[bracket->n - 1].trials, cases[c].last[b]);
            assert_true(bracket->rungs[bracket->n - 1].share == 1);
        }
        rb_search_shape_scale(&shape, 2);
        assert_int_equal(shape.brackets[0].rungs[0].trials, 2 * cases[c].first[0]);
    }
}

static void a_grid_has_no_shape(void **state)
{
    static struct rb_search_shape shape;
    const struct rb_job job = {.scheduler = {.type = "grid"}};
    struct rb_err err = {0};
    (void)state;
    assert_false(rb_search_shape_of(&job, &shape, &err));
    assert_non_null(strstr(err.message, "asha, hyperband, random and sha"));
}

// ---- tables

static const char family[] = "family: toy\nmetric: {name: loss, goal: minimize}\nmax_resource: 2\n"
                             "parameters: {x: {min: 0.0, max: 1.0}}\n";

// Losses i/100 at the end; in the middle in the same order, in the reverse one, or in none.
static void make_table(int order, struct rb_arena *arena, struct rb_blackbox *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_err err = {0};
    rb_buf_puts(&text, "p.x,1,2\n");
    for (int i = 1; i <= 100; i++)
        rb_buf_printf(&text, "%.2f,%.2f,%.2f\n", i / 100.0, order * i / 100.0 + 10, i / 100.0);
    if (!rb_blackbox_parse("toy.yaml", family, strlen(family), "dir/toy_a.csv.gz", rb_buf_str(&text), text.len, arena, out,
                           &err))
        fail_msg("%s", err.message);
}

static void a_table_gives_correlations_and_metrics(void **state)
{
    static struct rb_quality_law law;
    const struct rb_job job = {.metric_name = "loss", .goal = RB_GOAL_MINIMIZE};
    struct rb_arena arena = {0};
    struct rb_err err = {0};
    (void)state;
    for (int order = -1; order <= 1; order++) {
        struct rb_blackbox table = {0};
        make_table(order, &arena, &table);
        assert_true(rb_quality_law_of_table(&table, &job, &arena, &law, &err));
        assert_string_equal(law.source, "the table toy_a");
        assert_int_equal(law.n, 2);
        assert_float_equal(rb_quality_correlation(&law, 0.5), order == 1 ? 1 : 0, 1e-9);
        rb_blackbox_finish(&table);
    }
    assert_float_equal(rb_quality_metric(&law, 0, 0), 0.505, 1e-9); // the median of .01 to 1.00
    assert_float_equal(rb_quality_metric(&law, 9, 0), 0.01, 1e-12); // no better than the best known
    assert_float_equal(rb_quality_metric(&law, -9, 0), 1, 1e-12);
    for (double z = -2; z <= 2; z += 0.5)
        assert_float_equal(rb_quality_score_of(&law, 1, rb_quality_metric(&law, z, 0)), z, 1e-6);
    assert_true(isinf(rb_quality_score_of(&law, 1, 0.005)) && rb_quality_score_of(&law, 1, 0.005) > 0);
    assert_true(isinf(rb_quality_score_of(&law, 0.5, 1))); // all are above 10 there
    rb_arena_finish(&arena);
}

static void a_table_of_another_metric_is_refused(void **state)
{
    static struct rb_quality_law law;
    const struct rb_job job = {.metric_name = "accuracy", .goal = RB_GOAL_MAXIMIZE};
    struct rb_arena arena = {0};
    struct rb_blackbox table = {0};
    struct rb_err err = {0};
    (void)state;
    make_table(1, &arena, &table);
    assert_false(rb_quality_law_of_table(&table, &job, &arena, &law, &err));
    assert_non_null(strstr(err.message, "its metric is loss (minimize), the job's is accuracy (maximize)"));
    rb_blackbox_finish(&table);
    rb_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rung_is_the_maximum_of_n),
        cmocka_unit_test(perfect_rungs_lose_nothing),
        cmocka_unit_test(rungs_that_say_nothing_choose_at_random),
        cmocka_unit_test(one_survivor_has_rho_times_the_maximum),
        cmocka_unit_test(more_of_anything_is_no_worse),
        cmocka_unit_test(scores_are_normal_and_correlate_as_the_law_says),
        cmocka_unit_test(correlations_lie_between_the_known_ones),
        cmocka_unit_test(tuners_have_the_shapes_of_their_rungs),
        cmocka_unit_test(a_grid_has_no_shape),
        cmocka_unit_test(a_table_gives_correlations_and_metrics),
        cmocka_unit_test(a_table_of_another_metric_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
