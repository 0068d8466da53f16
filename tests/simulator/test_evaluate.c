// Estimates: what they say of the replicates behind them, and that threads change nothing.
#include "random_plan.h"
#include "small_scenario.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *pa, const void *pb)
{
    const int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return (a > b) - (a < b);
}

static void quantiles_are_values_of_the_sample(void **state)
{
    (void)state;
    static const struct {
        int n;
        int64_t values[5];
        struct rb_quantiles expected;
    } cases[] = {
        {1, {7}, {7, 7, 7, 7, 7}},
        {2, {9, 3}, {6, 3, 3, 9, 9}},
        {2, {3, 4}, {4, 3, 3, 4, 4}}, // 3.5 goes up
        {5, {50, 10, 40, 20, 30}, {30, 10, 30, 50, 50}},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        int64_t values[5];
        memcpy(values, cases[i].values, sizeof values);
        const struct rb_quantiles got = rb_quantiles_of(values, cases[i].n);
        assert_memory_equal(&got, &cases[i].expected, sizeof got);
    }
    int64_t hundred[100];
    for (int i = 0; i < 100; i++)
        hundred[(i * 37) % 100] = i + 1;
    const struct rb_quantiles got = rb_quantiles_of(hundred, 100), expected = {51, 5, 50, 95, 99};
    assert_memory_equal(&got, &expected, sizeof got);
    int64_t huge[] = {INT64_MAX - 1, INT64_MAX - 1, INT64_MAX - 1};
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 3, .purpose = RB_DRAW_SEARCH});
    for (int bits = 1; bits < 64; bits++) { // as by sorting, of numbers of all sizes and signs, most of them in a few places
        int64_t values[500];
        for (int i = 0; i < 500; i++)
            values[i] = (int64_t)((rb_stream_u64(&s) >> (64 - (i % 5 ? bits : 1 + bits / 4))) - (UINT64_C(1) << bits >> 1));
        const struct rb_quantiles q = rb_quantiles_of(values, 500);
        qsort(values, 500, sizeof *values, compare);
        assert_true(q.p5 == values[24] && q.p50 == values[249] && q.p95 == values[474] && q.p99 == values[494]);
    }
    assert_true(rb_quantiles_of(huge, 3).mean == INT64_MAX - 1); // the sum is wider than a number
}

static void threads_change_nothing(void **state)
{
    (void)state;
    static struct random_plan p; // large; remade every time
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct rb_scenario s;
        struct rb_evaluate_options opt = rb_evaluate_defaults();
        struct rb_estimate one, many;
        struct rb_plan_stage stages_one[RB_LIMIT_STAGES], stages_many[RB_LIMIT_STAGES];
        struct rb_err err;
        random_plan_make(&p, seed);
        if (!rb_scenario_init(&s, &p.job, &p.profile, p.offers, p.plan.n_offers, &p.catalog, seed, &err))
            fail_msg("%s", err.message);
        opt.samples = 101;
        opt.deadline_us = 400 * RB_US_PER_S;
        memcpy(stages_one, p.stages, sizeof stages_one);
        memcpy(stages_many, p.stages, sizeof stages_many);
        if (!rb_evaluate(&s, p.stages, p.plan.n_stages, &opt, &one, stages_one, &err))
            fail_msg("%s", err.message);
        for (opt.threads = 2; opt.threads < 300; opt.threads *= 3) {
            assert_true(rb_evaluate(&s, p.stages, p.plan.n_stages, &opt, &many, stages_many, &err));
            assert_memory_equal(&one, &many, sizeof one);
            assert_memory_equal(stages_one, stages_many, (size_t)p.plan.n_stages * sizeof stages_one[0]);
        }
        rb_scenario_finish(&s);
    }
}

