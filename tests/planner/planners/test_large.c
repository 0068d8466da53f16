// Jobs too large to be searched in full: the time limit is kept, memory and samples are bounded, and the plan says what it
// does not know.
#include "case.h"

#include "tests/base/says.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LIMIT_S 2   // of processor time: a busy machine changes nothing
#define FACTOR  1.2 // times the limit
#define TYPES   8
#define SAMPLES 4096
#define TIGHT_S 2500 // seconds that only the fastest types keep

static double time_used(void *ctx)
{
    return (double)(clock() - *(const clock_t *)ctx) / CLOCKS_PER_SEC / LIMIT_S;
}

static bool out_of_time(void *ctx)
{
    return time_used(ctx) >= 1;
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

static void write_profile(struct rb_buf *out, double preemption_per_hour)
{
    rb_buf_printf(out, "format: rb-profile/1\nname: large\nunit: epoch\nsource: drawn\ntraining:\n");
    for (int t = 0; t < TYPES; t++)
        rb_buf_printf(out,
                      "  - accelerator: T%d\n    base_s: %d\n    layouts:\n"
                      "      - {gpus: 1, nodes: 1, speedup: 1}\n      - {gpus: 2, nodes: 1, speedup: 1.9}\n"
                      "      - {gpus: 4, nodes: 1, speedup: 3.5}\n      - {gpus: 8, nodes: 1, speedup: 6}\n",
                      t, 8 + t);
    rb_buf_printf(out, "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.2}\n"
                       "  within: {distribution: constant, mean: 1.0}\n"
                       "startup_s: 2.0\ncheckpoint_s: 1.0\nprovisioning:\n");
    for (int spot = 0; spot < 2; spot++)
        rb_buf_printf(out,
                      "  - infra: aws\n    instance_type: \"*\"\n    market: %s\n"
                      "    queue_s: {distribution: lognormal, mean: 20, cv: 0.4}\n"
                      "    init_s: {distribution: lognormal, mean: 60, cv: 0.2}\n"
                      "    capacity_failure: 0.0\n    preemption_per_hour: %g\n",
                      spot ? "spot" : "on_demand", spot ? preemption_per_hour : 0.0);
}

static void write_prices(struct rb_buf *out)
{
    rb_buf_printf(out, "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n");
    for (int t = 0; t < TYPES; t++) {
        rb_buf_printf(out, "aws/us-east-1/us-east-1a,m%d.8,T%d,8,16,64,488,on_demand,%d\n", t, t, 20 - t);
        rb_buf_printf(out, "aws/us-east-1/us-east-1a,m%d.8,T%d,8,16,64,488,spot,%d\n", t, t, 10 - t / 2);
        rb_buf_printf(out, "aws/us-east-1/us-east-1b,m%d.8,T%d,8,16,64,488,on_demand,%d\n", t, t, 21 - t);
    }
}

static void large_case_of(struct rb_case *c, const char *scheduler, double preemption_per_hour)
{
    struct rb_buf job = RB_BUF_INIT, profile = RB_BUF_INIT, prices = RB_BUF_INIT;
    rb_buf_printf(&job,
                  "name: large\nmetric: {name: loss, goal: minimize}\n"
                  "parameters:\n  lr: {distribution: log_uniform, min: 1.0e-4, max: 1.0e-1}\n"
                  "scheduler: {%s}\n"
                  "trial:\n  gpus: {min: 1, max: 8, sizes: [1, 2, 4, 8]}\n  max_nodes: 1\n"
                  "resources: {infra: [aws/us-east-1], spot: allow, max_nodes: 64}\nrun: python train.py\n",
                  scheduler);
    write_profile(&profile, preemption_per_hour);
    write_prices(&prices);
    case_init(c, rb_buf_str(&job), rb_buf_str(&profile), rb_buf_str(&prices));
    rb_buf_finish(&job);
    rb_buf_finish(&profile);
    rb_buf_finish(&prices);
    c->req.samples = SAMPLES;
    c->req.deadline_us = 6 * 3600 * RB_US_PER_S;
}

static void large_case(struct rb_case *c, double preemption_per_hour)
{
    large_case_of(c, "type: sha, num_trials: 2000, min_resource: 1, max_resource: 256, eta: 2, rungs: cumulative",
                  preemption_per_hour);
}

static bool warns_of(const struct rb_plan *plan, const char *what)
{
    for (int i = 0; i < plan->n_warnings; i++) {
        if (strstr(plan->warnings[i], what))
            return true;
    }
    return false;
}

static void set_limit(struct rb_case *c, clock_t *start)
{
    c->req.time_limit_us = LIMIT_S * RB_US_PER_S;
    c->req.out_of_time = out_of_time;
    c->req.time_used = time_used;
    c->req.out_of_time_ctx = start;
}

static void plan_within_limit(struct rb_case *c, struct rb_plan *plan)
{
    clock_t start = clock();
    struct rb_plan_result result;
    struct rb_err err = {0};
    set_limit(c, &start);
    if (!rb_make_plan(&c->req, "optimal", &c->arena, plan, &result, &err))
        fail_msg("%s", err.message);
    if (time_used(&start) >= FACTOR)
        fail_msg("took %.1f times the limit", time_used(&start));
}

static void answers_within_the_limit(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    large_case(&c, 0);
    plan_within_limit(&c, &plan);
    assert_int_equal(plan.n_stages, 9);
    // As many runs as a machine of this speed makes in a part of the limit, and it says so where that is fewer than asked for.
    assert_true(plan.estimate.samples >= 64);
    assert_int_equal(warns_of(&plan, "simulated runs"), plan.estimate.samples < SAMPLES);
    assert_true(plan.estimate.p_both >= plan.confidence);
    assert_false(plan.bound.proved);
    assert_non_null(plan.bound.why_not);
    // Laws tell the bound, runs the mean: it may err by what it says.
    assert_true(plan.bound.cost_uusd <= plan.estimate.cost_uusd.mean + plan.estimate.error.cost_mean_uusd);
    case_finish(&c);
}

// Only the engine knows a market that is mostly down. Each plan is judged by runs of it, and none keeps the confidence.
static void the_limit_is_kept_where_a_market_is_mostly_down(void **state)
{
    (void)state;
    static const char job[] =
        "name: down\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
        "scheduler: {type: sha, num_trials: 256, min_resource: 1, max_resource: 256, eta: 4}\n"
        "trial: {gpus: {min: 1, max: 4, sizes: [1, 2, 4]}}\n"
        "run: python t.py\nresources: {infra: [aws/us-east-1], spot: only, max_nodes: 64}\n";
    static const char known[] =
        "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
        "  - {accelerator: T4, base_s: 60, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}, {gpus: 4, nodes: 1, speedup: 3}]}\n"
        "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
        "  within: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
        "startup_s: 5\ncheckpoint_s: 1.0\nprovisioning:\n"
        "  - {infra: \"*\", instance_type: \"*\", market: spot, queue_s: 10, init_s: 60, capacity_failure: 0.0,"
        " spells: {sampled_s: 60, days: 9, up_s: 3600, down_s: 24000, together: 1,"
        " hazard: [{from_s: 0, per_hour: 0.1}]}}\n";
    static const char prices[] =
        "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
        "aws/us-east-1,g4dn.12xlarge,T4,4,16,48,192,spot,1.2\n";
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    clock_t start = clock();
    case_init(&c, job, known, prices);
    c.req.samples = SAMPLES;
    c.req.deadline_us = 8 * 3600 * RB_US_PER_S;
    set_limit(&c, &start);
    if (rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err))
        fail_msg("a plan with P %.3f", plan.estimate.p_both);
    assert_true(error_says(&err, "RB2001 no plan was found that keeps the constraints"));
    if (time_used(&start) >= FACTOR)
        fail_msg("took %.1f times the limit", time_used(&start));
    case_finish(&c);
}

