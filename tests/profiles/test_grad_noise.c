// Gain, efficiency and learning-rate factors against their closed forms, and the mean over steps.
#include "profiles/fit/grad_noise.h"
#include "tests/profiles/measured.h"

static void gain_is_one_at_the_initial_batch_and_bounded_by_the_noise(void **state)
{
    (void)state;
    const struct rb_grad_noise g = {.sqr = 2, .var = 6};
    assert_close(rb_grad_noise_gain(&g, 1), 1, 1e-15);
    assert_close(rb_grad_noise_gain(&g, 3), 8.0 / 4, 1e-15);
    assert_close(rb_grad_noise_gain(&g, 1e9), 4, 1e-6); // (var + sqr) / sqr: no batch is worth more steps
    assert_close(rb_grad_noise_scale(&g, 32), 96, 1e-12);
}

// EFF = (phi + M0) / (phi + M), the form the paper gives.
static void efficiency_is_the_papers(void **state)
{
    (void)state;
    struct rb_stream s = test_stream(3, 0);
    for (int i = 0; i < 1000; i++) {
        const struct rb_grad_noise g = {.sqr = rb_stream_uniform(&s), .var = 100 * rb_stream_uniform(&s)};
        const double m0 = 1 + 100 * rb_stream_uniform(&s), m = m0 * (1 + 30 * rb_stream_uniform(&s));
        const double phi = rb_grad_noise_scale(&g, m0);
        assert_close(rb_grad_noise_efficiency(&g, m / m0), (phi + m0) / (phi + m), 1e-12);
    }
}

static void gradients_without_noise_or_length_are_no_trouble(void **state)
{
    (void)state;
    const struct rb_grad_noise silent = {.sqr = 1, .var = 0}, flat = {.sqr = 0, .var = 1}, none = {0};
    assert_close(rb_grad_noise_gain(&silent, 8), 1, 1e-15); // a larger batch adds nothing new
    assert_close(rb_grad_noise_gain(&flat, 8), 8, 1e-15);   // all noise: every sample counts
    assert_close(rb_grad_noise_gain(&none, 8), 1, 0);
    assert_true(isinf(rb_grad_noise_scale(&flat, 8)));
}

static void learning_rate_follows_the_rule(void **state)
{
    (void)state;
    const struct rb_grad_noise g = {.sqr = 2, .var = 6};
    assert_close(rb_lr_factor(RB_LR_ADASCALE, &g, 3), 2, 1e-15);
    assert_close(rb_lr_factor(RB_LR_ADASCALE, NULL, 3), 1, 0);
    assert_close(rb_lr_factor(RB_LR_SQRT, NULL, 9), 3, 1e-15);
    assert_close(rb_lr_factor(RB_LR_LINEAR, NULL, 9), 9, 0);
}

static void the_mean_has_no_bias_at_its_beginning(void **state)
{
    (void)state;
    struct rb_grad_noise_mean mean = {0};
    struct rb_grad_noise g = {42, 42};
    assert_false(rb_grad_noise_mean_get(&mean, &g));
    assert_close(g.sqr, 42, 0);
    rb_grad_noise_mean_add(&mean, &(struct rb_grad_noise){3, 7}, 4);
    assert_true(rb_grad_noise_mean_get(&mean, &g));
    assert_close(g.sqr, 3, 1e-12);
    assert_close(g.var, 7, 1e-12);
    // theta = 0.999^scale: after a step of scale 1000, of which exp(-1) is left, the newer one weighs that much less
    rb_grad_noise_mean_add(&mean, &(struct rb_grad_noise){1, 1}, 1000);
    rb_grad_noise_mean_get(&mean, &g);
    const double theta = pow(0.999, 1000), first = theta * (1 - pow(0.999, 4)), second = 1 - theta;
    assert_close(g.sqr, (3 * first + second) / (first + second), 1e-12);
}

static void the_mean_is_never_negative(void **state)
{
    (void)state;
    struct rb_grad_noise_mean mean = {0};
    struct rb_grad_noise g;
    rb_grad_noise_mean_add(&mean, &(struct rb_grad_noise){2, 3}, 1);
    rb_grad_noise_mean_get(&mean, &g);
    assert_close(g.sqr, 2, 1e-12);
    rb_grad_noise_mean_add(&mean, &(struct rb_grad_noise){-500, -500}, 1); // by chance: never below the floor
    rb_grad_noise_mean_get(&mean, &g);
    assert_close(g.sqr, 0, 0);
    assert_close(g.var, 1e-6, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gain_is_one_at_the_initial_batch_and_bounded_by_the_noise),
        cmocka_unit_test(efficiency_is_the_papers),
        cmocka_unit_test(gradients_without_noise_or_length_are_no_trouble),
        cmocka_unit_test(learning_rate_follows_the_rule),
        cmocka_unit_test(the_mean_has_no_bias_at_its_beginning),
        cmocka_unit_test(the_mean_is_never_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
