// The frontier: every point keeps its deadline, the best plan never costs more when given more time, the marginal is the
// difference of two of its points, and a point is what planning at that deadline alone gives.
#include "case.h"

#include "planner/questions/pareto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_CASES 4

// Of the same deadline, found on other runs and by other neighbours: both are within the tolerance of the cheapest.
static bool costs_the_same(const struct rb_estimate *a, const struct rb_estimate *b)
{
    const double off = 4 * hypot((double)a->stderr_.cost_mean_uusd, (double)b->stderr_.cost_mean_uusd);
    const double most = (double)(a->cost_uusd.mean > b->cost_uusd.mean ? a : b)->cost_uusd.mean;
    return fabs((double)(a->cost_uusd.mean - b->cost_uusd.mean)) <= 0.005 * most + off;
}

// Every frontier of a case works on the same laws.
static void start(struct rb_case *c, uint32_t number)
{
    case_random(c, number);
    c->req.laws = rb_trial_laws_create();
}

static void stop(struct rb_case *c)
{
    rb_trial_laws_destroy(c->req.laws);
    case_finish(c);
}

// A deadline that some plan keeps and that is not the loosest.
static int64_t middle_deadline_us(struct rb_case *c)
{
    struct rb_pareto pareto = case_frontier(c);
    return pareto.points[pareto.n_points / 2].deadline_us;
}

static void points_keep_their_deadline_and_fall(void **state)
{
    int n_all = 0;
    (void)state;
    for (uint32_t i = 0; i < N_CASES; i++) {
        struct rb_case c;
        int64_t before_uusd = INT64_MAX, before_us = -1;
        start(&c, i);
        struct rb_pareto pareto = case_frontier(&c);
        for (int k = 0; k < pareto.n_points; k++) {
            const struct rb_pareto_point *p = &pareto.points[k];
            assert_true(p->estimate.p_both >= c.req.confidence);
            assert_true(p->deadline_us >= pareto.tightest_us && p->deadline_us >= before_us);
            before_us = p->deadline_us;
            const struct rb_pareto_point *best = rb_pareto_at(&pareto, p->deadline_us, "optimal");
            assert_non_null(best);
            assert_true(best->estimate.cost_uusd.mean <= p->estimate.cost_uusd.mean);
            if (p != best)
                continue;
            assert_true(p->estimate.cost_uusd.mean <= before_uusd);
            before_uusd = p->estimate.cost_uusd.mean;
        }
        n_all += pareto.n_deadlines;
        assert_false(pareto.marginal.exists); // no deadline was asked for
        stop(&c);
    }
    assert_true(n_all >= 3 * N_CASES);
}

static void a_point_is_the_plan_of_its_deadline(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N_CASES; i++) {
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err err = {0};
        start(&c, i);
        c.req.deadline_us = middle_deadline_us(&c);
        struct rb_pareto pareto = case_frontier(&c);
        const struct rb_pareto_point *p = rb_pareto_at(&pareto, c.req.deadline_us, "optimal");
        assert_non_null(p);
        assert_true(rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err));
        assert_true(costs_the_same(&p->estimate, &plan.estimate));
        for (int b = 0; b < plan.n_baselines; b++) {
            p = rb_pareto_at(&pareto, c.req.deadline_us, plan.baselines[b].name);
            assert_int_equal(p != NULL, plan.baselines[b].exists);
            if (p)
                assert_true(costs_the_same(&p->estimate, &plan.baselines[b].estimate));
        }
        stop(&c);
    }
}

// So near to the confidence that runs may decide either way.
static bool is_open(const struct rb_case *c, const struct rb_estimate *e)
{
    return fabs(e->p_both - c->req.confidence) <= 0.005 + 4 * e->stderr_.p_both;
}

