// The throughput model against its closed forms, and its fit against reference fits and known parameters.
#include "profiles/fit/throughput.h"
#include "tests/profiles/measured.h"
#include "tests/profiles/throughput_oracle.h"

static const struct rb_throughput model = {
    .alpha_c = 0.1, .beta_c = 0.01, .alpha_n = 0.3, .beta_n = 0.02, .alpha_r = 0.05, .beta_r = 0.004, .gamma = 1.0};

static void gradient_time_is_linear_in_the_batch(void **state)
{
    (void)state;
    assert_close(rb_throughput_grad_s(&model, 0), 0.1, 1e-15);
    assert_close(rb_throughput_grad_s(&model, 32), 0.42, 1e-15);
}

static void no_overlap_adds_gradient_and_synchronisation(void **state)
{
    (void)state;
    const struct {
        int nodes, gpus;
        double sync_s;
    } cases[] = {{1, 1, 0}, {1, 2, 0.05}, {1, 4, 0.058}, {2, 2, 0.3}, {2, 8, 0.42}, {5, 5, 0.36}};
    for (int i = 0; i < N_OF(cases); i++) {
        assert_close(rb_throughput_iter_s(&model, cases[i].nodes, cases[i].gpus, 32, 0), 0.42 + cases[i].sync_s, 1e-9);
    }
}

static void overlap_approaches_the_larger_of_the_two(void **state)
{
    (void)state;
    struct rb_throughput t = model;
    double previous = rb_throughput_iter_s(&t, 2, 8, 32, 0);
    for (t.gamma = 2; t.gamma <= 10; t.gamma++) {
        const double iter_s = rb_throughput_iter_s(&t, 2, 8, 32, 0);
        assert_true(iter_s < previous && iter_s >= 0.42);
        previous = iter_s;
    }
    t.gamma = 10;
    assert_close(rb_throughput_iter_s(&t, 2, 8, 32, 0), 0.42 * pow(2, 0.1), 1e-9); // both are 0.42
}

static void accumulation_adds_whole_gradients(void **state)
{
    (void)state;
    assert_close(rb_throughput_iter_s(&model, 1, 4, 32, 3), 3 * 0.42 + 0.478, 1e-12);
}

static void extreme_parameters_stay_finite(void **state)
{
    (void)state;
    const struct rb_throughput t = {1e-8, 1e-8, 1e6, 1e6, 1e-8, 1e-8, 10};
    assert_true(isfinite(rb_throughput_iter_s(&t, 1000, 64000, 1, 0)));
    assert_true(rb_throughput_iter_s(&t, 1, 2, 1e-9, 0) > 0);
}

// Samples and fits of Pollux's released code on its own measurements (petuum/adaptdl, branch osdi21-artifact).
static const struct reference {
    const char *name;
    struct rb_throughput_sample samples[3];
    int n;
    struct rb_throughput fit;
    double objective;
} references[] = {
    {"bert",
     {{2, 6, 7, 2.374040834605694, 1.7979705085754394}},
     1,
     {0.2880351630151272, 0.04114788043070204, 0.24442736104043744, 0.5231329573103137, 1e-8, 1e-8, 1.003541423595314},
     0.25865344412837654},
    {"bert, two points",
     {{1, 2, 5, 0.5300334542989731, 0.05546023893356315}, {12, 34, 5, 1.7305706478655338, 1.2479907760620117}},
     2,
     {0.239288271792233, 0.04785156486689461, 0.10137587222631603, 0.03637285787610536, 0.05373365846908872,
      0.009327072770434363, 1.0132120948610754},
     0.009954111587319365},
    {"bert, three points",
     {{2, 5, 7, 2.1457442343235016, 1.5677919387817378},
      {6, 12, 11, 1.7669852524995804, 0.9636447067260742},
      {2, 8, 11, 2.4967753142118454, 1.6950454635620118}},
     3,
     {0.18496655322858868, 0.056141732044034234, 2.0202578662496062, 1e-8, 1e-8, 1e-8, 2.2000951957173305},
     0.15530368697445363},
    {"ncf",
     {{1, 1, 1398, 0.008692866807825338, 0.00030804202459976256}},
     1,
     {0.004192412391612788, 3.1462267251252e-06, 1.1e-8, 1.1e-8, 1e-8, 1e-8, 1.0009983724841776},
     0.056078137487328955},
    {"imagenet",
     {{12, 28, 55, 0.49836338407853065, 0.18360587831384986}},
     1,
     {0.15737875288234038, 0.002861431870630844, 0.05962588168282288, 0.007737201024085041, 1e-8, 1e-8,
      1.2648918716338635},
     0.010242910608921059},
    {"imagenet, three points",
     {{1, 3, 140, 0.6992790684103966, 0.0016449987997610646},
      {6, 18, 184, 0.958749973451769, 0.06753319609873998},
      {4, 12, 129, 0.686248524983724, 0.0602332713127136}},
     3,
     {0.036823716401197394, 0.004645634498186058, 0.03889614579439571, 0.005437044201854088, 0.02917574934367337,
      1.2921325102656915e-05, 1.2168250825522193},
     0.012935643302736942},
    {"deepspeech2, three points",
     {{6, 15, 39, 1.485976092966776, 0.36042634990026085},
      {16, 43, 10, 1.10721875478824, 0.4501357707977294},
      {2, 5, 50, 1.6812880249584423, 0.23059175735361426}},
     3,
     {0.46500480322981635, 0.018538806437533657, 0.8062700116739274, 0.0007914325887547421, 1e-8, 1e-8,
      1.7805033830423949},
     0.05716640480290894},
    {"yolov3, three points",
     {{16, 40, 5, 1.2869448885321617, 0.9356776542663574},
      {2, 5, 5, 1.3822427690029144, 1.0298497791290284},
      {5, 14, 4, 1.148155763745308, 0.8727012195587158}},
     3,
     {1e-8, 0.06987723434631612, 0.9416115525542935, 1e-8, 1e-8, 1e-8, 1.0},
     0.07339352819409922},
};

