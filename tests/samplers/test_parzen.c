// The Parzen estimator: its densities integrate and sum to 1, draws have them, weights and widths are as written
// down.
#include "toy.h"

#include "samplers/model/normal.h"
#include "samplers/model/parzen.h"

static void random_points(struct rb_stream *s, const struct rb_coordinates *c, struct rb_arena *arena, int n,
                          const double ***out)
{
    const double **points = rb_arena_array(arena, (size_t)n, sizeof *points);
    for (int i = 0; i < n; i++) {
        double *u = rb_arena_array(arena, (size_t)c->n, sizeof *u);
        for (int j = 0; j < c->n; j++)
            u[j] = pow(rb_stream_uniform(s), 2); // not uniform
        rb_coordinates_settle(c, u);
        points[i] = u;
    }
    *out = points;
}

// One continuous coordinate by a fine grid, times all cells of a whole number and of a choice.
static double total_mass(struct rb_parzen *p, const struct rb_coordinates *c)
{
    const int steps = 4000;
    double sum = 0, u[3];
    for (int a = 0; a < c->items[1].n_cells; a++)
        for (int b = 0; b < c->items[2].n_cells; b++)
            for (int i = 0; i < steps; i++) {
                u[0] = (i + 0.5) / steps;
                u[1] = rb_coordinates_middle(c, 1, a);
                u[2] = rb_coordinates_middle(c, 2, b);
                sum += exp(rb_parzen_log_density(p, u)) / steps;
                if (i % 500 == 499)
                    rb_arena_reset(p->arena);
            }
    return sum;
}

static void densities_integrate_and_sum_to_1(void **state)
{
    (void)state;
    struct toy t;
    struct rb_arena arena, scratch;
    toy_open(
        &t,
        "  x: {min: 0.0, max: 1.0}\n  n: {min: 1, max: 5}\n  c: {values: [a, b, c], probabilities: [0.5, 0.2, 0.3]}\n",
        "random", 1);
    const struct rb_coordinates *c = rb_search_coordinates(t.search);
    const int dims[] = {0, 1, 2}, sizes[] = {0, 1, 2, 7, 60};
    rb_arena_init(&arena);
    rb_arena_init(&scratch);
    for (size_t i = 0; i < N_OF(sizes); i++) {
        struct rb_stream s = test_stream(2, (uint32_t)i);
        const double **points;
        struct rb_parzen p;
        random_points(&s, c, &arena, sizes[i], &points);
        rb_parzen_init(&p, c, dims, 3, points, NULL, sizes[i], &arena);
        double u[3] = {0.5, 0.5, 0.5};
        for (int a = 0; a < 5; a++) // every cell's masses are computed before scratch is emptied
            for (int b = 0; b < 3; b++) {
                u[1] = rb_coordinates_middle(c, 1, a);
                u[2] = rb_coordinates_middle(c, 2, b);
                rb_parzen_log_density(&p, u);
            }
        p.arena = &scratch;
        assert_near(total_mass(&p, c), 1, 1e-4);
    }
    rb_arena_finish(&arena);
    rb_arena_finish(&scratch);
    toy_close(&t);
}

static void many_whole_numbers_sum_to_1(void **state)
{
    (void)state;
    struct toy t;
    struct rb_arena arena;
    toy_open(&t, "  n: {min: 1, max: 500}\n", "random", 1);
    const struct rb_coordinates *c = rb_search_coordinates(t.search);
    const int dims[] = {0};
    const double **points;
    struct rb_stream s = test_stream(3, 0);
    struct rb_parzen p;
    double sum = 0;
    rb_arena_init(&arena);
    random_points(&s, c, &arena, 30, &points);
    rb_parzen_init(&p, c, dims, 1, points, NULL, 30, &arena);
    for (int i = 0; i < 500; i++) {
        const double u = rb_coordinates_middle(c, 0, i);
        sum += exp(rb_parzen_log_density(&p, &u));
    }
    assert_near(sum, 1, 1e-3);
    rb_arena_finish(&arena);
    toy_close(&t);
}

