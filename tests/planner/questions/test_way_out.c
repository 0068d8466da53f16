// What an infeasible request is offered: pairs that a plan keeps when they are asked for, and the limit that binds.
#include "case.h"

#include "planner/questions/way_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char job[] = "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
                          "scheduler: {type: sha, num_trials: 32, min_resource: 1, max_resource: 4, eta: 2}\n"
                          "trial: {gpus: 1}\nrun: python t.py\n"
                          "resources: {infra: [aws/us-east-1], max_nodes: %d, spot: never}\n"
                          "deadline: %s\nbudget: %s\nconfidence: 0.9\n";
static const char profile[] = "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
                              "  - accelerator: T4\n    base_s: 100\n    layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]\n"
                              "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
                              "  within: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
                              "startup_s: {distribution: lognormal, mean: 5.0, cv: 0.3}\ncheckpoint_s: 1.0\n"
                              "provisioning:\n"
                              "  - {infra: aws, instance_type: \"*\", market: \"*\","
                              " queue_s: {distribution: lognormal, mean: 10.0, cv: 0.4},"
                              " init_s: {distribution: lognormal, mean: 40.0, cv: 0.3},"
                              " capacity_failure: 0.0, preemption_per_hour: %s}\n";
static const char prices[] = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                             "aws/us-east-1,one.small,T4,1,16,48,192,on_demand,4\n"
                             "aws/us-east-1,one.small,T4,1,16,48,192,spot,1\n";

struct asked {
    struct rb_case c;
    struct rb_plan_result result;
    struct rb_way_out way_out;
    char job_text[sizeof job + 64], profile_text[sizeof profile + 16];
};

// Infeasible, or the test fails.
static void ask(struct asked *a, int max_nodes, const char *deadline, const char *budget, const char *preemption)
{
    struct rb_plan plan;
    struct rb_err err = {0};
    snprintf(a->job_text, sizeof a->job_text, job, max_nodes, deadline, budget);
    snprintf(a->profile_text, sizeof a->profile_text, profile, preemption);
    case_init(&a->c, a->job_text, a->profile_text, prices);
    assert_false(rb_make_plan(&a->c.req, "optimal", &a->c.arena, &plan, &a->result, &err));
    assert_int_equal(err.code, RB_ERR_INFEASIBLE);
    rb_way_out_find(&a->c.req, "optimal", &a->result, &a->c.arena, &a->way_out);
}

static bool is_kept(struct asked *a, struct rb_way_out_pair pair)
{
    struct rb_plan_request req = a->c.req;
    struct rb_plan_result result;
    struct rb_plan plan;
    struct rb_err err = {0};
    req.deadline_us = pair.deadline_us;
    req.budget_uusd = pair.budget_uusd;
    return rb_make_plan(&req, "optimal", &a->c.arena, &plan, &result, &err) && plan.estimate.p_both >= req.confidence;
}

static void both_together_where_neither_alone_would_do(void **state)
{
    struct asked a;
    (void)state;
    ask(&a, 4, "2m", "$0.5", "0.0");
    assert_int_equal(a.result.nearest_deadline_us, -1);
    assert_int_equal(a.result.nearest_budget_uusd, -1);
    assert_int_equal(a.way_out.n_pairs, 2);
    assert_true(is_kept(&a, a.way_out.fastest));
    assert_true(is_kept(&a, a.way_out.cheapest));
    assert_true(a.way_out.fastest.deadline_us < a.way_out.cheapest.deadline_us);
    assert_true(a.way_out.fastest.budget_uusd > a.way_out.cheapest.budget_uusd);
    RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
    rb_way_out_say(&a.way_out, &said);
    assert_non_null(strstr(rb_buf_str(&said), "both changed together would do: --deadline "));
    case_finish(&a.c);
}

// With 4 nodes the first stage alone is eight waves; with enough of them all stages fit.
static void the_fewest_nodes_that_do(void **state)
{
    struct asked a;
    (void)state;
    ask(&a, 4, "12m", "$100", "0.0");
    assert_true(a.result.nearest_deadline_us > 0);
    assert_int_equal(a.way_out.n_pairs, 0);
    assert_memory_equal(a.way_out.limit.what, "resources.max_nodes=", 20);
    const int n = atoi(a.way_out.limit.what + 20);
    assert_in_range(n, 5, 32);
    assert_in_range(a.way_out.limit.time_us, 1, 12 * 60 * RB_US_PER_S);
    for (int less = 0; less < 2; less++) {
        struct asked again;
        struct rb_plan plan;
        struct rb_err err = {0};
        snprintf(again.job_text, sizeof again.job_text, job, n - less, "12m", "$100");
        case_init(&again.c, again.job_text, a.profile_text, prices);
        const bool found = rb_make_plan(&again.c.req, "optimal", &again.c.arena, &plan, &again.result, &err);
        assert_int_equal(found, !less);
        case_finish(&again.c);
    }
    case_finish(&a.c);
}

static void spot_where_only_the_budget_binds(void **state)
{
    struct asked a;
    (void)state;
    ask(&a, 32, "5h", "$3", "0.01");
    assert_non_null(a.way_out.limit.what);
    assert_string_equal(a.way_out.limit.what, "resources.spot=allow");
    assert_in_range(a.way_out.limit.cost_uusd, 1, 3 * RB_UUSD);
    case_finish(&a.c);
}

// Where the clock says that it is enough, nothing is looked for but the pairs.
static bool late(void *ctx)
{
    (void)ctx;
    return true;
}

static void expect_no_limit(bool (*out_of_time)(void *ctx), double (*time_used)(void *ctx))
{
    struct asked a;
    ask(&a, 4, "12m", "$100", "0.0");
    assert_non_null(a.way_out.limit.what); // with time there is one
    a.c.req.out_of_time = out_of_time;
    a.c.req.time_used = time_used;
    a.c.req.time_limit_us = RB_US_PER_S;
    rb_way_out_find(&a.c.req, "optimal", &a.result, &a.c.arena, &a.way_out);
    assert_null(a.way_out.limit.what);
    case_finish(&a.c);
}

static void no_time_no_limit(void **state)
{
    (void)state;
    expect_no_limit(late, NULL);
}

// The plan took more than half of a limit: there is no time for another.
static double more_than_half(void *ctx)
{
    (void)ctx;
    return 0.6;
}

static bool not_yet(void *ctx)
{
    (void)ctx;
    return false;
}

static void nor_where_another_plan_would_be_late(void **state)
{
    (void)state;
    expect_no_limit(not_yet, more_than_half);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_together_where_neither_alone_would_do),
        cmocka_unit_test(the_fewest_nodes_that_do),
        cmocka_unit_test(spot_where_only_the_budget_binds),
        cmocka_unit_test(no_time_no_limit),
        cmocka_unit_test(nor_where_another_plan_would_be_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
