// P(a sum of independent times ends by a deadline): as the sum of their laws says, product by product and all at once; and the
// same bits from every kernel.
#include "case.h"

#include "planner/scores/on_time_kernel.h"

#include <math.h>
#include <string.h>

#define N_LAWS      6
#define TOTAL_S     1320 // mean of all of them together
#define DEVIATION_S 75   // at least

// Lognormal, 40 to 400 s, from nearly constant to widely spread.
static void make_laws(struct rb_law laws[static N_LAWS], struct rb_arena *arena)
{
    for (int i = 0; i < N_LAWS; i++) {
        const double mean = 40 + 72 * i;
        struct rb_dist d = {.kind = RB_DIST_LOGNORMAL, .mean = mean, .cv = 0.02 + 0.05 * i};
        struct rb_err err;
        assert_true(rb_dist_prepare(&d, &err));
        laws[i] = rb_law_of_dist(&d, arena);
    }
}

struct fixture {
    struct rb_arena arena;
    struct rb_law laws[N_LAWS];
    struct rb_on_time *on_time;
    const struct rb_transform *transforms[N_LAWS];
    double re[RB_ON_TIME_TERMS + RB_ON_TIME_LANES], im[RB_ON_TIME_TERMS + RB_ON_TIME_LANES];
};

static void begin(struct fixture *f, double deadline_s)
{
    rb_arena_init(&f->arena);
    make_laws(f->laws, &f->arena);
    f->on_time = rb_on_time_create(deadline_s, DEVIATION_S);
    for (int i = 0; i < N_LAWS; i++)
        f->transforms[i] = rb_on_time_transform(f->on_time, &f->laws[i]);
}

static void finish(struct fixture *f)
{
    rb_on_time_destroy(f->on_time);
    rb_arena_finish(&f->arena);
}

static struct rb_product product_of(struct fixture *f, int n_laws, const struct rb_on_time_kernel *kernel)
{
    struct rb_product p = {.re = f->re, .im = f->im};
    rb_product_begin(&p, rb_on_time_terms(f->on_time));
    for (int i = 0; i < n_laws; i++)
        kernel->multiply(&p, &p, f->transforms[i]);
    return p;
}

static void agrees_with_the_sum_of_laws(void **state)
{
    (void)state;
    for (double deadline_s = 0.8 * TOTAL_S; deadline_s < 1.4 * TOTAL_S; deadline_s += 0.05 * TOTAL_S) {
        struct fixture f;
        begin(&f, deadline_s);
        const struct rb_law *laws[N_LAWS];
        for (int i = 0; i < N_LAWS; i++)
            laws[i] = &f.laws[i];
        const struct rb_law_sum sum = rb_law_sum_create(laws, N_LAWS, &f.arena);
        const struct rb_limit_weights deadline = rb_on_time_deadline(f.on_time);
        const double p = rb_transforms_below(f.transforms, N_LAWS, &deadline);
        const double truth = rb_law_sum_below(&sum, deadline_s);
        const double far_too_late = 1 - rb_law_sum_below(&sum, 2 * deadline_s); // is counted as in time
        assert_true(p > truth - 1e-6 - sum.error);
        assert_true(p < truth + far_too_late + 1e-6 + sum.error);
        finish(&f);
    }
}

// One window serves tighter deadlines, one after the other and back: what its own would say.
static void a_window_serves_tighter_deadlines(void **state)
{
    static const double shares[] = {0.7, 0.9, 0.8, 1};
    const double window_s = 1.6 * TOTAL_S;
    (void)state;
    struct fixture wide;
    begin(&wide, window_s);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        struct fixture own;
        begin(&own, shares[i] * window_s);
        rb_on_time_set_deadline(wide.on_time, shares[i] * window_s);
        const struct rb_limit_weights shared = rb_on_time_deadline(wide.on_time),
                                      alone = rb_on_time_deadline(own.on_time);
        const double p = rb_transforms_below(wide.transforms, N_LAWS, &shared);
        assert_true(fabs(p - rb_transforms_below(own.transforms, N_LAWS, &alone)) < 1e-8);
        finish(&own);
    }
    finish(&wide);
}

static void product_by_product_or_all_at_once(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1.1 * TOTAL_S);
    const struct rb_limit_weights deadline = rb_on_time_deadline(f.on_time);
    const double whole = rb_transforms_below(f.transforms, N_LAWS, &deadline);
    struct rb_product p = product_of(&f, N_LAWS, &rb_on_time_kernel_plain);
    assert_true(fabs(rb_product_below(&p, &deadline) - whole) < 1e-14);
    p = product_of(&f, N_LAWS - 1, &rb_on_time_kernel_plain);
    assert_true(fabs(rb_product_below_with(&p, f.transforms[N_LAWS - 1], &deadline) - whole) < 1e-14);
    assert_true(whole > 0.5 && whole < 1);
    finish(&f);
}

static void kernels_give_the_same_bits(void **state)
{
    (void)state;
#ifdef RB_ON_TIME_HAS_AVX2
    if (!__builtin_cpu_supports("avx2"))
        skip();
    const struct rb_on_time_kernel *kernels[] = {&rb_on_time_kernel_plain, &rb_on_time_kernel_avx2};
    double values[2][3];
    struct fixture f;
    begin(&f, 1.05 * TOTAL_S);
    const struct rb_limit_weights deadline = rb_on_time_deadline(f.on_time);
    for (int i = 0; i < 2; i++) {
        const struct rb_product p = product_of(&f, N_LAWS - 1, kernels[i]);
        values[i][0] = kernels[i]->below(&p, &deadline);
        values[i][1] = kernels[i]->below_with(&p, f.transforms[N_LAWS - 1], &deadline);
        values[i][2] = kernels[i]->transforms_below(f.transforms, N_LAWS, &deadline);
    }
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    finish(&f);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_sum_of_laws),
        cmocka_unit_test(a_window_serves_tighter_deadlines),
        cmocka_unit_test(product_by_product_or_all_at_once),
        cmocka_unit_test(kernels_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