static void spot_that_cannot_be_replayed_is_left_out_aloud(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    large_case(&c, 0.05);
    plan_within_limit(&c, &plan);
    for (int i = 0; i < plan.n_stages; i++)
        assert_int_equal(plan.offers[plan.stages[i].nodes[0].offer].market, RB_MARKET_ON_DEMAND);
    assert_true(warns_of(&plan, "8 offers that may lose nodes were not considered"));
    assert_false(plan.bound.proved);
    assert_true(plan.bound.present); // by the work theorem, of what was left out, too
    assert_non_null(strstr(plan.bound.why_not, "may lose nodes"));
    case_finish(&c);
}

// 5,000 trials: a run by the engine takes about 15 ms, and the limit is that of a hundred.
static void an_asynchronous_job_has_a_plan_within_the_limit(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    large_case_of(&c, "type: asha, num_trials: 5000, min_resource: 1, max_resource: 64, eta: 4", 0.05);
    plan_within_limit(&c, &plan);
    assert_true(plan.estimate.p_both >= plan.confidence);
    assert_true(warns_of(&plan, "simulated runs"));
    assert_true(plan.estimate.error.p_both > 0.05); // of so few
    case_finish(&c);
}

// --- many small limits

static double cpu_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

struct budget {
    double start_s, limit_s;
    double first_notice; // share of the limit; 0: there was none
    char notice[256];
};

