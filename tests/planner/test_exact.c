// The exact searches against brute force on random small jobs: the deadline kept with a probability of 95 %, and on average;
// with every pruning rule, without each, and without any. `test_planner_exact SHARE` tries only one in SHARE of the jobs.
#include "brute_force.h"

#include "planner/proof/exact.h"
#include "planner/proof/mean_deadline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N_CHANCE    400 // jobs that some plan is feasible for
#define N_MEAN      200
#define N_RULES     60 // jobs, feasible or not
#define MIN_PLANS   100
#define MAX_PLANS   100000
#define TIGHT_SIGMA 1.3 // the tightest deadlines: some cannot be kept at 95 %
#define LOOSE_SIGMA 2.0

static int share = 1;

// --- one result

struct tally {
    int n_jobs, n_feasible, n_proved, n_bound;
    int n_types;            // of the feasible ones, with several instance types
    int n_may_hold, n_held; // with plans that hold nodes over a barrier; the best one does
    double n_plans, least_gap;
};

static double mean_cost(struct rb_search *search, const struct rb_candidate *plan)
{
    struct rb_score score;
    struct rb_err err = {0};
    if (!rb_score_candidate(search, plan, RB_SCORE_ACCURACY, &score, &err))
        fail_msg("%s", err.message);
    return score.cost_mean_uusd;
}

static void check_result(const struct brute_job *job, struct rb_search *search, int best,
                         const struct rb_plan_result *r, uint32_t number)
{
    if (r->feasible != (best >= 0))
        fail_msg("case %u: feasible %d, brute force %d", number, r->feasible, best);
    if (!r->feasible)
        return;
    const double cost = job->brute.plans[best].cost_uusd, found = mean_cost(search, &r->best);
    if (fabs(found - cost) > 1e-7 * cost)
        fail_msg("case %u: %.3f, brute force %.3f", number, found, cost);
    assert_true(r->bound.present && r->bound.gap >= 0);
    assert_true((double)r->bound.cost_uusd <= cost * (1 + 1e-9));
    assert_true(r->bound.proved == (r->bound.why_not == NULL));
}

static void count(const struct brute_job *job, int best, const struct rb_plan_result *r, struct tally *t)
{
    t->n_jobs++;
    t->n_plans += job->brute.n_plans;
    if (best < 0)
        return;
    t->n_feasible++;
    t->n_proved += r->bound.proved;
    t->n_types += job->scenario.n_offers > 1;
    t->n_may_hold += brute_has_holding(job);
    t->n_held += brute_holds_nodes(&job->scenario, &r->best);
    t->n_bound += best > 0; // the deadline excludes the cheapest plan
    t->least_gap = fmin(t->least_gap, r->bound.gap);
}

static void print(const char *what, const struct tally *t)
{
    print_message(
        "%s: %d jobs, %.0f plans; %d feasible: %d proved, %d where the deadline binds, %d with several instance "
        "types, %d with plans that hold nodes, %d where the best does; least gap %g\n",
        what, t->n_jobs, t->n_plans, t->n_feasible, t->n_proved, t->n_bound, t->n_types, t->n_may_hold, t->n_held,
        t->least_gap);
}

// --- one job

// From what the soonest plan hardly keeps to what the cheapest one keeps: tight ones more often.
static int64_t draw_deadline_us(const struct brute_job *job, uint32_t number, double tight_sigma, double loose_sigma)
{
    const struct brute *b = &job->brute;
    const struct brute_plan *soonest = &b->plans[b->soonest], *cheapest = &b->plans[0];
    const double low_s = soonest->time_s + tight_sigma * sqrt(soonest->variance_s2);
    const double high_s = cheapest->time_s + loose_sigma * sqrt(cheapest->variance_s2);
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 11, .purpose = RB_DRAW_SEARCH, .index = number});
    const double u = rb_stream_uniform(&s);
    return (int64_t)(1e6 * (0.99 * low_s + u * u * fmax(0, high_s - low_s)));
}

// At least every other job has several instance types, and at least every other one nodes that may be held.
static bool open_job(struct brute_job *job, uint32_t number, const struct tally *t)
{
    const struct brute_filter filter = {
        .min_plans = MIN_PLANS,
        .max_plans = MAX_PLANS,
        .several_types = 2 * t->n_types < t->n_feasible,
        .holding = 2 * t->n_may_hold < t->n_feasible,
    };
    return brute_job_init(job, number, &filter);
}

static void start_search(const struct brute_job *job, const struct rb_plan_request *req, struct rb_search *out)
{
    struct rb_err err = {0};
    if (!rb_search_init(out, req, &job->scenario, &err))
        fail_msg("%s", err.message);
}

static void check_chance(uint32_t number, double confidence, const struct rb_exact_options *options, int n_options,
                         struct tally *t)
{
    struct brute_job job;
    struct rb_search search;
    struct rb_plan_result r;
    struct rb_err err = {0};
    if (!open_job(&job, number, t))
        return;
    struct rb_plan_request req = job.c.req;
    req.confidence = confidence;
    req.deadline_us = draw_deadline_us(&job, number, TIGHT_SIGMA, LOOSE_SIGMA);
    start_search(&job, &req, &search);
    const int best = brute_best_by_chance(&job.brute, &search);
    for (int i = 0; i < n_options; i++) {
        if (!rb_exact_plan(&search, &options[i], &r, &err))
            fail_msg("%s", err.message);
        check_result(&job, &search, best, &r, number);
    }
    count(&job, best, &r, t);
    rb_search_finish(&search);
    brute_job_finish(&job);
}

