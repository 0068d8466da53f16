// The published planners on a job without noise, against numbers worked out by hand.
//
// Four trials halve to one: (4 -> 1), (2 -> 2), (1 -> 4); 100 s a unit on one GPU, 62.5 s on two, 40 s on four; nodes of
// four GPUs at $14.40 an hour, $0.004 a second, there at once. At most two nodes.
#include "case.h"

#include <math.h>
#include <string.h>

static const char job[] = "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
                          "scheduler: {type: sha, num_trials: 4, min_resource: 1, max_resource: 4, eta: 2}\n"
                          "trial: {gpus: {min: 1, max: 4, sizes: [1, 2, 4]}, max_nodes: 1}\n"
                          "run: python t.py\nresources: {infra: [aws/us-east-1], max_nodes: 2}\n";
static const char profile[] = "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
                              "  - accelerator: T4\n    base_s: 100\n    layouts:\n"
                              "      - {gpus: 1, nodes: 1, speedup: 1.0}\n"
                              "      - {gpus: 2, nodes: 1, speedup: 1.6}\n"
                              "      - {gpus: 4, nodes: 1, speedup: 2.5}\n"
                              "noise:\n  between: {distribution: constant, mean: 1.0}\n"
                              "  within: {distribution: constant, mean: 1.0}\n"
                              "startup_s: 0.0\ncheckpoint_s: 0.0\nprovisioning:\n"
                              "  - {infra: aws, instance_type: \"*\", market: \"*\", queue_s: 0.0, init_s: 0.0,"
                              " capacity_failure: 0.0, preemption_per_hour: 0.0}\n";
static const char prices[] = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                             "aws/us-east-1,four,T4,4,16,48,192,on_demand,14.4\n";

struct expected {
    int64_t deadline_s;
    const char *planner;
    bool feasible;
    int64_t time_us, cost_uusd;
    int gpus[3], nodes[3];
};

static const struct expected table[] = {
    // One node: 100 + 62.5 + 80 s, 243 s billed. Two nodes: 62.5 + 40 + 80 s, 183 s billed twice.
    {300, "static", true, 242500000, 972000, {1, 2, 4}, {1, 1, 1}},
    {200, "static", true, 182500000, 1464000, {2, 4, 4}, {2, 2, 2}},
    {182, "static", false, 0, 0, {0}, {0}},
    // Size 1: 400 s on one node. Size 2: 250 s, 250 + 63 s billed. Size 4: two waves of 40, 40, 80 s, 200 + 120 s billed.
    {500, "naive", true, 250000000, 1252000, {2, 2, 2}, {2, 1, 1}},
    {200, "naive", true, 200000000, 1280000, {4, 4, 4}, {2, 2, 1}},
    // From two nodes: the last stage needs one only, 183 + 103 s billed; any other step is too slow.
    {200, "greedy", true, 182500000, 1144000, {2, 4, 4}, {2, 2, 1}},
    // From one node nothing can be taken away that would make it cheaper.
    {300, "greedy", true, 242500000, 972000, {1, 2, 4}, {1, 1, 1}},
    {182, "greedy", false, 0, 0, {0}, {0}},
    {200, "optimal", true, 182500000, 1144000, {2, 4, 4}, {2, 2, 1}},
};

static void check(const struct expected *e)
{
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    case_init(&c, job, profile, prices);
    c.req.deadline_us = e->deadline_s * RB_US_PER_S;
    bool ok = rb_make_plan(&c.req, e->planner, &c.arena, &plan, &result, &err);
    if (ok != e->feasible)
        fail_msg("%s at %d s: %s", e->planner, (int)e->deadline_s, err.message);
    if (ok) {
        assert_int_equal(plan.estimate.time_us.mean, e->time_us);
        assert_int_equal(plan.estimate.cost_uusd.mean, e->cost_uusd);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(plan.stages[i].gpus_per_trial, e->gpus[i]);
            assert_int_equal(plan.stages[i].nodes[0].count, e->nodes[i]);
        }
    } else {
        assert_int_equal(err.code, RB_ERR_INFEASIBLE);
        assert_int_equal(result.nearest_deadline_us, 183 * RB_US_PER_S); // 182.5 s, up to the second
        assert_true(isnan(result.nearest_confidence));
    }
    case_finish(&c);
}

static void hand_worked_job(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        check(&table[i]);
}

// Without a deadline min_time asks for the least mean time, and ties go to the cheaper plan.
static void min_time(void **state)
{
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    (void)state;
    case_init(&c, job, profile, prices);
    c.req.objective = RB_OBJECTIVE_MIN_TIME;
    assert_true(rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err));
    assert_int_equal(plan.estimate.time_us.mean, 182500000);
    assert_int_equal(plan.estimate.cost_uusd.mean, 1144000);
    c.req.budget_uusd = 1143999;
    assert_true(rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err));
    assert_true(plan.estimate.time_us.mean > 182500000 && plan.estimate.cost_uusd.p99 <= 1143999);
    case_finish(&c);
}

// What a step of greedy says about itself, and that the cap is kept.
struct lines {
    int n;
    bool saw_infeasible, saw_costs;
};

static void count_line(void *ctx, const char *text)
{
    struct lines *lines = ctx;
    lines->n++;
    lines->saw_infeasible |= strstr(text, "infeasible: P") != NULL;
    lines->saw_costs |= strstr(text, "more") != NULL;
    assert_null(strchr(text, '\n'));
}

static void losers_are_explained(void **state)
{
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    struct lines lines = {0};
    (void)state;
    case_init(&c, job, profile, prices);
    c.req.deadline_us = 250 * RB_US_PER_S;
    c.req.explain = count_line;
    c.req.explain_ctx = &lines;
    assert_true(rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err));
    assert_true(lines.n > 5 && lines.n <= 202);
    assert_true(lines.saw_infeasible && lines.saw_costs);
    case_finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_worked_job),
        cmocka_unit_test(min_time),
        cmocka_unit_test(losers_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
