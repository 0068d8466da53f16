// What a run learns from its own reports: when it fits, what it counts, what it drops.
#include "base/limits.h"
#include "profiles/fit/throughput_log.h"
#include "tests/profiles/measured.h"

static const struct rb_throughput truth = {0.05, 0.002, 0.2, 0.01, 0.03, 0.003, 1.4};

static struct rb_throughput_sample report(int nodes, int gpus, double batch, int accumulation, bool sync_known)
{
    const double step_s = rb_throughput_iter_s(&truth, nodes, gpus, batch, accumulation);
    return (struct rb_throughput_sample){
        .nodes = nodes,
        .gpus = gpus,
        .local_batch = batch,
        .accumulation = accumulation,
        .step_s = step_s,
        .sync_s = sync_known ? step_s - (accumulation + 1) * rb_throughput_grad_s(&truth, batch) : 0,
        .sync_unknown = !sync_known};
}

static void only_a_new_placement_or_batch_is_fitted(void **state)
{
    (void)state;
    struct rb_throughput_log log;
    rb_throughput_log_init(&log);
    const struct rb_throughput_sample a = report(1, 1, 32, 0, true), b = report(1, 2, 32, 0, true),
                                      c = report(1, 2, 64, 0, true), d = report(1, 2, 64, 1, true);
    assert_true(rb_throughput_log_add(&log, &a));
    assert_false(rb_throughput_log_add(&log, &a));
    assert_true(rb_throughput_log_add(&log, &b));
    assert_int_equal(log.max_gpus, 2);
    assert_false(rb_throughput_log_separates_batches(&log));
    assert_true(rb_throughput_log_add(&log, &c));
    assert_true(rb_throughput_log_separates_batches(&log));
    assert_true(rb_throughput_log_add(&log, &d));
    assert_false(rb_throughput_log_add(&log, &c));
    assert_int_equal(log.n, 4);
    rb_throughput_log_finish(&log);
}

// Accumulated gradients, and steps of which only the whole is known, tell the parameters as well.
static void the_parameters_are_learnt(void **state)
{
    (void)state;
    for (int sync_known = 0; sync_known <= 1; sync_known++) {
        struct rb_throughput_log log;
        rb_throughput_log_init(&log);
        const int placements[][2] = {{1, 1}, {1, 2}, {1, 4}, {2, 2}, {2, 8}, {3, 9}};
        for (int i = 0; i < 36; i++) {
            const int *at = placements[i % 6];
            const double batch = 16 << (i / 6 % 3);
            const struct rb_throughput_sample s = report(at[0], at[1], batch, i / 18, sync_known);
            assert_true(rb_throughput_log_add(&log, &s));
        }
        assert_true(log.error < 0.01);
        assert_close(log.fit.alpha_c / truth.alpha_c, 1, 0.05);
        assert_close(log.fit.beta_c / truth.beta_c, 1, 0.05);
        assert_close(rb_throughput_iter_s(&log.fit, 2, 6, 50, 2) / rb_throughput_iter_s(&truth, 2, 6, 50, 2), 1, 0.02);
        rb_throughput_log_finish(&log);
    }
}

static void repeated_reports_are_averaged(void **state)
{
    (void)state;
    struct rb_throughput_log log;
    rb_throughput_log_init(&log);
    struct rb_throughput_sample s = report(1, 1, 32, 0, true);
    for (int i = 0; i < 5; i++) {
        s.step_s = 0.1 * (i + 1);
        rb_throughput_log_add(&log, &s);
    }
    assert_close(log.samples[0].step_s, 0.3, 1e-12);
    s.sync_unknown = true; // says less than what is known: dropped
    s.step_s = 100;
    rb_throughput_log_add(&log, &s);
    assert_close(log.samples[0].step_s, 0.3, 1e-12);
    rb_throughput_log_finish(&log);
}

static void what_says_more_replaces_what_says_less(void **state)
{
    (void)state;
    struct rb_throughput_log log;
    rb_throughput_log_init(&log);
    struct rb_throughput_sample s = report(1, 2, 32, 0, false);
    s.step_s = 5;
    assert_true(rb_throughput_log_add(&log, &s));
    s = report(1, 2, 32, 0, true);
    assert_false(rb_throughput_log_add(&log, &s));
    assert_false(log.samples[0].sync_unknown);
    assert_close(log.samples[0].step_s, s.step_s, 0);
    rb_throughput_log_finish(&log);
}

static void nonsense_is_dropped_and_so_is_what_is_too_much(void **state)
{
    (void)state;
    struct rb_throughput_log log;
    rb_throughput_log_init(&log);
    const struct rb_throughput_sample nonsense[] = {{1, 1, 32, NAN, 0}, {1, 1, 32, -1, 0},    {1, 1, 32, INFINITY, 0},
                                                    {1, 1, 32, 1, 2},   {1, 1, 32, 1, NAN},   {2, 1, 32, 1, 0},
                                                    {1, 1, 0, 1, 0},    {1, 1, 32, 1, 0, -1}, {1, 1, 32, 1e8, 0}};
    for (int i = 0; i < N_OF(nonsense); i++) {
        assert_false(rb_throughput_log_add(&log, &nonsense[i]));
    }
    assert_int_equal(log.n, 0);
    // filled by hand: fitting every prefix is not what is tested
    struct rb_throughput_sample s = report(1, 1, 32, 0, true);
    rb_throughput_log_add(&log, &s);
    log.samples = rb_xrealloc(log.samples, RB_LIMIT_THROUGHPUT_SAMPLES, sizeof(*log.samples));
    log.n_reports = rb_xrealloc(log.n_reports, RB_LIMIT_THROUGHPUT_SAMPLES, sizeof(*log.n_reports));
    log.n = RB_LIMIT_THROUGHPUT_SAMPLES;
    for (int i = 0; i < log.n; i++) {
        log.samples[i] = report(1, 1, i + 1, 0, true);
        log.n_reports[i] = 1;
    }
    s.local_batch = 1e6;
    assert_false(rb_throughput_log_add(&log, &s));
    assert_int_equal(log.n, RB_LIMIT_THROUGHPUT_SAMPLES);
    rb_throughput_log_finish(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_new_placement_or_batch_is_fitted),
        cmocka_unit_test(the_parameters_are_learnt),
        cmocka_unit_test(repeated_reports_are_averaged),
        cmocka_unit_test(what_says_more_replaces_what_says_less),
        cmocka_unit_test(nonsense_is_dropped_and_so_is_what_is_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
