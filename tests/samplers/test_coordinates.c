// The space as a cube: every kind of parameter goes to a point and back, conditions decide what applies, and a
// uniform point has the declared distribution.
#include "toy.h"

static const char every_kind[] = "  fixed: 3\n"
                                 "  uniform: {min: -1.0, max: 2.0}\n"
                                 "  log: {distribution: log_uniform, min: 1.0e-6, max: 10.0}\n"
                                 "  int: {min: -3, max: 5}\n"
                                 "  huge: {min: 0, max: 1000000}\n"
                                 "  steps: {distribution: q_uniform, min: 0.1, max: 0.95, q: 0.1}\n"
                                 "  normal: {distribution: normal, mu: 3.0, sigma: 0.5}\n"
                                 "  log_normal: {distribution: log_normal, mu: -2.0, sigma: 1.0}\n"
                                 "  choice: {values: [4, x, 2.5, true]}\n"
                                 "  often: {values: [a, b, c], probabilities: [0.7, 0.0, 0.3]}\n"
                                 "  flag: {flag: true}\n";

static void every_kind_goes_to_a_point_and_back(void **state)
{
    (void)state;
    struct toy t;
    toy_open(&t, every_kind, "random", 1);
    const struct rb_coordinates *c = rb_search_coordinates(t.search);
    struct rb_value drawn[16], back[16];
    double u[16], again[16];
    assert_int_equal(c->n, 10);
    for (uint32_t trial = 0; trial < 300; trial++) {
        rb_space_sample(&t.job.space, 5, trial, drawn);
        assert_true(rb_coordinates_of(c, drawn, u));
        rb_coordinates_values(c, u, back);
        for (int i = 0; i < t.job.space.n_params; i++)
            if (drawn[i].kind == RB_VALUE_FLOAT)
                assert_near(back[i].number, drawn[i].number, 1e-9);
            else
                assert_true(rb_value_equal(&drawn[i], &back[i]));
        assert_true(rb_coordinates_of(c, back, again));
        for (int i = 0; i < c->n; i++)
            assert_true(fabs(again[i] - u[i]) < 1e-9 && u[i] >= 0 && u[i] <= 1);
    }
    toy_close(&t);
}

static void a_uniform_point_has_the_declared_distribution(void **state)
{
    (void)state;
    struct toy t;
    toy_open(&t, every_kind, "random", 1);
    const struct rb_coordinates *c = rb_search_coordinates(t.search);
    struct rb_stream s = test_stream(1, 0);
    double u[16], sum_normal = 0;
    int n_low = 0, n_a = 0, n = 4000;
    for (int k = 0; k < n; k++) {
        struct rb_value v[16];
        for (int i = 0; i < c->n; i++)
            u[i] = rb_stream_uniform(&s);
        rb_coordinates_values(c, u, v);
        n_low += v[3].integer == -3;
        n_a += v[9].string[0] == 'a';
        assert_true(v[9].string[0] != 'b'); // probability 0
        sum_normal += v[6].number;
    }
    assert_true(fabs(n_low / (double)n - 1 / 9.0) < 0.02);
    assert_true(fabs(n_a / (double)n - 0.7) < 0.03);
    assert_true(fabs(sum_normal / n - 3) < 0.03);
    toy_close(&t);
}

static void values_outside_count_as_the_nearest(void **state)
{
    (void)state;
    struct toy t;
    toy_open(&t, "  a: {min: 0.0, max: 1.0}\n  b: {min: 1, max: 4}\n  c: {values: [x, y]}\n", "random", 1);
    const struct rb_coordinates *c = rb_search_coordinates(t.search);
    const struct rb_value values[] = {{.kind = RB_VALUE_FLOAT, .number = 3},
                                      {.kind = RB_VALUE_INT, .integer = 9, .number = 9},
                                      {.kind = RB_VALUE_STRING, .string = "z"}};
    double u[3];
    assert_false(rb_coordinates_of(c, values, u));
    assert_true(u[0] == 1 && u[1] == 3.5 / 4 && u[2] == 0.25);
    toy_close(&t);
}

static void conditions_decide_what_applies(void **state)
{
    (void)state;
    struct toy t;
    toy_open(&t,
             "  booster: {values: [linear, tree, dart]}\n"
             "  eta: {min: 0.0, max: 1.0, if: {booster: [tree, dart]}}\n"
             "  drop: {values: [yes, no], if: {booster: [dart]}}\n"
             "  rate: {min: 0.0, max: 1.0, if: {drop: [yes]}}\n"
             "  depth: {min: 1, max: 9, if: {booster: [tree, dart]}}\n",
             "random", 1);
    const struct rb_coordinates *c = rb_search_coordinates(t.search);
    static const struct {
        double booster, drop;
        bool eta, has_drop, rate;
    } cases[] = {{0.1, 0.2, false, false, false},
                 {0.5, 0.2, true, false, false},
                 {0.9, 0.7, true, true, false},
                 {0.9, 0.2, true, true, true}};
    assert_int_equal(c->n_groups, 4);
    assert_int_equal(c->items[1].group, c->items[4].group);
    for (size_t i = 0; i < N_OF(cases); i++) {
        double u[5] = {cases[i].booster, 0.3, cases[i].drop, 0.4, 0.5};
        struct rb_value v[5];
        rb_coordinates_values(c, u, v);
        assert_int_equal(v[1].kind != RB_VALUE_ABSENT, cases[i].eta);
        assert_int_equal(v[2].kind != RB_VALUE_ABSENT, cases[i].has_drop);
        assert_int_equal(v[3].kind != RB_VALUE_ABSENT, cases[i].rate);
        rb_coordinates_settle(c, u);
        for (int k = 0; k < c->n; k++)
            assert_int_equal(!isnan(u[k]), v[k].kind != RB_VALUE_ABSENT);
        double again[5];
        assert_true(rb_coordinates_of(c, v, again));
        for (int k = 0; k < c->n; k++)
            assert_true(isnan(u[k]) ? isnan(again[k]) : fabs(u[k] - again[k]) < 1e-12);
    }
    toy_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_goes_to_a_point_and_back),
        cmocka_unit_test(a_uniform_point_has_the_declared_distribution),
        cmocka_unit_test(values_outside_count_as_the_nearest),
        cmocka_unit_test(conditions_decide_what_applies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
