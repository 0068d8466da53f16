// Nodes that live for less than the 60 s that a cloud bills at least: what is told of a plan is what it will be billed, and
// nothing is proved by sums of seconds. Where nodes live longer, nothing changes.
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char job[] = "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
                          "scheduler: {type: sha, num_trials: 4, min_resource: 1, max_resource: 2, eta: 2}\n"
                          "trial: {gpus: {min: 1, max: 1, sizes: [1]}, max_nodes: 1}\n"
                          "run: python t.py\nresources: {infra: [aws/us-east-1], max_nodes: 4}\n";
static const char prices[] = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                             "aws/us-east-1,small,T4,1,16,4,16,on_demand,0.36\n";

static void make_plan(struct rb_case *c, double epoch_s, int64_t deadline_s, struct rb_plan *plan)
{
    char profile[1200];
    struct rb_plan_result result;
    struct rb_err err = {0};
    snprintf(profile, sizeof profile,
             "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
             "  - {accelerator: T4, base_s: %g, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}\n"
             "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.03}\n"
             "  within: {distribution: lognormal, mean: 1.0, cv: 0.03}\n"
             "startup_s: {distribution: lognormal, mean: 1, cv: 0.2}\n"
             "checkpoint_s: {distribution: lognormal, mean: 0.5, cv: 0.2}\nprovisioning:\n"
             "  - infra: aws\n    instance_type: \"*\"\n    market: \"*\"\n"
             "    queue_s: {distribution: lognormal, mean: 2, cv: 0.4}\n"
             "    init_s: {distribution: lognormal, mean: 3, cv: 0.2}\n"
             "    capacity_failure: 0.0\n    preemption_per_hour: 0.0\n",
             epoch_s);
    case_init(c, job, profile, prices);
    c->req.samples = 1024;
    c->req.deadline_us = deadline_s * RB_US_PER_S;
    c->req.confidence = 0.95;
    if (!rb_make_plan(&c->req, "optimal", &c->arena, plan, &result, &err))
        fail_msg("%s", err.message);
}

static int64_t fresh_mean_uusd(struct rb_case *c, const struct rb_plan *plan)
{
    struct rb_scenario scenario;
    struct rb_estimate fresh;
    struct rb_err err = {0};
    struct rb_evaluate_options opt = rb_evaluate_defaults();
    opt.first = 1u << 25; // draws that nobody has used
    assert_true(rb_scenario_init(&scenario, &c->job, &c->profile, plan->offers, plan->n_offers, &c->catalog, 7, &err));
    assert_true(rb_evaluate(&scenario, plan->stages, plan->n_stages, &opt, &fresh, NULL, &err));
    rb_scenario_finish(&scenario);
    return fresh.cost_uusd.mean;
}

// One node for 45 s, or two for 25 s: either is billed by the minute, $0.006 a node.
static void what_is_billed_is_told(void **state)
{
    (void)state;
    static const struct {
        int64_t deadline_s, mean_uusd;
    } cases[] = {{300, 6000}, {40, 12000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rb_case c;
        struct rb_plan plan;
        make_plan(&c, 5, cases[i].deadline_s, &plan);
        const struct rb_estimate *e = &plan.estimate;
        assert_true(llabs(e->cost_uusd.mean - cases[i].mean_uusd) <= 10);
        assert_true(llabs(e->cost_uusd.mean - fresh_mean_uusd(&c, &plan)) <= 10);
        assert_true(e->cost_uusd.p5 <= e->cost_uusd.mean && e->cost_uusd.mean <= e->cost_uusd.p99);
        assert_false(plan.bound.proved);
        assert_true(plan.bound.present && plan.bound.cost_uusd < cases[i].mean_uusd && plan.bound.gap > 0);
        assert_non_null(strstr(plan.bound.why_not, "60 s"));
        for (int b = 0; b < plan.n_baselines; b++)
            assert_true(plan.baselines[b].estimate.cost_uusd.mean + 10 >= cases[i].mean_uusd);
        case_finish(&c);
    }
}

static void longer_lives_are_proved_as_before(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    make_plan(&c, 300, 7200, &plan);
    assert_true(plan.bound.proved);
    assert_int_equal(plan.estimate.time_method, RB_ESTIMATE_LAWS);
    const int64_t told = plan.estimate.cost_uusd.mean;
    assert_true(llabs(told - fresh_mean_uusd(&c, &plan)) < told / 100);
    case_finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_billed_is_told),
        cmocka_unit_test(longer_lives_are_proved_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
