// Frontiers of plans whose chances are known from runs, of nodes that may be taken back and of asynchronous jobs: few runs decide a point, every
// point keeps its deadline by them, none costs more than a plan of its own deadline beyond what these runs err by, in cost and in
// probability, and no point is bought with fewer configurations.
#include "case.h"

#include "planner/scores/estimator.h"

#include "planner/questions/pareto.h"
#include "tests/base/every.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINT_SAMPLES 256 // the fewest that tell a point
#define SIGMA         3
#define CHOICE        0.03 // of a plan's cost: another choice on other runs

#define PROFILE(market, capacity, preemption)                                                             \
    "format: rb-profile/1\nname: runs\nunit: epoch\nsource: test\ntraining:\n"                            \
    "  - accelerator: T4\n    base_s: 60.0\n    layouts:\n"                                               \
    "      - {gpus: 1, nodes: 1, speedup: 1.0}\n      - {gpus: 2, nodes: 1, speedup: 1.8}\n"              \
    "      - {gpus: 4, nodes: 1, speedup: 3.0}\n"                                                         \
    "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"                                  \
    "  within: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"                                           \
    "startup_s: {distribution: constant, mean: 5.0}\ncheckpoint_s: {distribution: constant, mean: 1.0}\n" \
    "provisioning:\n  - infra: aws\n    instance_type: \"*\"\n    market: " market "\n"                   \
    "    queue_s: {distribution: lognormal, mean: 10.0, cv: 0.3}\n"                                       \
    "    init_s: {distribution: lognormal, mean: 40.0, cv: 0.3}\n    capacity_failure: " capacity "\n"    \
    "    preemption_per_hour: " preemption "\n"

#define PRICES(market)                                                                         \
    "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n" \
    "aws/us-east-1,small,T4,1,16,4,16," market ",0.60\n"                                       \
    "aws/us-east-1,large,T4,4,16,16,64," market ",2.60\n"

#define JOB(scheduler, spot)                                                                       \
    "name: runs\nmetric: {name: acc, goal: maximize}\nparameters:\n  lr: {min: 0.1, max: 0.9}\n"   \
    "scheduler: {type: " scheduler ", num_trials: 16, min_resource: 1, max_resource: 9, eta: 3}\n" \
    "run: python train.py\ntrial:\n  gpus: {min: 1, max: 4, sizes: [1, 2, 4]}\n"                   \
    "resources: {infra: [aws/us-east-1], max_nodes: 8, spot: " spot "}\nconfidence: 0.9\n"

static void begin_spot(struct rb_case *c)
{
    case_init(c, JOB("sha", "only"), PROFILE("spot", "0.2", "1.0"), PRICES("spot"));
    c->req.samples = 8 * POINT_SAMPLES;
}

static void begin_asynchronous(struct rb_case *c)
{
    case_init(c, JOB("asha", "never"), PROFILE("on_demand", "0.0", "0.0"), PRICES("on_demand"));
    c->req.samples = 4 * POINT_SAMPLES;
}

static void expect_points(const struct rb_case *c, const struct rb_pareto *pareto)
{
    int64_t before_uusd = INT64_MAX;
    assert_true(pareto->n_deadlines >= 4);
    assert_true(pareto->n_proved == 0 || !rb_job_is_asynchronous(&c->job));
    for (int i = 0; i < pareto->n_points; i++) {
        const struct rb_pareto_point *p = &pareto->points[i];
        const struct rb_pareto_point *best = rb_pareto_at(pareto, p->deadline_us, "optimal");
        // Few runs, unless these say less than was asked: then as many as a plan rests on.
        assert_true(p->estimate.samples == POINT_SAMPLES || p->estimate.samples >= RB_FEWEST_VERIFIED);
        assert_true(p->estimate.p_both >= c->req.confidence);
        assert_non_null(best);
        assert_true(best->estimate.cost_uusd.mean <= p->estimate.cost_uusd.mean);
        if (p == best) {
            assert_true(p->estimate.cost_uusd.mean <= before_uusd);
            before_uusd = p->estimate.cost_uusd.mean;
        }
    }
}

static double error_uusd(const struct rb_estimate *a, const struct rb_estimate *b)
{
    return SIGMA * hypot((double)a->stderr_.cost_mean_uusd, (double)b->stderr_.cost_mean_uusd);
}

// A plan that keeps the deadline whatever so few runs make of its probability.
static double surer(double confidence)
{
    return confidence + 2 * sqrt(confidence * (1 - confidence) / POINT_SAMPLES);
}

static void expect_no_costlier(struct rb_case *c, const struct rb_pareto *pareto, int64_t deadline_us)
{
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    c->req.deadline_us = deadline_us;
    c->req.confidence = surer(pareto->confidence);
    c->req.early = false;
    if (!rb_make_plan(&c->req, "optimal", &c->arena, &plan, &result, &err))
        return; // none is that sure, as at the tightest
    const struct rb_estimate *point = &rb_pareto_at(pareto, deadline_us, "optimal")->estimate;
    const double most = (1 + CHOICE) * (double)plan.estimate.cost_uusd.mean + error_uusd(point, &plan.estimate);
    if ((double)point->cost_uusd.mean > most)
        fail_msg("%lld s: %lld, alone %lld", (long long)(deadline_us / RB_US_PER_S), (long long)point->cost_uusd.mean,
                 (long long)plan.estimate.cost_uusd.mean);
}

static void expect_plans(struct rb_case *c, const struct rb_pareto *pareto)
{
    const int step = test_every(4); // neighbours share most candidates
    int n = 0;
    for (int i = 0; i < pareto->n_points; i++) {
        if (strcmp(pareto->points[i].planner, "optimal") == 0 && n++ % step == 0)
            expect_no_costlier(c, pareto, pareto->points[i].deadline_us);
    }
    assert_true(n >= 4);
}

static void points_keep_their_deadline_and_are_no_costlier_than_a_plan_of_it(void **state)
{
    static void (*const begin[])(struct rb_case *) = {begin_spot, begin_asynchronous};
    (void)state;
    for (size_t i = 0; i < sizeof begin / sizeof begin[0]; i++) {
        struct rb_case c;
        begin[i](&c);
        const struct rb_pareto pareto = case_frontier(&c);
        expect_points(&c, &pareto);
        expect_plans(&c, &pareto);
        case_finish(&c);
    }
}

// One plan keeps the deadline by starting fewer.
static void no_point_starts_fewer_configurations(void **state)
{
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    (void)state;
    begin_asynchronous(&c);
    c.req.deadline_us = case_frontier(&c).tightest_us * 19 / 20;
    assert_true(rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err));
    assert_true(plan.admit_until_us > 0);
    const struct rb_pareto pareto = case_frontier(&c);
    assert_null(rb_pareto_at(&pareto, c.req.deadline_us, "optimal"));
    assert_false(pareto.marginal.exists);
    assert_true(pareto.tightest_us > c.req.deadline_us);
    case_finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_keep_their_deadline_and_are_no_costlier_than_a_plan_of_it),
        cmocka_unit_test(no_point_starts_fewer_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
