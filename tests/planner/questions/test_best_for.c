// The search that is chosen for a budget: against every other that is affordable, and with plans.
#include "case.h"

#include "planner/questions/best_for.h"
#include "planner/quality/gain.h"

#include "engine/core/rungs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- choosing, where a unit of training costs one

static double units_of(const struct rb_job *job)
{
    struct rb_rung_table table;
    double sum = 0;
    assert_true(rb_rungs_of_job(job, &table, NULL));
    for (int i = 0; i < table.n; i++)
        sum += (double)table.rungs[i].trials * (double)(table.rungs[i].resource_end - table.rungs[i].resource_start);
    return sum;
}

static bool costs_units(void *ctx, const struct rb_job *job, bool *out_fits, struct rb_estimate *out_estimate,
                        struct rb_err *err)
{
    (void)err;
    *out_estimate = (struct rb_estimate){.cost_uusd = {.mean = (int64_t)units_of(job)}};
    *out_fits = units_of(job) <= *(const double *)ctx;
    return true;
}

static struct rb_job job_of(const char *tuner, int64_t max_resource)
{
    return (struct rb_job){.seed = 3, .scheduler = {.type = tuner, .num_trials = 9, .min_resource = 1,
                                                    .max_resource = max_resource, .eta = 3, .brackets = 1}};
}

static struct rb_search_choices choose(const struct rb_job *job, double units, struct rb_arena *arena)
{
    const struct rb_affordable afford = {costs_units, NULL, &units};
    struct rb_quality_law law;
    struct rb_search_choices choices;
    struct rb_err err = {0};
    rb_quality_law_prior(&law);
    if (!rb_choose_search(job, &law, &afford, NULL, arena, &choices, &err))
        fail_msg("%s", err.message);
    return choices;
}

static void no_affordable_search_is_expected_to_find_more(void **state)
{
    struct rb_quality_law law;
    (void)state;
    rb_quality_law_prior(&law);
    for (double units = 40; units <= 1000; units *= 5) {
        struct rb_arena arena = {0};
        const struct rb_job job = job_of("sha", 16);
        const struct rb_search_choices c = choose(&job, units, &arena);
        const double found = c.rows[c.chosen].best.z.mean;
        assert_true(c.rows[c.chosen].fits && c.chosen >= 0);
        for (int eta = 2; eta <= 4; eta++) {
            for (int r = 1; r <= 16; r *= 2) {
                struct rb_search_choice other = {eta, r, 1, 1};
                struct rb_job with = rb_job_with_choice(&job, &other);
                struct rb_best best;
                for (; units_of(&with) <= units; with = rb_job_with_choice(&job, &other))
                    other.num_trials++;
                if (--other.num_trials < 1)
                    continue;
                with = rb_job_with_choice(&job, &other);
                assert_true(rb_job_expect(&with, &law, 2000, &best, NULL));
                assert_true(best.z.mean < found + 0.07); // trials to 3 %, and the noise of 2000 draws
            }
        }
        rb_arena_finish(&arena);
    }
}

static void the_number_of_trials_is_the_largest_to_3_percent(void **state)
{
    static const char *const tuners[] = {"sha", "asha", "random"};
    (void)state;
    for (size_t t = 0; t < 3; t++) {
        struct rb_arena arena = {0};
        const struct rb_job job = job_of(tuners[t], 27);
        const double units = 900;
        const struct rb_search_choices c = choose(&job, units, &arena);
        struct rb_search_choice more = c.rows[c.chosen].choice;
        struct rb_job with = rb_job_with_choice(&job, &more);
        assert_true(units_of(&with) <= units);
        more.num_trials += 1 + more.num_trials / 32;
        with = rb_job_with_choice(&job, &more);
        assert_true(units_of(&with) > units);
        rb_arena_finish(&arena);
    }
}

static void more_money_finds_no_less(void **state)
{
    double before = -INFINITY;
    (void)state;
    for (double units = 30; units <= 3000; units *= 2) {
        struct rb_arena arena = {0};
        const struct rb_job job = job_of("asha", 27);
        const struct rb_search_choices c = choose(&job, units, &arena);
        assert_true(c.rows[c.chosen].best.z.mean > before);
        before = c.rows[c.chosen].best.z.mean;
        rb_arena_finish(&arena);
    }
}

