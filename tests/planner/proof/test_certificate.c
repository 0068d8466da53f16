// The certificate: a plan that is not the best is replaced, bounds stay below costs, and spaces of one plan and of very
// many are proved.
#include "case.h"

#include "planner/proof/certificate.h"

#include <string.h>

#define N_CASES 10

struct fixture {
    struct rb_case c;
    struct rb_scenario scenario;
    struct rb_search search;
};

static bool open_case(struct fixture *f, uint32_t number)
{
    struct rb_offer *offers;
    struct rb_err err = {0};
    int n;
    case_random(&f->c, number);
    f->c.req.samples = 1024;
    assert_true(rb_planner_offers(&f->c.job, &f->c.catalog, &f->c.arena, &offers, &n, &err));
    assert_true(
        rb_scenario_init(&f->scenario, &f->c.job, &f->c.profile, offers, n, &f->c.catalog, f->c.req.seed, &err));
    if (rb_search_init(&f->search, &f->c.req, &f->scenario, &err))
        return true;
    rb_scenario_finish(&f->scenario); // no size fits any node
    case_finish(&f->c);
    return false;
}

static void close_case(struct fixture *f)
{
    rb_search_finish(&f->search);
    rb_scenario_finish(&f->scenario);
    case_finish(&f->c);
}

// All nodes of the first offer that any size fits, in every stage.
static struct rb_candidate largest(struct fixture *f)
{
    struct rb_candidate c = {.n_stages = f->scenario.stages.n};
    struct rb_err err = {0};
    int offer = 0;
    while (f->search.sizes[offer].n == 0)
        offer++;
    const struct rb_sizes *sizes = &f->search.sizes[offer];
    for (int i = 0; i < c.n_stages; i++)
        c.stages[i] = (struct rb_choice){offer, sizes->gpus[sizes->n - 1], f->c.job.resources.max_nodes};
    if (!rb_search_score(&f->search, &c, f->c.req.samples, &err))
        fail_msg("%s", err.message);
    return c;
}

static void a_plan_that_is_not_the_best_is_replaced(void **state)
{
    int n_replaced = 0, n_proved = 0;
    (void)state;
    for (uint32_t number = 0; number < N_CASES; number++) {
        struct fixture f;
        struct rb_plan_bound bound;
        struct rb_err err = {0};
        bool cut = false;
        if (!open_case(&f, number))
            continue;
        const struct rb_candidate first = largest(&f);
        struct rb_candidate best = first;
        if (!rb_certify(&f.search, &best, &bound, &cut, &err))
            fail_msg("case %u: %s", number, err.message);
        assert_true(best.estimate.cost_uusd.mean <= first.estimate.cost_uusd.mean);
        assert_true(bound.cost_uusd <= best.estimate.cost_uusd.mean);
        assert_true(bound.proved == (bound.why_not == NULL) && bound.gap >= 0);
        n_replaced += !rb_candidate_same_choices(&first, &best);
        n_proved += bound.proved;
        close_case(&f);
    }
    assert_true(n_replaced >= N_CASES / 2 && n_proved >= N_CASES / 2);
}

static void a_space_of_one_plan_is_proved(void **state)
{
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    (void)state;
    case_init(&c,
              "name: one\nmetric: {name: acc, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
              "scheduler: {type: sha, num_trials: 2, min_resource: 1, max_resource: 1, eta: 2}\n"
              "trial: {gpus: {min: 1, max: 1, sizes: [1]}, max_nodes: 1}\n"
              "resources: {infra: [aws/us-east-1], max_nodes: 1}\nrun: python train.py\n",
              "format: rb-profile/1\nname: one\nunit: epoch\nsource: test\ntraining:\n"
              "  - {accelerator: T4, base_s: 100, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}\n"
              "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.2}\n"
              "  within: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
              "startup_s: {distribution: lognormal, mean: 5, cv: 0.3}\ncheckpoint_s: 1.0\nprovisioning:\n"
              "  - {infra: aws, instance_type: \"*\", market: \"*\","
              " queue_s: {distribution: lognormal, mean: 10, cv: 0.4},"
              " init_s: {distribution: lognormal, mean: 40, cv: 0.3}, capacity_failure: 0.0,"
              " preemption_per_hour: 0.0}\n",
              "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
              "aws/us-east-1,one,T4,1,16,4,16,on_demand,1.0\n");
    if (!rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err))
        fail_msg("%s", err.message);
    assert_true(plan.bound.proved);
    assert_true(plan.bound.cost_uusd <= plan.estimate.cost_uusd.mean);
    assert_false(result.cut);
    case_finish(&c);
}

