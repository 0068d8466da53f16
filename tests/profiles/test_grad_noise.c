// Gain, efficiency and learning-rate factors against their closed forms; the estimators against gradients whose noise
// is known because it was drawn.
#include "profiles/fit/grad_noise.h"
#include "tests/profiles/measured.h"

enum { DIM = 20 };

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
    assert_close(rb_grad_noise_gain(&silent, 8), 1, 1e-15); // a larger batch tells nothing new
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

// |g|^2 = DIM * 0.25; one sample's gradient has variance 4 in each of DIM directions.
static void draw_gradient(struct rb_stream *s, int batch, double out[DIM])
{
    for (int d = 0; d < DIM; d++) {
        out[d] = 0.5 + 2 / sqrt(batch) * draw_normal(s);
    }
}

static double sqr(const double v[DIM])
{
    double sum = 0;
    for (int d = 0; d < DIM; d++) {
        sum += v[d] * v[d];
    }
    return sum;
}

static struct rb_grad_norms norms_of(struct rb_stream *s, int count, int local_batch, int initial_batch)
{
    struct rb_grad_norms n = {.count = count, .scale = (double)count * local_batch / initial_batch};
    double mean[DIM] = {0}, g[DIM];
    for (int k = 0; k < count; k++) {
        draw_gradient(s, local_batch, g);
        n.mean_of_sqr += sqr(g) / count;
        for (int d = 0; d < DIM; d++) {
            mean[d] += g[d] / count;
        }
    }
    n.sqr_of_mean = sqr(mean);
    return n;
}

// Whatever the batch, the answer is the same: |g|^2 = 5 and, over an initial batch of 16, a trace of 20 * 4 / 16 = 5.
static void replicas_tell_the_noise(void **state)
{
    (void)state;
    const struct {
        int count, local_batch;
    } cases[] = {{2, 8}, {4, 16}, {8, 64}};
    for (int c = 0; c < N_OF(cases); c++) {
        struct rb_stream s = test_stream(5, (uint32_t)c);
        struct rb_grad_noise_mean mean = {0};
        struct rb_grad_noise g;
        for (int i = 0; i < 4000; i++) {
            const struct rb_grad_norms n = norms_of(&s, cases[c].count, cases[c].local_batch, 16);
            const struct rb_grad_noise step = rb_grad_noise_of_step(&n);
            rb_grad_noise_mean_add(&mean, &step, 1, false); // one memory for all cases
        }
        assert_true(rb_grad_noise_mean_get(&mean, &g));
        assert_close(g.sqr, 5, 0.35);
        assert_close(g.var, 5, 0.35);
    }
}

static void pairs_of_single_gradients_tell_it_too(void **state)
{
    (void)state;
    struct rb_stream s = test_stream(6, 0);
    struct rb_grad_noise_mean mean = {0};
    struct rb_grad_noise g;
    double previous[DIM], next[DIM], sum[DIM];
    draw_gradient(&s, 32, previous);
    for (int i = 0; i < 4000; i++) {
        draw_gradient(&s, 32, next);
        for (int d = 0; d < DIM; d++) {
            sum[d] = previous[d] + next[d];
        }
        const struct rb_grad_norms n = rb_grad_norms_of_pair(sqr(previous), sqr(next), sqr(sum), 32.0 / 16);
        const struct rb_grad_noise step = rb_grad_noise_of_step(&n);
        rb_grad_noise_mean_add(&mean, &step, n.scale, true);
        memcpy(previous, next, sizeof(previous));
    }
    assert_true(mean.of_pairs && rb_grad_noise_mean_get(&mean, &g));
    assert_close(g.sqr, 5, 0.35);
    assert_close(g.var, 5, 0.35);
}

static void the_mean_has_no_bias_at_its_beginning(void **state)
{
    (void)state;
    struct rb_grad_noise_mean mean = {0};
    struct rb_grad_noise g = {42, 42};
    assert_false(rb_grad_noise_mean_get(&mean, &g));
    assert_close(g.sqr, 42, 0);
    rb_grad_noise_mean_add(&mean, &(struct rb_grad_noise){3, 7}, 4, false);
    assert_true(rb_grad_noise_mean_get(&mean, &g));
    assert_close(g.sqr, 3, 1e-12);
    assert_close(g.var, 7, 1e-12);
    // theta = 0.999^scale: after a step of scale 1000, of which exp(-1) is left, the newer one weighs that much less
    rb_grad_noise_mean_add(&mean, &(struct rb_grad_noise){1, 1}, 1000, false);
    rb_grad_noise_mean_get(&mean, &g);
    const double theta = pow(0.999, 1000), first = theta * (1 - pow(0.999, 4)), second = 1 - theta;
    assert_close(g.sqr, (3 * first + second) / (first + second), 1e-12);
}

static void replicas_replace_what_pairs_told(void **state)
{
    (void)state;
    struct rb_grad_noise_mean mean = {0};
    struct rb_grad_noise g;
    rb_grad_noise_mean_add(&mean, &(struct rb_grad_noise){100, 100}, 1, true);
    rb_grad_noise_mean_add(&mean, &(struct rb_grad_noise){2, 3}, 1, false);
    rb_grad_noise_mean_get(&mean, &g);
    assert_close(g.sqr, 2, 1e-12);
    rb_grad_noise_mean_add(&mean, &(struct rb_grad_noise){-500, -500}, 1, false); // by chance: never below the floor
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
        cmocka_unit_test(replicas_tell_the_noise),
        cmocka_unit_test(pairs_of_single_gradients_tell_it_too),
        cmocka_unit_test(the_mean_has_no_bias_at_its_beginning),
        cmocka_unit_test(replicas_replace_what_pairs_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