static void brackets_are_chosen_for_hyperband(void **state)
{
    struct rb_arena arena = {0};
    struct rb_job job = job_of("hyperband", 27);
    (void)state;
    job.scheduler.num_trials = 0;
    const struct rb_search_choices c = choose(&job, 300, &arena);
    const struct rb_job with = rb_job_with_choice(&job, &c.rows[c.chosen].choice);
    assert_true(c.chosen >= 0 && units_of(&with) <= 300);
    rb_arena_finish(&arena);
}

static void nothing_is_chosen_where_nothing_is_affordable(void **state)
{
    struct rb_arena arena = {0};
    const struct rb_job job = job_of("sha", 27);
    (void)state;
    assert_int_equal(choose(&job, 5, &arena).chosen, -1);
    rb_arena_finish(&arena);
}

// The prior knows correlations from 4 % of R on: a choice that rests on less would be a guess.
static void no_rung_ends_before_the_law_knows_anything(void **state)
{
    struct rb_arena arena = {0};
    const struct rb_job job = job_of("asha", 100);
    (void)state;
    const struct rb_search_choices c = choose(&job, 3000, &arena);
    for (int i = 0; i < c.n; i++)
        assert_true(c.rows[i].choice.min_resource >= 3);
    rb_arena_finish(&arena);
}

static void learning_samplers_are_worth_more(void **state)
{
    const char *source;
    (void)state;
    assert_float_equal(rb_sampler_gain(NULL, 50, &source), 1, 0);
    assert_non_null(source);
    assert_float_equal(rb_sampler_gain("optuna", 50, &source), 1, 0);
    assert_null(source);
    assert_float_equal(rb_sampler_gain("tpe", 1, &source), 1, 0);
    assert_float_equal(rb_sampler_gain("tpe", 81, &source), 3, 1e-12);
    assert_float_equal(rb_sampler_gain("tpe", 100000, &source), rb_sampler_gain("tpe", 243, &source), 0);
    assert_non_null(strstr(source, "29 tables"));
}

// ---- with plans

static const char job_yaml[] =
    "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
    "scheduler: {type: sha, num_trials: 8, min_resource: 1, max_resource: 9, eta: 3}\n"
    "trial: {gpus: {min: 1, max: 1, sizes: [1]}, max_nodes: 1}\nrun: python t.py\n"
    "resources: {infra: [aws/us-east-1], max_nodes: 4, spot: never}\n";
static const char profile_yaml[] =
    "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
    "  - {accelerator: T4, base_s: 60.0, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]}\n"
    "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
    "  within: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
    "startup_s: {distribution: lognormal, mean: 5.0, cv: 0.3}\ncheckpoint_s: 1.0\nprovisioning:\n"
    "  - {infra: aws, instance_type: \"*\", market: \"*\", queue_s: 8.0, init_s: 20.0, capacity_failure: 0.0,"
    " preemption_per_hour: 0.0}\n";
static const char prices[] = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                             "aws/us-east-1,one.small,T4,1,16,48,192,on_demand,4.0\n";

static void start(struct rb_case *c, const char *limits)
{
    char job[1024];
    snprintf(job, sizeof job, "%s%s", job_yaml, limits);
    case_init(c, job, profile_yaml, prices);
}