// One choice has 16 to 64 numbers of inherited nodes: 25,000 columns, far more than can be sampled.
static void many_columns_are_no_obstacle(void **state)
{
    static const int deadlines_min[] = {16, 25};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err err = {0};
        case_init(&c,
                  "name: wide\nmetric: {name: acc, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
                  "scheduler:\n  {type: sha, num_trials: 16, min_resource: 1, max_resource: 7, eta: 2, rungs: additional}\n"
                  "trial: {gpus: {min: 1, max: 64, sizes: [1, 2, 4, 8, 16, 32, 64]}, max_nodes: 64}\n"
                  "resources: {infra: [aws/us-east-1], max_nodes: 64}\nrun: python train.py\n",
                  "format: rb-profile/1\nname: wide\nunit: epoch\nsource: test\ntraining:\n"
                  "  - accelerator: T4\n    base_s: 300\n    layouts:\n      - {gpus: 1, nodes: 1, speedup: 1}\n"
                  "      - {gpus: 4, nodes: 4, speedup: 3.48}\n      - {gpus: 16, nodes: 16, speedup: 9.14}\n"
                  "      - {gpus: 64, nodes: 64, speedup: 15.42}\n"
                  "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.3}\n"
                  "  within: {distribution: constant, mean: 1.0}\nstartup_s: 0.0\ncheckpoint_s: 0.0\nprovisioning:\n"
                  "  - {infra: aws, instance_type: \"*\", market: \"*\","
                  " queue_s: {distribution: lognormal, mean: 20, cv: 0.5},"
                  " init_s: {distribution: normal, mean: 60, cv: 0.15}, capacity_failure: 0.0,"
                  " preemption_per_hour: 0.0}\n",
                  "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                  "aws/us-east-1,one,T4,1,16,4,16,on_demand,3.0\n");
        c.req.deadline_us = deadlines_min[i] * 60 * RB_US_PER_S;
        if (!rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err))
            fail_msg("%s", err.message);
        assert_true(plan.bound.proved);
        case_finish(&c);
    }
}

// Hazards by age reach over stages, so that nothing is proved of two of them; of a constant one it is as without spells.
static void nodes_that_age_are_not_proved(void **state)
{
    static const struct rb_hazard_step later = {600, 0.5};
    (void)state;
    for (int n_later = 0; n_later < 2; n_later++) {
        const struct rb_spells spells = {.hazard = {.per_hour = 1, .later = &later, .n_later = n_later}};
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err err = {0};
        case_init(&c,
                  "name: two\nmetric: {name: acc, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
                  "scheduler: {type: sha, num_trials: 3, min_resource: 1, max_resource: 3, eta: 3}\n"
                  "trial: {gpus: {min: 1, max: 1, sizes: [1]}, max_nodes: 1}\n"
                  "resources: {infra: [aws/us-east-1], max_nodes: 1, spot: only}\nrun: python train.py\n",
                  "format: rb-profile/1\nname: two\nunit: epoch\nsource: test\ntraining:\n"
                  "  - {accelerator: T4, base_s: 100, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}\n"
                  "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.2}\n  within: 1.0\n"
                  "startup_s: 5.0\ncheckpoint_s: 1.0\nprovisioning:\n"
                  "  - {infra: aws, instance_type: \"*\", market: \"*\", queue_s: 10, init_s: 40, capacity_failure: 0.0,"
                  " preemption_per_hour: 1.0}\n",
                  "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                  "aws/us-east-1,one,T4,1,16,4,16,spot,1.0\n");
        ((struct rb_provisioning *)c.profile.provisioning)[0].spells = &spells;
        if (!rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err))
            fail_msg("%s", err.message);
        assert_int_equal(plan.bound.proved, n_later == 0);
        assert_true(plan.bound.present && plan.bound.cost_uusd > 0);
        assert_true(plan.bound.cost_uusd <= plan.estimate.cost_uusd.mean);
        if (n_later > 0)
            assert_non_null(strstr(plan.bound.why_not, "keep their age from stage to stage"));
        case_finish(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_that_is_not_the_best_is_replaced),
        cmocka_unit_test(a_space_of_one_plan_is_proved),
        cmocka_unit_test(many_columns_are_no_obstacle),
        cmocka_unit_test(nodes_that_age_are_not_proved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