static double budget_used(void *ctx)
{
    const struct budget *b = ctx;
    return (cpu_s() - b->start_s) / b->limit_s;
}

static bool budget_is_over(void *ctx)
{
    return budget_used(ctx) >= 1;
}

static void take_notice(void *ctx, const char *text)
{
    struct budget *b = ctx;
    b->first_notice = budget_used(b);
    snprintf(b->notice, sizeof b->notice, "%s", text);
}

// Seconds of processor time; limit_s 0: none.
static double plan_timed(struct rb_case *c, double limit_s, struct budget *b)
{
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    *b = (struct budget){.start_s = cpu_s(), .limit_s = limit_s};
    if (limit_s > 0) {
        c->req.time_limit_us = (int64_t)(limit_s * 1e6);
        c->req.out_of_time = budget_is_over;
        c->req.time_used = budget_used;
        c->req.out_of_time_ctx = b;
        c->req.notice = take_notice;
        c->req.notice_ctx = b;
    }
    if (!rb_make_plan(&c->req, "optimal", &c->arena, &plan, &result, &err) && err.code != RB_ERR_INFEASIBLE)
        fail_msg("%s", err.message);
    return cpu_s() - b->start_s;
}

// Of jobs that take from a hundredth of a second to a second without a limit.
static void no_limit_makes_a_plan_slower(void **state)
{
    (void)state;
    static const double limits_s[] = {0.05, 0.5, 5};
    for (uint32_t number = 0; number < 6; number++) {
        struct rb_case c;
        struct budget b;
        case_random(&c, number);
        c.req.samples = SAMPLES;
        const double without_s = plan_timed(&c, 0, &b);
        for (size_t i = 0; i < sizeof limits_s / sizeof limits_s[0]; i++) {
            const double took_s = plan_timed(&c, limits_s[i], &b);
            if (took_s > 2 * without_s + 0.05)
                fail_msg("case %u: %.3f s with a limit of %.2f s, %.3f s without", number, took_s, limits_s[i],
                         without_s);
        }
        case_finish(&c);
    }
}

// Measured speeds that are uncertain are played trial by trial.
static void limits_are_kept_where_runs_are_slow(void **state)
{
    (void)state;
    struct rb_case c;
    struct budget b;
    large_case(&c, 0);
    case_make_uncertain(&c, 0.05);
    const double took_s = plan_timed(&c, 1, &b);
    if (took_s > FACTOR)
        fail_msg("%.2f s with a limit of 1 s", took_s);
    case_finish(&c);
}

static void a_limit_that_is_too_short_is_said_at_once(void **state)
{
    (void)state;
    struct rb_case c;
    struct budget b;
    large_case(&c, 0);
    case_make_uncertain(&c, 0.05);
    const double took_s = plan_timed(&c, 0.005, &b);
    assert_true(b.first_notice > 0);
    assert_true(b.first_notice * b.limit_s < 5 && b.first_notice * b.limit_s < took_s);
    assert_non_null(strstr(b.notice, "cannot be kept"));
    assert_non_null(strstr(b.notice, "--time-limit "));
    plan_timed(&c, 3, &b);
    assert_true(b.first_notice <= 0);
    case_finish(&c);
}

// --- a clock that has run out before anything is looked at

static double all_used(void *ctx)
{
    (void)ctx;
    return 1;
}