// Every point of a frontier, of every planner: whatever neighbours lent, and however few runs would have found it. Returns how many
// are proved.
static int compare_with_plans(struct rb_case *c)
{
    const struct rb_pareto pareto = case_frontier(c);
    struct rb_trial_laws *lent = c->req.laws;
    int n_proved = 0;
    c->req.laws = NULL; // nothing is shared
    for (int k = 0; k < pareto.n_points; k++) {
        const struct rb_pareto_point *p = &pareto.points[k];
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err err = {0};
        c->req.deadline_us = p->deadline_us;
        if (!rb_make_plan(&c->req, p->planner, &c->arena, &plan, &result, &err)) {
            assert_true(is_open(c, &p->estimate)); // other runs may decide it otherwise
            continue;
        }
        assert_true(costs_the_same(&p->estimate, &plan.estimate));
        n_proved += p->proved;
    }
    c->req.laws = lent;
    return n_proved;
}

static void every_point_is_a_plan_of_its_own(void **state)
{
    int n_proved = 0;
    (void)state;
    for (uint32_t i = 0; i < N_CASES; i++) {
        struct rb_case c;
        start(&c, i);
        c.req.deadline_us = middle_deadline_us(&c);
        n_proved += compare_with_plans(&c);
        stop(&c);
    }
    assert_true(n_proved > 0);
}

// Trials take about as long as nodes, which may come after the stage that asked for them: runs tell what that costs and spoils.
static void so_is_one_with_late_nodes(void **state)
{
    struct rb_case c;
    (void)state;
    case_init(&c,
              "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
              "scheduler: {type: sha, num_trials: 6, min_resource: 1, max_resource: 4, eta: 2}\n"
              "trial: {gpus: {min: 1, max: 2, sizes: [1, 2]}, max_nodes: 1}\n"
              "run: python t.py\nresources: {infra: [aws/us-east-1], max_nodes: 4}\n",
              "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
              "  - {accelerator: T4, base_s: 20, layouts: [{gpus: 1, nodes: 1, speedup: 1}, {gpus: 2, nodes: 1, "
              "speedup: 1.8}]}\n"
              "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
              "  within: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
              "startup_s: {distribution: lognormal, mean: 2, cv: 0.3}\n"
              "checkpoint_s: {distribution: lognormal, mean: 0.5, cv: 0.2}\nprovisioning:\n"
              "  - infra: aws\n    instance_type: \"*\"\n    market: \"*\"\n"
              "    queue_s: {distribution: lognormal, mean: 10, cv: 0.5}\n"
              "    init_s: {distribution: lognormal, mean: 15, cv: 0.5}\n"
              "    capacity_failure: 0.0\n    preemption_per_hour: 0.0\n",
              "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
              "aws/us-east-1,two,T4,2,16,4,16,on_demand,0.60\n");
    c.req.samples = 2048;
    c.req.confidence = 0.95;
    assert_true(compare_with_plans(&c) > 0);
    case_finish(&c);
}

// What lies between two deadlines that are neighbours is known to 15 %, or they are closer than a tenth of the range.
static void nothing_is_asked_where_the_least_cost_hardly_falls(void **state)
{
    int n_flat = 0;
    (void)state;
    for (uint32_t i = 0; i < 2 * N_CASES; i++) {
        struct rb_case c;
        const struct rb_pareto_point *optimal[64];
        int n = 0;
        start(&c, i);
        const struct rb_pareto pareto = case_frontier(&c);
        for (int k = 0; k < pareto.n_points; k++) {
            if (strcmp(pareto.points[k].planner, "optimal") == 0)
                optimal[n++] = &pareto.points[k];
        }
        for (int k = 1; k < n; k++) {
            const double fall = (double)optimal[k - 1]->estimate.cost_uusd.mean / optimal[k]->estimate.cost_uusd.mean;
            const double width = log((double)optimal[k]->deadline_us / optimal[k - 1]->deadline_us);
            const double tenth = 0.1 * log((double)optimal[n - 1]->deadline_us / optimal[0]->deadline_us);
            assert_true(fall <= 1.15 + 1e-9 || width <= tenth + 1e-9 ||
                        optimal[k]->deadline_us - optimal[k - 1]->deadline_us <= RB_US_PER_S);
            n_flat += width > tenth;
        }
        stop(&c);
    }
    assert_true(n_flat > 0);
}

