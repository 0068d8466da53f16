// Requests with a budget: what it leaves a plan to cost on average excludes no plan that keeps it, a budget far too small is
// told without a search, and the plans found are those of brute force.
#include "brute_force.h"

#include "planner/proof/affordable.h"
#include "planner/proof/exact.h"

#include <math.h>
#include <stdlib.h>

#define N_JOBS    40
#define MIN_PLANS 100
#define MAX_PLANS 3000
#define N_NEAREST 16
#define NEAR      1.03
#define FEW_NODES 8 // looked at at most, where a bound says at once that there is no plan

static const struct brute_filter any_job = {.min_plans = MIN_PLANS, .max_plans = MAX_PLANS};

static void start_search(const struct brute_job *job, const struct rb_plan_request *req, struct rb_search *out)
{
    struct rb_err err = {0};
    if (!rb_search_init(out, req, &job->scenario, &err))
        fail_msg("%s", err.message);
}

static struct rb_plan_result plan(struct rb_search *search)
{
    struct rb_exact_options opt = rb_exact_defaults();
    struct rb_plan_result r;
    struct rb_err err = {0};
    opt.accuracy = RB_SCORE_ACCURACY;
    if (!rb_exact_plan(search, &opt, &r, &err))
        fail_msg("%s", err.message);
    return r;
}

static double mean_cost(struct rb_search *search, const struct rb_candidate *plan)
{
    struct rb_score score;
    struct rb_err err = {0};
    if (!rb_score_candidate(search, plan, RB_SCORE_ACCURACY, &score, &err))
        fail_msg("%s", err.message);
    return score.cost_mean_uusd;
}

static double affordable_uusd(struct rb_search *search)
{
    struct rb_lattice lattice;
    struct rb_err err = {0};
    double out;
    if (!rb_lattice_init(&lattice, search, RB_SCORE_ACCURACY, &err))
        fail_msg("%s", err.message);
    struct rb_togo *cheapest = rb_togo_create(&lattice);
    rb_togo_compute(cheapest, RB_DELAY_CAUTIOUS, 0);
    if (!rb_affordable_uusd(search, cheapest, &out, &err))
        fail_msg("%s", err.message);
    rb_togo_destroy(cheapest);
    rb_lattice_finish(&lattice);
    return out;
}

// Of a plan's cost, over simulated runs.
static int64_t cost_quantile_uusd(struct rb_search *search, const struct rb_candidate *c, double p)
{
    const struct rb_runs *runs;
    struct rb_err err = {0};
    if (!rb_search_runs(search, c, search->req->samples, &runs, &err))
        fail_msg("%s", err.message);
    RB_AUTO(rb_auto_free) int64_t *scratch = rb_xcalloc((size_t)runs->n, sizeof *scratch);
    return rb_needs_of(runs->time_us, runs->cost_uusd, runs->n, -1, -1, p, scratch).budget_uusd;
}

// At low confidences plans keep budgets far below their mean.
static void no_plan_that_keeps_the_budget_costs_more(void **state)
{
    static const double confidences[] = {0.05, 0.3, 0.95};
    int n = 0;
    (void)state;
    for (uint32_t number = 0; n < N_JOBS; number++) {
        struct brute_job job;
        struct rb_search search;
        if (!brute_job_init(&job, number, &any_job))
            continue;
        for (int i = 0; i < 3; i++) {
            struct rb_plan_request req = job.c.req;
            const int plan = (int)(number * 7919u % (uint32_t)job.brute.n_plans);
            const struct rb_candidate c = brute_candidate(&job.brute, plan);
            req.confidence = confidences[i];
            req.budget_uusd = 1;
            start_search(&job, &req, &search);
            req.budget_uusd = cost_quantile_uusd(&search, &c, req.confidence);
            const double most = affordable_uusd(&search);
            if (job.brute.plans[plan].cost_uusd > most)
                fail_msg("case %u, plan %d costs %.0f on average and keeps %lld with %.2f: more than %.0f", number,
                         plan, job.brute.plans[plan].cost_uusd, (long long)req.budget_uusd, req.confidence, most);
            rb_search_finish(&search);
        }
        n++;
        brute_job_finish(&job);
    }
}

static void a_budget_far_too_small_needs_no_search(void **state)
{
    int n = 0;
    (void)state;
    for (uint32_t number = 0; n < N_JOBS; number++) {
        struct brute_job job;
        struct rb_search search;
        if (!brute_job_init(&job, number, &any_job))
            continue;
        struct rb_plan_request req = job.c.req;
        req.confidence = 0.95;
        req.budget_uusd = (int64_t)(job.brute.plans[0].cost_uusd / 3);
        req.node_limit = FEW_NODES;
        start_search(&job, &req, &search);
        const struct rb_plan_result r = plan(&search);
        assert_false(r.feasible);
        assert_false(r.cut);
        assert_true(r.nearest_budget_uusd > req.budget_uusd);
        n++;
        rb_search_finish(&search);
        brute_job_finish(&job);
    }
}