static void reference_objective_is_the_one_we_minimise(void **state)
{
    (void)state;
    for (int i = 0; i < N_OF(references); i++) {
        const struct reference *r = &references[i];
        // theirs counts 1e-8 s of synchronisation on one GPU, ours none
        assert_close(oracle_objective(&r->fit, r->samples, r->n), r->objective, 2e-6);
    }
}

static void fit_is_at_least_as_good_as_the_reference(void **state)
{
    (void)state;
    for (int i = 0; i < N_OF(references); i++) {
        const struct reference *r = &references[i];
        struct rb_throughput t;
        struct rb_err err;
        double error;
        assert_ok(rb_throughput_fit(r->samples, r->n, &t, &error, &err), &err);
        const double objective = oracle_objective(&t, r->samples, r->n);
        if (objective > r->objective + 2e-6) {
            fail_msg("%s: objective %.8f, reference %.8f", r->name, objective, r->objective);
        }
    }
}

static int make_samples(const struct rb_throughput *truth, double noise, struct rb_throughput_sample out[48])
{
    const struct {
        int nodes, gpus;
    } placements[] = {{1, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 2}, {2, 8}, {3, 6}, {4, 16}};
    const double batches[] = {8, 16, 24, 32, 48, 64};
    struct rb_stream s = test_stream(7, 0);
    int n = 0;
    for (int p = 0; p < N_OF(placements); p++) {
        for (int b = 0; b < N_OF(batches); b++, n++) {
            const double grad_s = rb_throughput_grad_s(truth, batches[b]) * exp(noise * draw_normal(&s));
            const double step_s =
                fmax(rb_throughput_iter_s(truth, placements[p].nodes, placements[p].gpus, batches[b], 0) *
                         exp(noise * draw_normal(&s)),
                     grad_s);
            out[n] = (struct rb_throughput_sample){placements[p].nodes, placements[p].gpus, batches[b], step_s,
                                                   step_s - grad_s};
        }
    }
    return n;
}

static void known_parameters_are_recovered(void **state)
{
    (void)state;
    const struct rb_throughput truths[] = {{0.1, 0.01, 0.3, 0.02, 0.05, 0.004, 1.6},
                                           {0.004, 4e-5, 0.02, 4e-4, 0.002, 1e-4, 2.5}, // a fast model
                                           {20, 0.5, 30, 1, 4, 0.2, 1.2}};              // a slow one
    for (int i = 0; i < N_OF(truths); i++) {
        struct rb_throughput_sample samples[48];
        struct rb_throughput t;
        struct rb_err err;
        double error;
        const int n = make_samples(&truths[i], 0, samples);
        assert_ok(rb_throughput_fit(samples, n, &t, &error, &err), &err);
        assert_true(error < 0.01); // the priors pull a little
        assert_close(t.alpha_c / truths[i].alpha_c, 1, 0.05);
        assert_close(t.beta_c / truths[i].beta_c, 1, 0.05);
        assert_close(t.alpha_n / truths[i].alpha_n, 1, 0.1);
        assert_close(t.alpha_r / truths[i].alpha_r, 1, 0.1);
    }
}

