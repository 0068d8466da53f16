// Importance of parameters: shares of variance that are known in closed form, and silence where nothing can be known.
#include "toy.h"

#include "samplers/importance.h"

#include <math.h>

typedef double score_fn(const double *u, double noise); // noise: uniform in (0, 1)

static const char three[] = "  a: {min: 0.0, max: 1.0}\n"
                            "  b: {distribution: log_uniform, min: 1.0e-4, max: 1.0}\n"
                            "  c: {values: [x, y, z, w]}\n";

// Random configurations 0 .. n - 1 with this score at level `resource`.
static void fill(struct toy *t, score_fn *score, int64_t resource, int n)
{
    struct rb_value values[8];
    double u[8];
    for (int i = 0; i < n; i++) {
        struct rb_stream s;
        rb_stream_init(&s, &(struct rb_stream_key){.seed = 9, .purpose = RB_DRAW_SEARCH, .index = (uint32_t)i});
        rb_space_sample(&t->job.space, t->job.seed, (uint32_t)i, values);
        rb_coordinates_of(rb_search_coordinates(t->search), values, u);
        rb_search_began(t->search, i, values, 1);
        rb_search_reported(t->search, i, resource, score(u, rb_stream_uniform(&s)), 1);
    }
}

static struct rb_importance importance_of(struct toy *t, uint64_t seed)
{
    struct rb_importance im;
    rb_importance_of(rb_search_coordinates(t->search), rb_search_history(t->search), seed, &t->arena, &im);
    return im;
}

static void assert_within(double value, double expected, double by)
{
    if (!(fabs(value - expected) <= by))
        fail_msg("expected %g within %g, got %g", expected, by, value);
}

static double only_b(const double *u, double noise)
{
    (void)noise;
    return -(u[1] - 0.3) * (u[1] - 0.3);
}

static double additive(const double *u, double noise)
{
    (void)noise;
    return sqrt(2) * u[0] + u[1];
}

static double product(const double *u, double noise)
{
    (void)noise;
    return (u[0] - 0.5) * (u[1] - 0.5);
}

// Of cells at 1/8, 3/8, ...: x and z are better than y and w.
static double choice(const double *u, double noise)
{
    (void)noise;
    return (u[2] < 0.25 || (u[2] > 0.5 && u[2] < 0.75));
}

static double nothing(const double *u, double noise)
{
    (void)u;
    return noise;
}

static double diverges(const double *u, double noise)
{
    (void)noise;
    return u[0] > 0.6 ? -INFINITY : u[0] > 0.3 ? -1e30 : u[0];
}

static void one_of_three_explains_everything(void **state)
{
    (void)state;
    struct toy t;
    toy_open(&t, three, "random", 1);
    fill(&t, only_b, 1, 200);
    const struct rb_importance im = importance_of(&t, 1);
    assert_int_equal(im.state, RB_IMPORTANCE_KNOWN);
    assert_int_equal(im.n_results, 200);
    assert_true(im.r2 > 0.9);
    assert_within(im.share[1], 1, 0.03);
    assert_within(im.share[0] + im.share[2] + im.together, 0, 0.03);
    toy_close(&t);
}

static void shares_of_a_sum_are_its_variances(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct toy t;
        toy_open(&t, three, "random", seed);
        fill(&t, additive, 1, 300);
        const struct rb_importance im = importance_of(&t, seed);
        assert_int_equal(im.state, RB_IMPORTANCE_KNOWN);
        assert_within(im.share[0] / im.share[1], 2, 0.5);
        assert_within(im.share[0], 2 / 3.0, 4 * im.sd[0]);
        assert_true(im.sd[0] > 0 && im.sd[0] < 0.2);
        assert_true(im.share[2] < 0.02 && im.together < 0.1);
        toy_close(&t);
    }
}

static void what_two_explain_together_belongs_to_neither(void **state)
{
    (void)state;
    struct toy t;
    toy_open(&t, three, "random", 1);
    fill(&t, product, 1, 400);
    const struct rb_importance im = importance_of(&t, 1);
    assert_int_equal(im.state, RB_IMPORTANCE_KNOWN);
    assert_true(im.together > 0.6);
    assert_within(im.share[0] + im.share[1] + im.share[2] + im.together, 1, 1e-9);
    toy_close(&t);
}

static void categories_have_no_order(void **state)
{
    (void)state;
    struct toy t;
    toy_open(&t, three, "random", 1);
    fill(&t, choice, 1, 100);
    const struct rb_importance im = importance_of(&t, 1);
    assert_int_equal(im.state, RB_IMPORTANCE_KNOWN);
    assert_within(im.share[2], 1, 0.02);
    toy_close(&t);
}

// Under [x] alone `d` counts, and for all of it there; over the space it applies to one configuration in four.
static double conditional(const double *u, double noise)
{
    (void)noise;
    return isnan(u[1]) ? 0 : u[1] - 0.5;
}

