// Which batch a trial starts with, from what was reported: through the module, and through the engine's own starts.
#include "engine/core/batching.h"
#include "engine/core/engine.h"

#include "check.h"
#include "small_plan.h"

#include <math.h>

static const struct rb_throughput truth = {0.02, 0.001, 0.05, 0.001, 0.01, 0.0005, 1.3};
static const struct rb_grad_noise noise = {.sqr = 1, .var = 40}; // at a batch of 32: worth 13 of them a step

static void make(struct small_plan *p)
{
    small_plan_make(p);
    p->job.trial.batch_size = 32;
    p->job.trial.batch_max = 1024;
    p->job.trial.batch_max_per_gpu = 256;
    p->job.trial.lr_scaling = "sqrt";
}

static struct rb_step_stats steps(int nodes, int gpus, const struct rb_batch *b, bool with_noise)
{
    return (struct rb_step_stats){.has_noise = with_noise,
                                  .noise = noise,
                                  .step_s = rb_throughput_iter_s(&truth, nodes, gpus, b->per_gpu, b->accumulation)};
}

static void report(struct rb_batching *b, int trial, const char *accelerator, int gpus, int per_gpu, bool with_noise)
{
    const struct rb_trial_batch with = {.batch = {.per_gpu = per_gpu}, .lr_factor = 1};
    const struct rb_step_stats stats = steps(1, gpus, &with.batch, with_noise);
    rb_batching_report(b, trial, accelerator, 1, gpus, &with, &stats);
}

static void assert_batch(const struct rb_trial_batch *t, int per_gpu, int accumulation)
{
    assert_int_equal(t->batch.per_gpu, per_gpu);
    assert_int_equal(t->batch.accumulation, accumulation);
}

static void a_job_without_a_batch_has_nothing_to_tune(void **state)
{
    (void)state;
    struct small_plan p;
    small_plan_make(&p);
    assert_null(rb_batching_create(&p.plan));
    rb_batching_destroy(NULL);
}

static void begins_with_the_initial_batch(void **state)
{
    (void)state;
    struct small_plan p;
    make(&p);
    struct rb_batching *b = rb_batching_create(&p.plan);
    struct rb_trial_batch t = rb_batching_choose(b, 0, "A10G", 1, 1);
    assert_batch(&t, 32, 0);
    assert_true(fabs(t.lr_factor - 1) <= 0);
    t = rb_batching_choose(b, 0, "A10G", 1, 4);
    assert_batch(&t, 8, 0);
    t = rb_batching_choose(b, 0, "A10G", 1, 3); // 33 samples: rounded up, and the learning rate with them
    assert_batch(&t, 11, 0);
    assert_true(fabs(t.lr_factor - sqrt(33.0 / 32)) < 1e-15);
    // the time of a step alone does not say what a larger batch is worth
    report(b, 0, "A10G", 1, 32, false);
    t = rb_batching_choose(b, 0, "A10G", 1, 1);
    assert_batch(&t, 32, 0);
    rb_batching_destroy(b);
}

static void then_takes_the_largest_goodput(void **state)
{
    (void)state;
    struct small_plan p;
    make(&p);
    struct rb_batching *b = rb_batching_create(&p.plan);
    for (int k = 0; k < 4; k++) {
        report(b, 0, "A10G", 1 + k % 2, 32 << (k / 2), true);
    }
    const struct rb_goodput g = {.throughput = truth, .noise = noise, .limits = {32, 1024, 1, 256}};
    for (int gpus = 1; gpus <= 4; gpus *= 2) {
        struct rb_batch best;
        const double ideal = rb_goodput_best(&g, 1, gpus, &best);
        const struct rb_trial_batch t = rb_batching_choose(b, 0, "A10G", 1, gpus);
        assert_true(rb_goodput_at(&g, 1, gpus, &t.batch) > 0.99 * ideal);
        assert_true(rb_batch_total(&t.batch, gpus) > 64); // such noise pays a larger one
        assert_true(fabs(t.lr_factor - sqrt(rb_batch_total(&t.batch, gpus) / 32)) < 1e-12);
    }
    // another trial has its own noise: none is known yet
    const struct rb_trial_batch other = rb_batching_choose(b, 1, "A10G", 1, 1);
    assert_batch(&other, 32, 0);
    rb_batching_destroy(b);
}

static void adascale_takes_the_gain(void **state)
{
    (void)state;
    struct small_plan p;
    make(&p);
    p.job.trial.lr_scaling = "adascale";
    struct rb_batching *b = rb_batching_create(&p.plan);
    report(b, 0, "A10G", 1, 32, true);
    report(b, 0, "A10G", 1, 64, true);
    const struct rb_trial_batch t = rb_batching_choose(b, 0, "A10G", 1, 2);
    const double gain = rb_grad_noise_gain(&noise, rb_batch_total(&t.batch, 2) / 32);
    assert_true(gain > 1.5 && fabs(t.lr_factor - gain) < 1e-12);
    rb_batching_destroy(b);
}