static void marginal_is_a_difference_of_points(void **state)
{
    int n_falls = 0;
    (void)state;
    for (uint32_t i = 0; i < N_CASES; i++) {
        struct rb_case c;
        start(&c, i);
        c.req.deadline_us = middle_deadline_us(&c);
        struct rb_pareto pareto = case_frontier(&c);
        const struct rb_marginal *m = &pareto.marginal;
        assert_true(m->exists);
        assert_int_equal(m->deadline_us, c.req.deadline_us);
        assert_true(m->step_us == RB_US_PER_S || m->step_us <= c.req.deadline_us / 10);
        const struct rb_pareto_point *at = rb_pareto_at(&pareto, m->deadline_us, "optimal");
        const struct rb_pareto_point *more = rb_pareto_at(&pareto, m->deadline_us + m->step_us, "optimal");
        const struct rb_pareto_point *less = rb_pareto_at(&pareto, m->deadline_us - m->step_us, "optimal");
        assert_int_equal(m->more_uusd, more->estimate.cost_uusd.mean - at->estimate.cost_uusd.mean);
        assert_int_equal(m->has_less, less != NULL);
        if (less)
            assert_int_equal(m->less_uusd, less->estimate.cost_uusd.mean - at->estimate.cost_uusd.mean);
        n_falls += m->more_uusd < 0 || m->less_uusd > 0;
        stop(&c);
    }
    assert_true(n_falls > 0);
}

// Asked for beside one plan, and of its search: the same number, and the plan is the one found without it.
static void beside_a_plan_it_is_that_of_the_frontier(void **state)
{
    int n_known = 0, n_save = 0;
    (void)state;
    for (uint32_t i = 0; i < 3 * N_CASES; i++) {
        struct rb_case c;
        struct rb_plan plan, alone;
        struct rb_plan_result result, without;
        struct rb_err err = {0};
        start(&c, i);
        c.req.deadline_us = middle_deadline_us(&c);
        const struct rb_pareto pareto = case_frontier(&c);
        assert_true(rb_make_plan(&c.req, "optimal", &c.arena, &alone, &without, &err));
        assert_false(without.marginal.exists);
        c.req.marginal = true;
        assert_true(rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err));
        assert_memory_equal(&plan.estimate, &alone.estimate, sizeof plan.estimate);
        if (result.marginal.exists) {
            n_known++;
            n_save += result.marginal.more_uusd < 0;
            assert_int_equal(result.marginal.step_us, pareto.marginal.step_us);
            assert_int_equal(result.marginal.more_uusd, pareto.marginal.more_uusd);
        }
        stop(&c);
    }
    assert_true(n_known > 0 && n_save > 0);
}

static void per_minute_is_over_the_step(void **state)
{
    const struct rb_marginal m = {.exists = true, .step_us = 30 * RB_US_PER_S};
    (void)state;
    assert_int_equal(rb_marginal_per_minute(&m, -100), -200);
    assert_int_equal(rb_marginal_per_minute(&m, 7), 14);
}

// Too tight a deadline has no marginal, and the tightest is reported.
static void a_deadline_that_no_plan_keeps(void **state)
{
    struct rb_case c;
    (void)state;
    start(&c, 5);
    c.req.deadline_us = 1;
    struct rb_pareto pareto = case_frontier(&c);
    assert_false(pareto.marginal.exists);
    assert_true(pareto.n_points > 0 && pareto.tightest_us > 1);
    stop(&c);
}

// A budget that is no constraint changes nothing: the frontier begins where it does without one, to the steps of its search and
// to what the runs err by that tell what a plan needs under a budget.
static void a_budget_that_everything_keeps_leaves_the_tightest(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N_CASES; i++) {
        struct rb_case c;
        start(&c, i);
        c.req.budget_uusd = -1;
        const struct rb_pareto without = case_frontier(&c);
        c.req.budget_uusd = 1000000000000;
        const struct rb_pareto with = case_frontier(&c);
        const int64_t step_us = with.points[with.n_points - 1].deadline_us / 50 + 1000000;
        assert_true(llabs(with.tightest_us - without.tightest_us) <= step_us);
        stop(&c);
    }
}