static void what_does_not_apply_explains_nothing_there(void **state)
{
    (void)state;
    static const char parameters[] = "  kind: {values: [x, y, z, w]}\n"
                                     "  d: {min: 0.0, max: 1.0, if: {kind: [x]}}\n"
                                     "  e: {min: 0.0, max: 1.0, if: {kind: [y, z, w]}}\n";
    struct toy t;
    toy_open(&t, parameters, "random", 1);
    fill(&t, conditional, 1, 400);
    const struct rb_importance im = importance_of(&t, 1);
    assert_int_equal(im.state, RB_IMPORTANCE_KNOWN);
    // In closed form: d alone 1/4, with its parent 3/4.
    assert_within(im.share[1], 0.25, 0.12);
    assert_within(im.together, 0.75, 0.15);
    assert_true(im.share[0] < 0.05 && im.share[2] < 0.05);
    toy_close(&t);
}

static void failures_are_worst_and_scales_do_not_matter(void **state)
{
    (void)state;
    struct toy t;
    toy_open(&t, three, "random", 1);
    fill(&t, diverges, 1, 100);
    const struct rb_importance im = importance_of(&t, 1);
    assert_int_equal(im.state, RB_IMPORTANCE_KNOWN);
    assert_true(im.share[0] > 0.9);
    toy_close(&t);
}

// No numbers where there is nothing to learn: in at least 97 of 100 runs of pure noise, of every size.
static void noise_has_no_numbers(void **state)
{
    (void)state;
    static const int sizes[] = {16, 30, 60, 200};
    int n_known = 0, n_all = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t seed = 0; seed < 50; seed++) {
            struct toy t;
            toy_open(&t, three, "random", seed);
            fill(&t, nothing, 1, sizes[i]);
            for (int k = 0; k < sizes[i] / 2; k++) // and others for half of them
                rb_search_reported(t.search, k, 3, rb_search_history(t.search)->trials[(k + 7) % (sizes[i] / 2)].u[0], 1);
            const struct rb_importance im = importance_of(&t, seed);
            n_known += im.state == RB_IMPORTANCE_KNOWN;
            n_all++;
            assert_true(im.state == RB_IMPORTANCE_KNOWN || (im.state == RB_IMPORTANCE_UNSEEN && !im.share));
            toy_close(&t);
        }
    assert_true(n_known <= n_all * 3 / 100);
}

static void few_results_have_no_numbers(void **state)
{
    (void)state;
    struct toy t;
    toy_open(&t, three, "random", 1);
    struct rb_importance im = importance_of(&t, 1);
    assert_int_equal(im.state, RB_IMPORTANCE_FEW);
    assert_int_equal(im.level, -1);
    fill(&t, only_b, 1, RB_IMPORTANCE_LEAST - 1);
    im = importance_of(&t, 1);
    assert_int_equal(im.state, RB_IMPORTANCE_FEW);
    assert_int_equal(im.n_results, RB_IMPORTANCE_LEAST - 1);
    assert_null(im.share);
    assert_true(isnan(im.r2));
    toy_close(&t);
}

// At level 0 `b` explains all of 80, at level 1 `a` all of 40 of them; at level 2 there are few. Once there are enough
// whose scores depend on nothing, level 1 it still is.
static void the_level_is_the_highest_that_informs(void **state)
{
    (void)state;
    struct toy t;
    toy_open(&t, three, "random", 1);
    fill(&t, only_b, 1, 80);
    const struct rb_history *h = rb_search_history(t.search);
    for (int i = 0; i < 40; i++)
        rb_search_reported(t.search, i, 3, h->trials[i].u[0], 1);
    for (int n = 5; n <= 30; n += 25) {
        for (int i = 0; i < n; i++)
            rb_search_reported(t.search, i, 9, i * 7 % 30, 1);
        const struct rb_importance im = importance_of(&t, 1);
        assert_int_equal(im.level, 1);
        assert_int_equal(im.n_results, 40);
        assert_int_equal(im.state, RB_IMPORTANCE_KNOWN);
        assert_true(im.share[0] > 0.95);
    }
    toy_close(&t);
}

static void the_same_seed_gives_the_same_numbers(void **state)
{
    (void)state;
    struct toy t;
    toy_open(&t, toy_parameters, "random", 1);
    for (int i = 0; i < 700; i++) { // more than are used
        struct rb_value values[4];
        rb_space_sample(&t.job.space, 5, (uint32_t)i, values);
        toy_train(&t, i, values);
    }
    const struct rb_importance a = importance_of(&t, 3), b = importance_of(&t, 3), c = importance_of(&t, 4);
    assert_int_equal(a.n_results, 700);
    assert_memory_equal(a.share, b.share, 4 * sizeof *a.share);
    assert_memory_not_equal(a.share, c.share, 4 * sizeof *a.share);
    toy_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_three_explains_everything),
        cmocka_unit_test(shares_of_a_sum_are_its_variances),
        cmocka_unit_test(what_two_explain_together_belongs_to_neither),
        cmocka_unit_test(categories_have_no_order),
        cmocka_unit_test(what_does_not_apply_explains_nothing_there),
        cmocka_unit_test(failures_are_worst_and_scales_do_not_matter),
        cmocka_unit_test(noise_has_no_numbers),
        cmocka_unit_test(few_results_have_no_numbers),
        cmocka_unit_test(the_level_is_the_highest_that_informs),
        cmocka_unit_test(the_same_seed_gives_the_same_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