static void accelerators_are_learnt_apart(void **state)
{
    (void)state;
    struct small_plan p;
    make(&p);
    struct rb_batching *b = rb_batching_create(&p.plan);
    struct rb_goodput g;
    report(b, 0, "A10G", 1, 32, true);
    assert_true(rb_batching_model(b, 0, "A10G", &g));
    assert_false(rb_batching_model(b, 0, "H100", &g));
    rb_batching_destroy(b);
}

static void a_profile_counts_until_two_batches_were_seen(void **state)
{
    (void)state;
    struct small_plan p;
    make(&p);
    p.training.has_throughput = true;
    p.training.throughput = truth;
    struct rb_batching *b = rb_batching_create(&p.plan);
    struct rb_goodput g;
    report(b, 0, "A10G", 1, 32, true);
    assert_true(rb_batching_model(b, 0, "A10G", &g));
    assert_memory_equal(&g.throughput, &truth, sizeof truth);
    report(b, 0, "A10G", 1, 64, true);
    assert_true(rb_batching_model(b, 0, "A10G", &g));
    assert_true(memcmp(&g.throughput, &truth, sizeof truth) != 0);
    assert_true(fabs(rb_throughput_grad_s(&g.throughput, 48) / rb_throughput_grad_s(&truth, 48) - 1) < 0.01);
    rb_batching_destroy(b);
}

static void nonsense_is_borne(void **state)
{
    (void)state;
    struct small_plan p;
    make(&p);
    struct rb_batching *b = rb_batching_create(&p.plan);
    const struct rb_trial_batch with = {.batch = {.per_gpu = 32}, .lr_factor = 1};
    const struct rb_step_stats bad[] = {
        {.has_noise = true, .noise = {-1, -1}, .step_s = 1e300},
        {.has_noise = true, .noise = {0, 0}, .step_s = 1e-300},
        {.has_noise = true, .noise = {1e300, 1e300}, .step_s = 1, .has_sync = true, .sync_s = 5},
        {.has_noise = true, .noise = {0, 1e300}}};
    for (size_t i = 0; i < N_OF(bad); i++) {
        rb_batching_report(b, (int)i, "A10G", 1, 1, &with, &bad[i]);
        for (int gpus = 1; gpus <= 4; gpus++) {
            const struct rb_trial_batch t = rb_batching_choose(b, (int)i, "A10G", 1, gpus);
            assert_true(t.batch.per_gpu >= 1 && t.batch.per_gpu <= 256 && rb_batch_total(&t.batch, gpus) <= 1024);
            assert_true(isfinite(t.lr_factor) && t.lr_factor > 0);
        }
    }
    rb_batching_destroy(b);
}

// The engine: trial 0 trains on node 0, reports, goes on to the next rung.
static void an_engine_starts_trials_with_what_they_reported(void **state)
{
    (void)state;
    struct small_plan p;
    make(&p);
    struct rb_engine *e;
    struct rb_err err;
    struct rb_actions out = {0};
    assert_true(rb_engine_create(&p.plan, &e, &err));
    rb_engine_step(e, &(struct rb_event){.kind = RB_EVENT_START}, &out);
    for (int node = 0; node < 2; node++) {
        rb_engine_step(e, &(struct rb_event){.kind = RB_EVENT_NODE_RUNNING, .node = node}, &out);
        rb_engine_step(e, &(struct rb_event){.kind = RB_EVENT_NODE_READY, .node = node}, &out);
    }
    assert_batch(&rb_engine_trial(e, 0)->with, 32, 0);
    for (int trial = 0; trial < 4; trial++) {
        struct rb_event report = {.kind = RB_EVENT_REPORT,
                                  .trial = trial,
                                  .resource = 1,
                                  .metric = 1 - 0.1 * trial,
                                  .steps = steps(1, 1, &rb_engine_trial(e, trial)->with.batch, true)};
        rb_engine_step(e, &report, &out);
        rb_engine_step(e, &(struct rb_event){.kind = RB_EVENT_TRIAL_ENDED, .trial = trial}, &out);
    }
    assert_int_equal(rb_engine_trial(e, 0)->stage, 1);
    assert_true(rb_batch_total(&rb_engine_trial(e, 0)->with.batch, 1) > 64);
    assert_int_equal(rb_engine_trial(e, 0)->with.batch.accumulation, 1); // one GPU must see its noise
    rb_actions_finish(&out);
    rb_engine_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_without_a_batch_has_nothing_to_tune),
        cmocka_unit_test(begins_with_the_initial_batch),
        cmocka_unit_test(then_takes_the_largest_goodput),
        cmocka_unit_test(adascale_takes_the_gain),
        cmocka_unit_test(accelerators_are_learnt_apart),
        cmocka_unit_test(a_profile_counts_until_two_batches_were_seen),
        cmocka_unit_test(nonsense_is_borne),
        cmocka_unit_test(an_engine_starts_trials_with_what_they_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