static void check_mean(uint32_t number, const struct rb_mean_options *options, int n_options, struct tally *t)
{
    struct brute_job job;
    struct rb_search search;
    struct rb_plan_result r;
    struct rb_err err = {0};
    if (!open_job(&job, number, t))
        return;
    struct rb_plan_request req = job.c.req;
    req.deadline_us = draw_deadline_us(&job, number, 0, 0);
    start_search(&job, &req, &search);
    const int best = brute_best_on_average(&job.brute, (double)req.deadline_us / 1e6);
    for (int i = 0; i < n_options; i++) {
        if (!rb_mean_deadline_plan(&search, &options[i], &r, &err))
            fail_msg("%s", err.message);
        check_result(&job, &search, best, &r, number);
        if (!r.feasible)
            assert_true((double)r.nearest_deadline_us >= 1e6 * job.brute.plans[job.brute.soonest].time_s - 1);
    }
    count(&job, best, &r, t);
    rb_search_finish(&search);
    brute_job_finish(&job);
}

// --- the tests. Stage times as accurate as those that brute force scores by.

static struct rb_exact_options exact_options(void)
{
    struct rb_exact_options opt = rb_exact_defaults();
    opt.accuracy = RB_SCORE_ACCURACY;
    opt.bills = false; // as brute force has it: sums of stages
    opt.patience = 0;  // small jobs end before the dearer bounds are made
    return opt;
}

static struct rb_mean_options mean_options(void)
{
    struct rb_mean_options opt = rb_mean_defaults();
    opt.accuracy = RB_SCORE_ACCURACY;
    return opt;
}

// What all the jobs together are; a share of them may not be.
static void assert_hard(const struct tally *t)
{
    if (share > 1)
        return;
    assert_true(t->n_jobs > t->n_feasible);      // some deadlines cannot be kept
    assert_true(t->n_bound > t->n_feasible / 2); // most of the others cost something
    assert_true(2 * t->n_types >= t->n_feasible);
    assert_true(2 * t->n_may_hold >= t->n_feasible && t->n_held > 0);
    assert_true(2 * t->n_proved >= t->n_feasible);
}

static void equals_brute_force_at_95_percent(void **state)
{
    struct tally t = {.least_gap = INFINITY};
    const struct rb_exact_options opt = exact_options();
    (void)state;
    for (uint32_t i = 0; t.n_feasible < N_CHANCE / share; i++)
        check_chance(i, 0.95, &opt, 1, &t);
    print("95 %", &t);
    assert_hard(&t);
}

static void equals_brute_force_on_average(void **state)
{
    struct tally t = {.least_gap = INFINITY};
    const struct rb_mean_options opt = mean_options();
    (void)state;
    for (uint32_t i = 5000; t.n_feasible < N_MEAN / share; i++)
        check_mean(i, &opt, 1, &t);
    print("mean", &t);
    assert_hard(&t);
}

// Every rule switched off by itself, and all of them.
static void pruning_changes_no_optimum_at_90_percent(void **state)
{
    struct tally t = {.least_gap = INFINITY};
    struct rb_exact_options opt[6];
    (void)state;
    for (int i = 0; i < 6; i++)
        opt[i] = exact_options();
    opt[0].tilts = opt[1].envelope = opt[2].labels = opt[3].samples = opt[4].adaptive = false;
    opt[5].tilts = opt[5].adaptive = opt[5].envelope = opt[5].labels = opt[5].samples = false;
    for (uint32_t i = 9000; t.n_jobs < N_RULES; i++)
        check_chance(i, 0.9, opt, 6, &t);
    print("90 %, rules off", &t);
    assert_true(t.n_feasible > N_RULES / 2);
}

static void pruning_changes_no_optimum_on_average(void **state)
{
    struct tally t = {.least_gap = INFINITY};
    struct rb_mean_options opt[5];
    (void)state;
    for (int i = 0; i < 5; i++)
        opt[i] = mean_options();
    opt[0].prices = opt[1].fastest = opt[2].labels = opt[3].samples = false;
    opt[4].prices = opt[4].fastest = opt[4].labels = opt[4].samples = false;
    for (uint32_t i = 12000; t.n_jobs < N_RULES; i++)
        check_mean(i, opt, 5, &t);
    print("mean, rules off", &t);
    assert_true(t.n_feasible > N_RULES / 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_brute_force_at_95_percent),
        cmocka_unit_test(equals_brute_force_on_average),
        cmocka_unit_test(pruning_changes_no_optimum_at_90_percent),
        cmocka_unit_test(pruning_changes_no_optimum_on_average),
    };
    share = argc > 1 ? atoi(argv[1]) : 1;
    if (share < 1 || share > N_MEAN) {
        fprintf(stderr, "usage: test_planner_exact [SHARE]: one in SHARE of the jobs, 1..%d\n", N_MEAN);
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