static void a_budget_that_nothing_keeps_is_infeasible(void **state)
{
    struct rb_case c;
    struct rb_pareto pareto;
    struct rb_err err = {0};
    (void)state;
    start(&c, 5);
    c.req.budget_uusd = 1;
    assert_false(rb_pareto_find(&c.req, &c.arena, &pareto, &err));
    assert_int_equal(err.code, RB_ERR_INFEASIBLE);
    stop(&c);
}

// Cut after one node, every search is poor; the cost still never rises.
static void cut_searches_do_not_rise(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N_CASES; i++) {
        struct rb_case c;
        int64_t before_uusd = INT64_MAX;
        start(&c, i);
        c.req.node_limit = 1;
        struct rb_pareto pareto = case_frontier(&c);
        for (int k = 0; k < pareto.n_points; k++) {
            const struct rb_pareto_point *p = &pareto.points[k];
            if (strcmp(p->planner, "optimal") != 0)
                continue;
            assert_true(p->estimate.cost_uusd.mean <= before_uusd);
            before_uusd = p->estimate.cost_uusd.mean;
        }
        stop(&c);
    }
}

static void document(void **state)
{
    struct rb_case c;
    struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    struct rb_doc doc;
    struct rb_map root, marginal;
    struct rb_err err = {0};
    int n = 0;
    (void)state;
    start(&c, 5);
    c.req.deadline_us = middle_deadline_us(&c);
    struct rb_pareto pareto = case_frontier(&c);
    rb_json_init(&j, &text, true);
    rb_pareto_write(&pareto, &j);
    assert_true(rb_doc_parse_json(&doc, "pareto.json", rb_buf_str(&text), text.len, &err));
    assert_true(rb_map_begin(&root, doc.root, &err));
    assert_string_equal(rb_map_get(&root, "format")->text, "rb-pareto/1");
    for (const struct rb_node *p = rb_map_get(&root, "points")->first; p; p = p->next) {
        struct rb_map point;
        struct rb_estimate estimate;
        assert_true(rb_map_begin(&point, p, &err));
        assert_true(rb_estimate_read(rb_map_get(&point, "estimate"), &estimate, &err));
        assert_int_equal(estimate.cost_uusd.mean, pareto.points[n].estimate.cost_uusd.mean);
        assert_string_equal(rb_map_get(&point, "planner")->text, pareto.points[n].planner);
        n++;
    }
    assert_int_equal(n, pareto.n_points);
    assert_true(rb_map_begin(&marginal, rb_map_get(&root, "marginal"), &err));
    assert_int_equal(rb_map_get(&marginal, "deadline_us")->integer, c.req.deadline_us);
    rb_doc_finish(&doc);
    rb_buf_finish(&text);
    stop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_keep_their_deadline_and_fall),
        cmocka_unit_test(a_point_is_the_plan_of_its_deadline),
        cmocka_unit_test(every_point_is_a_plan_of_its_own),
        cmocka_unit_test(so_is_one_with_late_nodes),
        cmocka_unit_test(nothing_is_asked_where_the_least_cost_hardly_falls),
        cmocka_unit_test(marginal_is_a_difference_of_points),
        cmocka_unit_test(beside_a_plan_it_is_that_of_the_frontier),
        cmocka_unit_test(per_minute_is_over_the_step),
        cmocka_unit_test(a_deadline_that_no_plan_keeps),
        cmocka_unit_test(a_budget_that_everything_keeps_leaves_the_tightest),
        cmocka_unit_test(a_budget_that_nothing_keeps_is_infeasible),
        cmocka_unit_test(cut_searches_do_not_rise),
        cmocka_unit_test(document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