// Everything an estimate says, counted again from the replicates.
static void an_estimate_is_its_replicates(void **state)
{
    (void)state;
    enum { SAMPLES = 500 };
    struct small_scenario s;
    small_scenario_make(&s);
    s.p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.3);
    small_scenario_compile(&s, 9);
    const struct rb_evaluate_options opt = {
        .samples = SAMPLES, .deadline_us = 68 * RB_US_PER_S, .budget_uusd = 124000, .threads = 1};
    struct rb_estimate e;
    struct rb_plan_stage stages[3];
    memcpy(stages, s.p.stages, sizeof stages);
    assert_true(rb_evaluate(&s.scenario, s.p.stages, 3, &opt, &e, stages, NULL));
    int in_time = 0, in_budget = 0, both = 0;
    double sum = 0, squares = 0, stage_sum = 0;
    for (uint32_t r = 0; r < SAMPLES; r++) {
        const struct rb_replicate one = small_scenario_run(&s, r);
        const bool timely = one.time_us <= opt.deadline_us, cheap = one.cost_uusd <= opt.budget_uusd;
        in_time += timely;
        in_budget += cheap;
        both += timely && cheap;
        sum += (double)one.time_us;
        squares += (double)one.time_us * (double)one.time_us;
        stage_sum += (double)one.stage_time_us[1];
    }
    assert_true(in_time > 50 && in_time < 450 && in_budget > 50 && in_budget < 450);
    assert_true(fabs(e.p_deadline - (double)in_time / SAMPLES) < 1e-12);
    assert_true(fabs(e.p_budget - (double)in_budget / SAMPLES) < 1e-12);
    assert_true(fabs(e.p_both - (double)both / SAMPLES) < 1e-12);
    assert_true(fabs(e.stderr_.p_both - sqrt(e.p_both * (1 - e.p_both) / SAMPLES)) < 1e-12);
    const double mean = sum / SAMPLES, sd = sqrt((squares - SAMPLES * mean * mean) / (SAMPLES - 1));
    assert_true(fabs((double)e.time_us.mean - mean) <= 0.5);
    assert_true(fabs((double)e.stderr_.time_mean_us / (sd / sqrt(SAMPLES)) - 1) < 1e-3);
    assert_true(fabs((double)stages[1].time_us.mean - stage_sum / SAMPLES) <= 0.5);
    assert_int_equal(e.samples, SAMPLES);
    small_scenario_finish(&s);
}

static void certainty_is_not_claimed(void **state)
{
    (void)state;
    struct small_scenario s;
    struct rb_estimate e;
    struct rb_evaluate_options opt = rb_evaluate_defaults();
    small_scenario_make(&s);
    small_scenario_compile(&s, 1);
    opt.samples = 98;
    opt.deadline_us = 64 * RB_US_PER_S; // exactly what it takes
    assert_true(rb_evaluate(&s.scenario, s.p.stages, 3, &opt, &e, NULL, NULL));
    assert_true(e.p_deadline >= 1 && e.p_budget >= 1);
    assert_true(fabs(e.stderr_.p_deadline - sqrt(0.99 * 0.01 / 98)) < 1e-12); // (98 + 1) / (98 + 2)
    assert_true(e.stderr_.p_budget <= 0);                                     // there is no budget
    opt.deadline_us--;
    assert_true(rb_evaluate(&s.scenario, s.p.stages, 3, &opt, &e, NULL, NULL));
    assert_true(e.p_deadline <= 0 && e.p_both <= 0);
    assert_true(fabs(e.stderr_.p_both - sqrt(0.99 * 0.01 / 98)) < 1e-12);
    small_scenario_finish(&s);
}

static void expect_refused(struct small_scenario *s, const char *says)
{
    struct rb_evaluate_options opt = rb_evaluate_defaults();
    struct rb_estimate e = {.samples = -5};
    struct rb_err err = {0};
    opt.samples = 8;
    small_scenario_compile(s, 1);
    assert_false(rb_evaluate(&s->scenario, s->p.stages, s->p.plan.n_stages, &opt, &e, NULL, &err));
    assert_says(&err, says);
    assert_int_equal(e.samples, -5); // untouched
    small_scenario_finish(s);
}