static void draws_have_the_density(void **state)
{
    (void)state;
    struct toy t;
    struct rb_arena arena;
    toy_open(&t, "  x: {min: 0.0, max: 1.0}\n  n: {min: 1, max: 4}\n  c: {values: [a, b, c]}\n", "random", 1);
    const struct rb_coordinates *c = rb_search_coordinates(t.search);
    const int dims[] = {0, 1, 2}, n = 20000;
    const double **points;
    struct rb_stream s = test_stream(4, 0);
    struct rb_parzen p;
    double found[4][3] = {{0}}, expected[4][3] = {{0}}, u[3];
    rb_arena_init(&arena);
    random_points(&s, c, &arena, 5, &points);
    rb_parzen_init(&p, c, dims, 3, points, NULL, 5, &arena);
    for (int i = 0; i < n; i++) {
        rb_parzen_draw(&p, &s, u);
        found[rb_coordinates_cell(c, 1, u[1])][rb_coordinates_cell(c, 2, u[2])] += u[0] < 0.3 ? 1.0 / n : 0;
    }
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 3; b++) {
            for (int i = 0; i < 300; i++) {
                u[0] = (i + 0.5) / 1000;
                u[1] = rb_coordinates_middle(c, 1, a);
                u[2] = rb_coordinates_middle(c, 2, b);
                expected[a][b] += exp(rb_parzen_log_density(&p, u)) / 1000;
            }
            assert_true(fabs(found[a][b] - expected[a][b]) < 4 * sqrt(expected[a][b] / n) + 1e-3);
        }
    rb_arena_finish(&arena);
    toy_close(&t);
}

// Two points: gaps .2 | .5 | .3, so both have the inner gap .5, clipped to nothing; the prior weighs a third.
static void a_density_by_hand(void **state)
{
    (void)state;
    struct toy t;
    struct rb_arena arena;
    toy_open(&t, "  x: {min: 0.0, max: 1.0}\n", "random", 1);
    const double a = 0.2, b = 0.7, at = 0.4;
    const double *points[] = {&a, &b};
    const int dims[] = {0};
    struct rb_parzen p;
    double expected = 0;
    rb_arena_init(&arena);
    rb_parzen_init(&p, rb_search_coordinates(t.search), dims, 1, points, NULL, 2, &arena);
    static const double mu[] = {0.2, 0.7, 0.5}, sd[] = {0.5, 0.5, 1};
    for (int i = 0; i < 3; i++) {
        const double mass = rb_normal_cdf((1 - mu[i]) / sd[i]) - rb_normal_cdf(-mu[i] / sd[i]);
        expected += exp(rb_normal_log_density((at - mu[i]) / sd[i])) / sd[i] / mass / 3;
    }
    assert_near(exp(rb_parzen_log_density(&p, &at)), expected, 1e-12);
    rb_arena_finish(&arena);
    toy_close(&t);
}

static void old_points_weigh_less(void **state)
{
    (void)state;
    struct toy t;
    struct rb_arena arena;
    toy_open(&t, "  x: {min: 0.0, max: 1.0}\n", "random", 1);
    const double **points;
    const int dims[] = {0};
    struct rb_stream s = test_stream(5, 0);
    struct rb_parzen p;
    rb_arena_init(&arena);
    random_points(&s, rb_search_coordinates(t.search), &arena, 100, &points);
    rb_parzen_init(&p, rb_search_coordinates(t.search), dims, 1, points, NULL, 100, &arena);
    assert_near(p.share[0] / p.share[100], 0.01, 1e-12);
    assert_near(p.share[75] / p.share[100], 1, 1e-12);
    assert_true(p.share[40] > p.share[39] && p.share[74] < p.share[75]);
    rb_arena_finish(&arena);
    toy_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(densities_integrate_and_sum_to_1),
        cmocka_unit_test(many_whole_numbers_sum_to_1),
        cmocka_unit_test(draws_have_the_density),
        cmocka_unit_test(a_density_by_hand),
        cmocka_unit_test(old_points_weigh_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