static bool plan_without_time(struct rb_case *c, struct rb_plan *plan, struct rb_plan_result *result)
{
    struct rb_err err = {0};
    c->req.time_limit_us = 1000;
    c->req.out_of_time = always;
    c->req.time_used = all_used;
    return rb_make_plan(&c->req, "optimal", &c->arena, plan, result, &err);
}

// The static planner with all the time in the world, at a deadline a tenth later than the tightest it says it keeps: without
// time a probability is that of few replicates.
static bool static_near_its_tightest(struct rb_case *c)
{
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    c->req.deadline_us = 0;
    if (rb_make_plan(&c->req, "static", &c->arena, &plan, &result, &err) || result.nearest_deadline_us < 0)
        return false;
    c->req.deadline_us = result.nearest_deadline_us + result.nearest_deadline_us / 10;
    return rb_make_plan(&c->req, "static", &c->arena, &plan, &result, &err);
}

static void what_static_can_plan_needs_no_time(void **state)
{
    (void)state;
    int n_planned = 0;
    for (uint32_t number = 0; number < 60; number++) {
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        case_random(&c, number);
        if (static_near_its_tightest(&c)) {
            n_planned++;
            if (!plan_without_time(&c, &plan, &result))
                fail_msg("case %u: static has a plan, and optimal without time has none", number);
            assert_true(result.best.estimate.p_both >= plan.confidence);
            assert_non_null(plan.bound.why_not);
        }
        case_finish(&c);
    }
    assert_true(n_planned >= 30);
}

// The type that is cheapest for the work is too slow, and so are some more: the first that static looks at.
static void costly_fast_offers_are_looked_at_without_time(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    large_case(&c, 0);
    c.req.deadline_us = TIGHT_S * RB_US_PER_S;
    if (!plan_without_time(&c, &plan, &result))
        fail_msg("no plan, nearest deadline %.0f s", (double)result.nearest_deadline_us / 1e6);
    assert_true(result.cut);
    case_finish(&c);
}

// Stopped at once, an evaluation is that of the fewest replicates; with two threads, of as many.
static void evaluation_stops_between_replicates(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_scenario scenario;
    struct rb_err err = {0};
    struct rb_estimate stopped, few;
    struct rb_evaluate_options opt = rb_evaluate_defaults();
    case_random(&c, 3);
    assert_true(rb_make_plan(&c.req, "static", &c.arena, &plan, &result, &err));
    assert_true(rb_scenario_init(&scenario, &c.job, &c.profile, plan.offers, plan.n_offers, &c.catalog, 7, &err));
    opt.stop = always;
    assert_true(rb_evaluate(&scenario, plan.stages, plan.n_stages, &opt, &stopped, NULL, &err));
    opt.stop = NULL;
    opt.samples = RB_EVALUATE_FEWEST;
    assert_true(rb_evaluate(&scenario, plan.stages, plan.n_stages, &opt, &few, NULL, &err));
    assert_int_equal(stopped.samples, RB_EVALUATE_FEWEST);
    assert_memory_equal(&stopped, &few, sizeof few);

    opt = rb_evaluate_defaults();
    opt.stop = always;
    opt.threads = 2;
    assert_true(rb_evaluate(&scenario, plan.stages, plan.n_stages, &opt, &stopped, NULL, &err));
    assert_int_equal(stopped.samples, RB_EVALUATE_FEWEST);
    assert_true(stopped.time_us.p5 > 0 && stopped.cost_uusd.p5 > 0);
    rb_scenario_finish(&scenario);
    case_finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_within_the_limit),
        cmocka_unit_test(an_asynchronous_job_has_a_plan_within_the_limit),
        cmocka_unit_test(no_limit_makes_a_plan_slower),
        cmocka_unit_test(limits_are_kept_where_runs_are_slow),
        cmocka_unit_test(a_limit_that_is_too_short_is_said_at_once),
        cmocka_unit_test(the_limit_is_kept_where_a_market_is_mostly_down),
        cmocka_unit_test(what_static_can_plan_needs_no_time),
        cmocka_unit_test(costly_fast_offers_are_looked_at_without_time),
        cmocka_unit_test(spot_that_cannot_be_replayed_is_left_out_aloud),
        cmocka_unit_test(evaluation_stops_between_replicates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