static void the_plan_keeps_the_budget(void **state)
{
    struct rb_case c;
    struct rb_best_for b;
    struct rb_quality_law law;
    struct rb_err err = {0};
    (void)state;
    start(&c, "budget: 8\ndeadline: 90m\n");
    rb_quality_law_prior(&law);
    if (!rb_best_for_find(&c.req, "optimal", &law, true, &c.arena, &b, &err))
        fail_msg("%s", err.message);
    assert_true(b.plan.estimate.p_both >= 0.95 && b.plan.budget_uusd == 8000000);
    assert_int_equal(b.plan.stages[0].trials, b.chosen.choice.num_trials);
    assert_int_equal(b.job->scheduler.num_trials, b.chosen.trials);
    assert_int_equal(b.more_money.budget_uusd, 9000000); // 1: the largest of 1, 2, 5 ... up to a fifth
    assert_true(b.more_money.best.z.mean >= b.chosen.best.z.mean - 0.02);
    assert_true(b.less_time.asked && b.less_time.deadline_us == 60 * 60 * RB_US_PER_S);
    for (int i = 1; i < b.n_frontier; i++) {
        assert_true(b.frontier[i].budget_uusd > b.frontier[i - 1].budget_uusd);
        assert_true(b.frontier[i].best.z.mean >= b.frontier[i - 1].best.z.mean - 0.02);
        assert_true(b.frontier[i].estimate.cost_uusd.mean <= b.frontier[i].budget_uusd);
    }
    assert_true(b.n_frontier >= 5 && !b.has_target && !b.cut);
    case_finish(&c);
}

static void what_cannot_be_answered_says_so(void **state)
{
    static const struct {
        const char *limits, *prices, *says;
    } cases[] = {
        {"budget: 0.01\n", prices, "no search of this job is affordable"},
        {"budget: 8\nobjective: min_cost\n", NULL, "nothing limits the search"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rb_case c;
        struct rb_best_for b;
        struct rb_quality_law law;
        struct rb_err err = {0};
        start(&c, cases[i].limits);
        for (int k = 0; k < c.catalog.n_offers && !cases[i].prices; k++) {
            c.catalog.offers[k].rate.uusd_per_hour = 0;
            c.catalog.offers[k].declared_free = true;
        }
        rb_quality_law_prior(&law);
        assert_false(rb_best_for_find(&c.req, "optimal", &law, false, &c.arena, &b, &err));
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s", err.message);
        case_finish(&c);
    }
}

// ---- dollars to the target

// Every trial has the target with probability 1/10 at its only rung: geometric over the trials of a stage.
static void the_target_ends_the_search_where_it_is_first_reported(void **state)
{
    static double scores[1000];
    struct rb_job job = job_of("random", 9);
    const struct rb_plan_stage stage = {.trials = 20, .cost_uusd = {.mean = 20000000}};
    const struct rb_plan plan = {.job = &job, .stages = &stage, .n_stages = 1};
    const struct rb_quality_law law = {.source = "a test", .share = {1}, .rho = {1}, .n = 1, .scores = scores,
                                       .n_scores = 1000};
    struct rb_to_target t;
    struct rb_err err = {0};
    double mean = 0, reached = 0;
    (void)state;
    for (int i = 0; i < 1000; i++)
        scores[i] = i;
    job.scheduler.num_trials = 20;
    job.has_target = true;
    job.target = 900;
    assert_true(rb_target_expect(&law, &plan, 20000, &t, &err));
    for (int k = 1; k <= 20; k++) { // P(first at k) = .9^(k-1) .1, given that there is one
        mean += k * pow(0.9, k - 1) * 0.1;
        reached += pow(0.9, k - 1) * 0.1;
    }
    assert_float_equal(t.reached, reached, 0.01);
    assert_float_equal((double)t.cost_uusd.mean / 1e6, mean / reached, 0.15);
    assert_true(t.cost_uusd.p5 == 1000000 && t.cost_uusd.p95 <= 20000000);
    job.target = 2000;
    assert_true(rb_target_expect(&law, &plan, 100, &t, &err));
    assert_float_equal(t.reached, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_affordable_search_is_expected_to_find_more),
        cmocka_unit_test(the_number_of_trials_is_the_largest_to_3_percent),
        cmocka_unit_test(more_money_finds_no_less),
        cmocka_unit_test(brackets_are_chosen_for_hyperband),
        cmocka_unit_test(nothing_is_chosen_where_nothing_is_affordable),
        cmocka_unit_test(no_rung_ends_before_the_law_knows_anything),
        cmocka_unit_test(learning_samplers_are_worth_more),
        cmocka_unit_test(the_plan_keeps_the_budget),
        cmocka_unit_test(what_cannot_be_answered_says_so),
        cmocka_unit_test(the_target_ends_the_search_where_it_is_first_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
