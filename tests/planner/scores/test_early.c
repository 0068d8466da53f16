// Nodes requested before the barrier at which they are needed: where that pays, where it does not, and that what is said of
// it is what the simulator says.
//
// Eight trials halve to one on cheap slow machines or on costly fast ones, which take six minutes to come. Where the deadline
// asks for the fast ones after some stages, waiting for them costs time that more expensive plans make up for.
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 1024

static const char job[] = "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
                          "scheduler: {type: sha, num_trials: 8, min_resource: 1, max_resource: 24, eta: 2}\n"
                          "trial: {gpus: {min: 1, max: 1, sizes: [1]}, max_nodes: 1}\n"
                          "run: python t.py\nresources: {infra: [aws/us-east-1], max_nodes: 16}\n";
static const char prices[] = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                             "aws/us-east-1,slow,T4,1,16,4,16,on_demand,0.526\n"
                             "aws/us-east-1,fast,V100,1,16,8,61,on_demand,3.06\n";
static const char slow_to_come[] = "{distribution: lognormal, mean: 300, cv: 0.2}";
static const char quick_to_come[] = "{distribution: lognormal, mean: 2, cv: 0.2}";

struct lines {
    char early[512]; // the last line about early requests
};

static void keep_line(void *ctx, const char *text)
{
    struct lines *lines = ctx;
    if (strncmp(text, "early requests:", 15) == 0)
        strncpy(lines->early, text, sizeof lines->early - 1);
}

static void make_case(struct rb_case *c, const char *init_s, int queue_s, int64_t deadline_s, struct lines *lines)
{
    char profile[1200];
    snprintf(profile, sizeof profile,
             "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
             "  - {accelerator: T4, base_s: 600, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}\n"
             "  - {accelerator: V100, base_s: 150, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}\n"
             "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.03}\n"
             "  within: {distribution: constant, mean: 1.0}\nstartup_s: 2.0\ncheckpoint_s: 1.0\nprovisioning:\n"
             "  - infra: aws\n    instance_type: \"*\"\n    market: \"*\"\n"
             "    queue_s: {distribution: lognormal, mean: %d, cv: 0.4}\n    init_s: %s\n"
             "    capacity_failure: 0.0\n    preemption_per_hour: 0.0\n",
             queue_s, init_s);
    *lines = (struct lines){""};
    case_init(c, job, profile, prices);
    c->req.samples = SAMPLES;
    c->req.deadline_us = deadline_s * RB_US_PER_S;
    c->req.confidence = 0.95;
    c->req.early = true;
    c->req.explain = keep_line;
    c->req.explain_ctx = lines;
}

static void make_plan(struct rb_case *c, struct rb_plan *plan, struct rb_plan_result *result)
{
    struct rb_err err = {0};
    if (!rb_make_plan(&c->req, "optimal", &c->arena, plan, result, &err))
        fail_msg("%s", err.message);
}

static int count_early(const struct rb_plan *plan)
{
    int n = 0;
    for (int i = 0; i < plan->n_stages; i++)
        n += plan->stages[i].n_early;
    return n;
}

static void fresh_runs(struct rb_case *c, const struct rb_plan *plan, const struct rb_plan_stage *stages,
                       struct rb_estimate *out)
{
    struct rb_scenario scenario;
    struct rb_err err = {0};
    struct rb_evaluate_options opt = rb_evaluate_defaults();
    opt.deadline_us = plan->deadline_us;
    opt.first = 1u << 25;
    assert_true(rb_scenario_init(&scenario, &c->job, &c->profile, plan->offers, plan->n_offers, &c->catalog, 7, &err));
    assert_true(rb_evaluate(&scenario, stages, plan->n_stages, &opt, out, NULL, &err));
    rb_scenario_finish(&scenario);
}

static void early_requests_pay(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_estimate fresh, without;
    struct lines lines;
    make_case(&c, slow_to_come, 20, 6300, &lines);
    make_plan(&c, &plan, &result);
    assert_true(result.early.any);
    assert_true(count_early(&plan) > 0);
    assert_non_null(strstr(lines.early, "saves $"));

    // The bound is of plans without early requests: this one claims no proof.
    assert_true(plan.bound.present && plan.bound.cost_uusd > 0);
    assert_false(plan.bound.proved);
    assert_true(plan.bound.gap >= 0);
    assert_non_null(strstr(plan.bound.why_not, "without early requests"));

    // On draws that no one has used, what is said holds; and without the requests it is late.
    fresh_runs(&c, &plan, plan.stages, &fresh);
    assert_true(fresh.p_deadline + 4 * fresh.stderr_.p_deadline >= c.req.confidence);
    assert_true(llabs(fresh.cost_uusd.mean - plan.estimate.cost_uusd.mean) <=
                5 * (fresh.stderr_.cost_mean_uusd + plan.estimate.stderr_.cost_mean_uusd));
    struct rb_plan_stage *late = rb_arena_array(&c.arena, (size_t)plan.n_stages, sizeof *late);
    memcpy(late, plan.stages, (size_t)plan.n_stages * sizeof *late);
    for (int i = 0; i < plan.n_stages; i++)
        late[i].n_early = 0;
    fresh_runs(&c, &plan, late, &without);
    assert_true(without.time_us.mean > fresh.time_us.mean + RB_US_PER_S);
    case_finish(&c);
}

// At these deadlines the exchange that the search likes best is too near to them to stand on other runs: what keeps farther away is
// found then, costs less than no early requests, and holds.
static void another_exchange_stands_where_the_best_does_not(void **state)
{
    (void)state;
    static const int deadlines_s[] = {6029, 6053, 6095, 6107, 6134};
    for (size_t i = 0; i < sizeof deadlines_s / sizeof *deadlines_s; i++) {
        struct rb_case c;
        struct rb_plan plan, without;
        struct rb_plan_result result;
        struct rb_estimate fresh;
        struct lines lines;
        make_case(&c, slow_to_come, 20, deadlines_s[i], &lines);
        make_plan(&c, &plan, &result);
        assert_true(result.early.any);
        assert_true(plan.estimate.p_deadline >= c.req.confidence);
        fresh_runs(&c, &plan, plan.stages, &fresh);
        assert_true(fresh.p_deadline + 4 * fresh.stderr_.p_deadline >= c.req.confidence);
        c.req.early = false;
        make_plan(&c, &without, &result);
        assert_true(plan.estimate.cost_uusd.mean < without.estimate.cost_uusd.mean);
        case_finish(&c);
    }
}

// With the loosest deadline nothing is gained by being sooner: every exchange only pays for nodes that wait.
static void early_requests_do_not_pay(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct lines lines;
    make_case(&c, slow_to_come, 20, 7200, &lines);
    make_plan(&c, &plan, &result);
    assert_false(result.early.any);
    assert_int_equal(count_early(&plan), 0);
    assert_non_null(strstr(lines.early, "none of"));
    assert_true(plan.bound.proved);
    case_finish(&c);
}

// Nodes that come within seconds: nothing is simulated at all.
static void short_delays_are_not_looked_at(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct lines lines;
    make_case(&c, quick_to_come, 20, 7200, &lines);
    make_plan(&c, &plan, &result);
    assert_false(result.early.any);
    assert_non_null(strstr(lines.early, "not looked for"));
    case_finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(early_requests_pay),
        cmocka_unit_test(another_exchange_stands_where_the_best_does_not),
        cmocka_unit_test(early_requests_do_not_pay),
        cmocka_unit_test(short_delays_are_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