static void noise_of_five_percent_costs_no_more_than_that(void **state)
{
    (void)state;
    struct rb_throughput_sample samples[48];
    struct rb_throughput t;
    struct rb_err err;
    double error;
    const int n = make_samples(&model, 0.05, samples);
    assert_ok(rb_throughput_fit(samples, n, &t, &error, &err), &err);
    assert_true(error < 0.06);
}

static void what_was_not_measured_is_fixed_by_the_priors(void **state)
{
    (void)state;
    const struct rb_throughput_sample one_node[] = {
        {1, 1, 8, 0.2, 0.001}, {1, 2, 8, 0.25, 0.05}, {1, 2, 16, 0.4, 0.05}};
    const struct rb_throughput_sample one_batch[] = {{1, 1, 8, 0.2, 0.0}, {2, 2, 8, 0.5, 0.3}};
    struct rb_throughput t;
    struct rb_err err;
    double error;
    assert_ok(rb_throughput_fit(one_node, N_OF(one_node), &t, &error, &err), &err);
    assert_close(t.beta_r, 1e-8, 1e-15);                     // never more than two GPUs
    assert_true(t.alpha_n >= 1.1 * t.alpha_r * (1 - 1e-12)); // several nodes are never assumed faster
    assert_ok(rb_throughput_fit(one_batch, N_OF(one_batch), &t, &error, &err), &err);
    assert_close(t.alpha_c, 0.1, 1e-12); // half of the mean gradient time, 0.2 s
    assert_close(t.alpha_r, 1e-8, 1e-15);
}

static void the_same_samples_give_the_same_bytes(void **state)
{
    (void)state;
    struct rb_throughput_sample samples[48];
    struct rb_throughput a, b;
    struct rb_err err;
    double error_a, error_b;
    const int n = make_samples(&model, 0.1, samples);
    assert_ok(rb_throughput_fit(samples, n, &a, &error_a, &err), &err);
    assert_ok(rb_throughput_fit(samples, n, &b, &error_b, &err), &err);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_memory_equal(&error_a, &error_b, sizeof(error_a));
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    const struct {
        struct rb_throughput_sample sample;
        const char *words;
    } cases[] = {{{0, 1, 8, 1, 0}, "nodes >= 1"},
                 {{2, 1, 8, 1, 0}, "gpus >= nodes"},
                 {{1, 1, 0, 1, 0}, "positive batch"},
                 {{1, 1, NAN, 1, 0}, "positive batch"},
                 {{1, 1, 8, 1, 1}, "sync time < step time"},
                 {{1, 1, 8, NAN, 0}, "step time <="},
                 {{1, 1, 8, INFINITY, 0}, "step time <="},
                 {{1, 1, 8, 1, -1}, "0 <= sync time"},
                 {{1, 1, 8, 1, NAN}, "0 <= sync time"}};
    struct rb_throughput t = model;
    double error = 42;
    struct rb_err err;
    for (int i = 0; i < N_OF(cases); i++) {
        assert_false(rb_throughput_fit(&cases[i].sample, 1, &t, &error, &err));
        assert_int_equal(err.code, RB_ERR_INVALID);
        assert_says(&err, cases[i].words);
    }
    assert_false(rb_throughput_fit(&cases[0].sample, 0, &t, &error, &err));
    assert_says(&err, "at least one sample");
    assert_memory_equal(&t, &model, sizeof(t)); // outputs untouched
    assert_close(error, 42, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_time_is_linear_in_the_batch),
        cmocka_unit_test(no_overlap_adds_gradient_and_synchronisation),
        cmocka_unit_test(overlap_approaches_the_larger_of_the_two),
        cmocka_unit_test(accumulation_adds_whole_gradients),
        cmocka_unit_test(extreme_parameters_stay_finite),
        cmocka_unit_test(reference_objective_is_the_one_we_minimise),
        cmocka_unit_test(fit_is_at_least_as_good_as_the_reference),
        cmocka_unit_test(known_parameters_are_recovered),
        cmocka_unit_test(noise_of_five_percent_costs_no_more_than_that),
        cmocka_unit_test(what_was_not_measured_is_fixed_by_the_priors),
        cmocka_unit_test(the_same_samples_give_the_same_bytes),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