// Deadlines from the soonest plan's to the cheapest one's, budgets around what the cheapest plan in time costs.
static void with_a_budget_equals_brute_force(void **state)
{
    int n = 0, n_feasible = 0;
    (void)state;
    for (uint32_t number = 100; n < N_JOBS; number++) {
        struct brute_job job;
        struct rb_search search;
        struct rb_stream s;
        if (!brute_job_init(&job, number, &any_job))
            continue;
        rb_stream_init(&s, &(struct rb_stream_key){.seed = 12, .purpose = RB_DRAW_SEARCH, .index = number});
        struct rb_plan_request req = job.c.req;
        const double soon_s = job.brute.plans[job.brute.soonest].time_s, cheap_s = job.brute.plans[0].time_s;
        req.confidence = 0.9;
        req.deadline_us = (int64_t)(1e6 * (1.1 * soon_s + rb_stream_uniform(&s) * fmax(0, 1.1 * (cheap_s - soon_s))));
        start_search(&job, &req, &search);
        const int in_time = brute_best_by_chance(&job.brute, &search);
        rb_search_finish(&search);
        if (in_time >= 0) {
            req.budget_uusd = (int64_t)(job.brute.plans[in_time].cost_uusd * (0.95 + 0.3 * rb_stream_uniform(&s)));
            start_search(&job, &req, &search);
            const int best = brute_best_by_chance(&job.brute, &search);
            const struct rb_plan_result r = plan(&search);
            if (r.feasible != (best >= 0))
                fail_msg("case %u: feasible %d, brute force %d", number, r.feasible, best);
            if (best >= 0)
                assert_true(fabs(mean_cost(&search, &r.best) - job.brute.plans[best].cost_uusd) <=
                            1e-7 * job.brute.plans[best].cost_uusd);
            rb_search_finish(&search);
            n_feasible += best >= 0;
            n++;
        }
        brute_job_finish(&job);
    }
    print_message("%d jobs, %d feasible\n", n, n_feasible);
    assert_true(n_feasible > N_JOBS / 4 && n_feasible < N_JOBS);
}

// The least that any plan needs, by the draws that plans are told by.
static struct rb_needs least_needs(const struct brute_job *job, struct rb_search *search)
{
    struct rb_needs least = rb_needs_none(), needs;
    struct rb_err err = {0};
    for (int i = 0; i < job->brute.n_plans; i++) {
        const struct rb_candidate c = brute_candidate(&job->brute, i);
        if (!rb_search_needs(search, &c, RB_SCORE_ACCURACY, &needs, &err))
            fail_msg("%s", err.message);
        rb_needs_merge(&least, &needs);
    }
    return least;
}

static bool is_feasible(const struct brute_job *job, const struct rb_plan_request *req)
{
    struct rb_search search;
    start_search(job, req, &search);
    const bool feasible = plan(&search).feasible;
    rb_search_finish(&search);
    return feasible;
}

// Asked again with what is nearest there is a plan, and no plan at all needs much less.
static void what_is_nearest_is_kept_and_near(void **state)
{
    int n = 0, n_deadlines = 0;
    double worst_time = 1, worst_cost = 1;
    (void)state;
    for (uint32_t number = 200; n < N_NEAREST; number++) {
        struct brute_job job;
        struct rb_search search;
        if (!brute_job_init(&job, number, &any_job))
            continue;
        struct rb_plan_request req = job.c.req;
        req.confidence = 0.9;
        req.deadline_us = (int64_t)(1.3e6 * job.brute.plans[job.brute.soonest].time_s);
        req.budget_uusd = (int64_t)((n % 2 ? 1.15 : 1.3) * job.brute.plans[0].cost_uusd);
        start_search(&job, &req, &search);
        const struct rb_plan_result r = plan(&search);
        if (!r.feasible && (r.nearest_deadline_us >= 0 || r.nearest_budget_uusd >= 0)) {
            const struct rb_needs least = least_needs(&job, &search);
            if (r.nearest_deadline_us >= 0) {
                struct rb_plan_request later = req;
                later.deadline_us = r.nearest_deadline_us;
                assert_true(is_feasible(&job, &later));
                worst_time =
                    fmax(worst_time, (double)(r.nearest_deadline_us - RB_US_PER_S) / (double)least.deadline_us);
                n_deadlines++;
            }
            if (r.nearest_budget_uusd >= 0) {
                struct rb_plan_request richer = req;
                richer.budget_uusd = r.nearest_budget_uusd;
                assert_true(is_feasible(&job, &richer));
                worst_cost =
                    fmax(worst_cost, (double)(r.nearest_budget_uusd - RB_UUSD / 100) / (double)least.budget_uusd);
            }
            n++;
        }
        rb_search_finish(&search);
        brute_job_finish(&job);
    }
    print_message(
        "%d jobs, %d with a deadline: at most %.4f times the nearest deadline, %.4f times the nearest budget\n", n,
        n_deadlines, worst_time, worst_cost);
    assert_true(n_deadlines >= n / 3);
    assert_true(worst_time < NEAR && worst_cost < NEAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_plan_that_keeps_the_budget_costs_more),
        cmocka_unit_test(a_budget_far_too_small_needs_no_search),
        cmocka_unit_test(with_a_budget_equals_brute_force),
        cmocka_unit_test(what_is_nearest_is_kept_and_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