static void what_cannot_be_simulated_is_refused(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    s.p.stages[1].gpus_per_trial = 4; // one node of two GPUs
    expect_refused(&s, "stages[1]");
    small_scenario_make(&s);
    s.p.nodes[2][0].offer = 17;
    expect_refused(&s, "stages[2]");
    small_scenario_make(&s);
    s.p.nodes[0][0].offer = SMALL_SPOT;
    s.provisioning.has_preemption = false;
    expect_refused(&s, "preemption_per_hour");
    small_scenario_make(&s);
    s.p.stages[0].n_early = 2;
    s.p.early[0] = (struct rb_plan_early){.offer = SMALL, .count = 1, .at_us = 5};
    s.p.early[1] = (struct rb_plan_early){.offer = SMALL, .count = 1, .at_us = 4};
    expect_refused(&s, "at_us");
    small_scenario_make(&s);
    s.p.job.trial.max_nodes = 1;
    s.p.stages[0].gpus_per_trial = 4;
    expect_refused(&s, "trial.max_nodes");
}

// A market that takes its nodes back before a trial can end is an answer, not an endless loop.
static void a_plan_without_end_is_infeasible(void **state)
{
    (void)state;
    struct small_scenario s;
    struct rb_evaluate_options opt = rb_evaluate_defaults();
    struct rb_estimate e;
    struct rb_err err;
    small_scenario_make(&s);
    s.provisioning.preemption_per_hour = 100000;
    small_scenario_compile(&s, 1);
    opt.samples = 4;
    assert_false(rb_evaluate(&s.scenario, s.p.stages, 3, &opt, &e, NULL, &err));
    assert_int_equal(err.code, RB_ERR_INFEASIBLE);
    assert_says(&err, "preemption_per_hour");
    small_scenario_finish(&s);
    small_scenario_make(&s);
    s.p.training.base_s = 1e6;
    small_scenario_one_stage(&s, 100, 100000, 1);
    small_scenario_compile(&s, 1);
    assert_false(rb_evaluate(&s.scenario, s.p.stages, 1, &opt, &e, NULL, &err));
    assert_says(&err, "RB5001 100 years");
    small_scenario_finish(&s);
}

static void runs_begin_where_they_are_asked_to(void **state)
{
    (void)state;
    enum { SAMPLES = 40, FIRST = 17 };
    struct small_scenario s;
    small_scenario_make(&s);
    s.p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.3);
    small_scenario_compile(&s, 9);
    struct rb_evaluate_options opt = {.samples = SAMPLES, .deadline_us = -1, .budget_uusd = -1, .threads = 1};
    int64_t time_us[2][SAMPLES], cost_uusd[2][SAMPLES];
    assert_true(rb_evaluate_runs(&s.scenario, s.p.stages, 3, &opt, time_us[0], cost_uusd[0], NULL));
    opt.first = FIRST;
    opt.threads = 3;
    assert_true(rb_evaluate_runs(&s.scenario, s.p.stages, 3, &opt, time_us[1], cost_uusd[1], NULL));
    assert_memory_equal(&time_us[0][FIRST], time_us[1], (SAMPLES - FIRST) * sizeof(int64_t));
    assert_memory_equal(&cost_uusd[0][FIRST], cost_uusd[1], (SAMPLES - FIRST) * sizeof(int64_t));
    assert_true(time_us[0][0] != time_us[1][0]);
    small_scenario_finish(&s);
}

// P(no hit in n) = (1 - p)^n: the error of a share of 0 must cover every p that makes that likelier than 1 in 1000.
static void a_share_is_not_further_off_than_its_error(void **state)
{
    (void)state;
    assert_true(pow(1 - rb_share_error(0, 4096), 4096) < 1e-3);
    assert_true(fabs(rb_share_error(1, 4096) - rb_share_error(0, 4096)) < 1e-12);
    assert_true(fabs(rb_share_error(0.5, 1000000) - RB_SURE_SIGMA * 0.5 / 1000) < 1e-6);
    assert_true(rb_share_error(0.3, 1) <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_values_of_the_sample),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(an_estimate_is_its_replicates),
        cmocka_unit_test(certainty_is_not_claimed),
        cmocka_unit_test(what_cannot_be_simulated_is_refused),
        cmocka_unit_test(a_plan_without_end_is_infeasible),
        cmocka_unit_test(runs_begin_where_they_are_asked_to),
        cmocka_unit_test(a_share_is_not_further_off_than_its_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
