// Plans of asynchronous jobs: they keep what they promise in runs that no one chose them by, nothing much better exists where
// every plan can be tried, configurations are cut off only where the whole job does not fit, and pools are as large as the
// budget allows.
#include "case.h"

#include "planner/async/async_admission.h"
#include "planner/request/question.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FRESH (UINT32_C(1) << 25) // runs that no planner has seen

static const char profile_text[] = "format: rb-profile/1\nname: asynchronous\nunit: epoch\nsource: test\ntraining:\n"
                                   "  - accelerator: T4\n    base_s: 60.0\n    layouts:\n"
                                   "      - {gpus: 1, nodes: 1, speedup: 1.0}\n"
                                   "      - {gpus: 2, nodes: 1, speedup: 1.8}\n"
                                   "      - {gpus: 4, nodes: 1, speedup: 3.0}\n"
                                   "noise:\n"
                                   "  between: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
                                   "  within: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
                                   "startup_s: {distribution: constant, mean: 5.0}\n"
                                   "checkpoint_s: {distribution: constant, mean: 1.0}\n"
                                   "provisioning:\n  - infra: aws\n    instance_type: \"*\"\n    market: \"*\"\n"
                                   "    queue_s: {distribution: lognormal, mean: 10.0, cv: 0.3}\n"
                                   "    init_s: {distribution: lognormal, mean: 40.0, cv: 0.3}\n"
                                   "    capacity_failure: 0.0\n    preemption_per_hour: 0.0\n";

static const char prices_text[] =
    "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
    "aws/us-east-1,small,T4,1,16,4,16,on_demand,0.60\n"
    "aws/us-east-1,large,T4,4,16,16,64,on_demand,2.60\n";

#define JOB(scheduler, more)                                                                             \
    "name: asynchronous\nmetric: {name: acc, goal: maximize}\nparameters:\n  lr: {min: 0.1, max: 0.9}\n" \
    "scheduler: " scheduler "\nrun: python train.py\n" more

#define ASHA  "{type: asha, num_trials: 16, min_resource: 1, max_resource: 9, eta: 3}"
#define SIZES "trial:\n  gpus: {min: 1, max: 4, sizes: [1, 2, 4]}\n"

static void begin(struct rb_case *c, const char *job)
{
    case_init(c, job, profile_text, prices_text);
    c->req.samples = 512;
}

static void make(struct rb_case *c, const char *planner, struct rb_plan *plan)
{
    struct rb_plan_result result;
    struct rb_err err = {0};
    if (!rb_make_plan(&c->req, planner, &c->arena, plan, &result, &err))
        fail_msg("%s: %s", planner, err.message);
}

// Runs of the plan as it is written, beside its own scenario.
static void play(const struct rb_plan *plan, int n, struct rb_world_result *out)
{
    struct rb_scenario s;
    struct rb_err err = {0};
    const struct rb_world_runs runs = {
        .samples = n, .first = FRESH, .threads = 1, .deadline_us = plan->deadline_us, .budget_uusd = plan->budget_uusd};
    if (!rb_scenario_init(&s, plan->job, plan->profile, plan->offers, plan->n_offers, plan->catalog, plan->seed,
                          &err) ||
        !rb_world_replicates(&s, plan, &runs, out, NULL, &err))
        fail_msg("%s", err.message);
    rb_scenario_finish(&s);
}

static double share_kept(const struct rb_plan *plan, const struct rb_world_result *runs, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
        kept += rb_world_kept(&runs[i], plan->deadline_us, plan->budget_uusd);
    return (double)kept / n;
}

static bool warns_of(const struct rb_plan *plan, const char *words)
{
    for (int i = 0; i < plan->n_warnings; i++) {
        if (strstr(plan->warnings[i], words))
            return true;
    }
    return false;
}

// ---- plans of the whole job

static void a_plan_keeps_its_promise_in_runs_that_no_one_has_seen(void **state)
{
    (void)state;
    enum { N = 2048 };
    static struct rb_world_result runs[N];
    struct rb_case c;
    struct rb_plan plan;
    begin(&c, JOB(ASHA, SIZES "resources: {infra: [aws/us-east-1], max_nodes: 8}\ndeadline: 25m\nconfidence: 0.9\n"));
    make(&c, "optimal", &plan);
    assert_true(plan.estimate.p_both >= 0.9);
    assert_int_equal(plan.estimate.time_method, RB_ESTIMATE_REPLICATES);
    assert_int_equal(plan.estimate.samples, 512);
    assert_int_equal(plan.admit_until_us, 0);
    assert_false(plan.bound.present);
    assert_string_equal(plan.bound.why_not, "asynchronous: promotions depend on results");
    assert_true(warns_of(&plan, "made-up learning curves"));

    play(&plan, N, runs);
    double mean = 0, squares = 0;
    for (int i = 0; i < N; i++)
        mean += (double)runs[i].cost_uusd / N;
    for (int i = 0; i < N; i++)
        squares += ((double)runs[i].cost_uusd - mean) * ((double)runs[i].cost_uusd - mean);
    const double own = (double)plan.estimate.stderr_.cost_mean_uusd, theirs = sqrt(squares / (N - 1) / N);
    assert_true(fabs((double)plan.estimate.cost_uusd.mean - mean) <= 4 * sqrt(own * own + theirs * theirs));
    assert_true(share_kept(&plan, runs, N) >= plan.estimate.p_both - 4 * sqrt(0.09 / 512 + 0.09 / N));
    case_finish(&c);
}

static void phases_sum_to_the_whole(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    begin(&c, JOB(ASHA, SIZES "resources: {infra: [aws/us-east-1], max_nodes: 8}\ndeadline: 25m\n"));
    make(&c, "optimal", &plan);
    int64_t time_us = 0, cost_uusd = 0;
    for (int i = 0; i < plan.n_stages; i++) {
        time_us += plan.stages[i].time_us.mean;
        cost_uusd += plan.stages[i].cost_uusd.mean;
    }
    assert_true(llabs(time_us - plan.estimate.time_us.mean) <= plan.n_stages);
    assert_true(llabs(cost_uusd - plan.estimate.cost_uusd.mean) <= plan.n_stages);
    case_finish(&c);
}

static void no_one_else_is_cheaper(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    begin(&c, JOB(ASHA, SIZES "resources: {infra: [aws/us-east-1], max_nodes: 8}\ndeadline: 20m\nconfidence: 0.9\n"));
    make(&c, "optimal", &plan);
    int n_found = 0;
    for (int i = 0; i < plan.n_baselines; i++) {
        n_found += plan.baselines[i].exists;
        if (plan.baselines[i].exists) {
            assert_true(plan.baselines[i].estimate.p_both >= 0.9);
            assert_true(plan.estimate.cost_uusd.mean <= plan.baselines[i].estimate.cost_uusd.mean);
        }
    }
    assert_true(n_found >= 2);
    case_finish(&c);
}

// No single move makes the best of the baselines cheaper here; a plan that differs from it in several phases costs a seventh less.
static void plans_that_no_small_step_leads_to_are_found(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    int64_t least_uusd = INT64_MAX;
    begin(&c, JOB(ASHA, SIZES "resources: {infra: [aws/us-east-1], max_nodes: 8}\ndeadline: 17m\nconfidence: 0.9\n"));
    make(&c, "optimal", &plan);
    for (int i = 0; i < plan.n_baselines; i++) {
        const struct rb_estimate *e = &plan.baselines[i].estimate;
        if (plan.baselines[i].exists && e->cost_uusd.mean < least_uusd)
            least_uusd = e->cost_uusd.mean;
    }
    assert_true(plan.estimate.p_both >= 0.9);
    assert_true((double)plan.estimate.cost_uusd.mean < 0.88 * (double)least_uusd);
    case_finish(&c);
}

// Every choice of nodes and GPUs for every phase, on one offer: none that keeps the deadline is much cheaper.
static void every_plan_of_a_small_job(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    struct rb_scenario s;
    struct rb_offer *offers;
    struct rb_search search;
    struct rb_err err = {0};
    int n_offers, n_feasible = 0;
    int64_t least_uusd = INT64_MAX;
    begin(&c, JOB("{type: asha, num_trials: 9, min_resource: 1, max_resource: 3, eta: 3}",
                  SIZES "resources: {infra: [aws/us-east-1], instance_types: [large], max_nodes: 4}\ndeadline: 9m\n"
                        "confidence: 0.9\n"));
    make(&c, "optimal", &plan);
    assert_true(rb_planner_offers(c.req.job, c.req.catalog, &c.arena, &offers, &n_offers, &err));
    assert_true(rb_scenario_init(&s, c.req.job, c.req.profile, offers, n_offers, c.req.catalog, c.req.seed, &err));
    assert_true(rb_search_init(&search, &c.req, &s, &err));
    for (int code = 0; code < 4 * 4 * 3 * 3; code++) {
        struct rb_candidate one = {.n_stages = 2};
        one.stages[0] = (struct rb_choice){0, 1 << code / 16 % 3, 1 + code % 4};
        one.stages[1] = (struct rb_choice){0, 1 << code / 48, 1 + code / 4 % 4};
        assert_true(rb_async_estimate(&search, &one, NULL, &err));
        if (one.estimate.p_both < 0.9)
            continue;
        n_feasible++;
        least_uusd = one.estimate.cost_uusd.mean < least_uusd ? one.estimate.cost_uusd.mean : least_uusd;
    }
    assert_in_range(n_feasible, 2, 4 * 4 * 3 * 3 - 2); // the deadline decides something
    if ((double)plan.estimate.cost_uusd.mean > 1.03 * (double)least_uusd)
        fail_msg("found $%.4f, there is $%.4f", (double)plan.estimate.cost_uusd.mean / 1e6, (double)least_uusd / 1e6);
    rb_search_finish(&search);
    rb_scenario_finish(&s);
    case_finish(&c);
}

// Points of a frontier do; the first runs are the same ones.
static void a_smaller_part_compares_by_fewer_runs(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_question q;
    struct rb_search search;
    struct rb_err err = {0};
    begin(&c, JOB(ASHA, SIZES "resources: {infra: [aws/us-east-1], max_nodes: 4}\ndeadline: 20m\nconfidence: 0.9\n"));
    c.req.samples = RB_ASYNC_COMPARED_PART * RB_ASYNC_COMPARED;
    assert_true(rb_question_init(&q, &c.req, &c.arena, &err));
    assert_true(rb_search_init(&search, &q.req, &q.scenario, &err));
    assert_int_equal(rb_async_n_compared(&search), RB_ASYNC_COMPARED);
    search.place = RB_SEARCH_FRONTIER_BETWEEN;
    assert_int_equal(rb_async_n_compared(&search), RB_ASYNC_COMPARED / 2);
    assert_int_equal(rb_async_n_screened(&search), RB_ASYNC_COMPARED / 16);
    rb_search_finish(&search);
    rb_question_finish(&q);
    case_finish(&c);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan one, many;
    begin(&c, JOB(ASHA, SIZES "resources: {infra: [aws/us-east-1], max_nodes: 4}\ndeadline: 20m\nconfidence: 0.9\n"));
    c.req.samples = 128;
    make(&c, "optimal", &one);
    c.req.threads = 3;
    make(&c, "optimal", &many);
    assert_memory_equal(&one.estimate, &many.estimate, sizeof one.estimate);
    for (int i = 0; i < one.n_stages; i++) {
        assert_int_equal(one.stages[i].gpus_per_trial, many.stages[i].gpus_per_trial);
        assert_int_equal(one.stages[i].nodes[0].count, many.stages[i].nodes[0].count);
        assert_int_equal(one.stages[i].time_us.p95, many.stages[i].time_us.p95);
    }
    case_finish(&c);
}

// ---- parts of the job

#define TIGHT SIZES "resources: {infra: [aws/us-east-1], instance_types: [large], max_nodes: 1}\nconfidence: 0.9\n"

static void configurations_are_cut_off_where_the_job_does_not_fit(void **state)
{
    (void)state;
    enum { N = 512 };
    static struct rb_world_result runs[N];
    struct rb_case c;
    struct rb_plan plan;
    begin(&c, JOB(ASHA, TIGHT "deadline: 12m\n"));
    make(&c, "optimal", &plan);
    assert_in_range(plan.admit_until_us, 1, 12 * 60 * RB_US_PER_S);
    assert_true(warns_of(&plan, "no configuration is started after"));
    for (int i = 0; i < plan.n_baselines; i++)
        assert_false(plan.baselines[i].exists); // whole jobs

    play(&plan, N, runs);
    int n_full = 0, n_trained = 0;
    for (int i = 0; i < N; i++) {
        n_full += runs[i].n_full > 0;
        n_trained += runs[i].n_trained;
    }
    const double se = sqrt(0.09 / N + 0.09 / 512);
    assert_true(share_kept(&plan, runs, N) >= 0.9 - 4 * se);
    assert_true((double)n_full / N >= 0.9 - 4 * se);
    assert_true(n_trained < 16 * N);

    // Half as long again would be too late.
    plan.admit_until_us += plan.admit_until_us / 2;
    play(&plan, N, runs);
    assert_true(share_kept(&plan, runs, N) < 0.9);
    case_finish(&c);
}

static void what_is_nearest_can_be_kept(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    begin(&c, JOB(ASHA, TIGHT "deadline: 4m\n"));
    assert_false(rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err));
    assert_int_equal(err.code, RB_ERR_INFEASIBLE);
    assert_true(result.nearest_deadline_us > c.req.deadline_us);
    c.req.deadline_us = result.nearest_deadline_us;
    make(&c, "optimal", &plan);
    assert_true(plan.estimate.p_both >= 0.9);
    case_finish(&c);
}

static bool is_feasible(struct rb_case *c, struct rb_plan_result *result)
{
    struct rb_plan plan;
    struct rb_err err = {0};
    const bool ok = rb_make_plan(&c->req, "optimal", &c->arena, &plan, result, &err);
    if (!ok && err.code != RB_ERR_INFEASIBLE)
        fail_msg("%s", err.message);
    return ok;
}

// As nearest as a search on samples can tell: what is some percent below is not found.
static void what_is_nearest_is_hardly_more_than_needed(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan_result result, below;
    begin(&c, JOB(ASHA, TIGHT "deadline: 4m\n"));
    assert_false(is_feasible(&c, &result));
    c.req.deadline_us = result.nearest_deadline_us * 95 / 100;
    assert_false(is_feasible(&c, &below));
    assert_int_equal(below.nearest_deadline_us, result.nearest_deadline_us);

    c.req.deadline_us = 2 * 3600 * RB_US_PER_S;
    c.req.budget_uusd = 10000;
    assert_false(is_feasible(&c, &result));
    c.req.budget_uusd = result.nearest_budget_uusd;
    assert_true(is_feasible(&c, &below));
    c.req.budget_uusd = result.nearest_budget_uusd * 98 / 100;
    assert_false(is_feasible(&c, &below));
    case_finish(&c);
}

static void hyperband_side_by_side_is_all_or_nothing(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    begin(&c, JOB("{type: hyperband, min_resource: 1, max_resource: 9, eta: 3, brackets_run: side_by_side}",
                  TIGHT "deadline: 2h\n"));
    make(&c, "optimal", &plan);
    assert_int_equal(plan.admit_until_us, 0);
    assert_string_equal(plan.bound.why_not, "asynchronous: promotions depend on results");
    c.req.deadline_us = 10 * 60 * RB_US_PER_S;
    assert_false(rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err));
    assert_int_equal(err.code, RB_ERR_INFEASIBLE);
    c.req.deadline_us = result.nearest_deadline_us;
    make(&c, "optimal", &plan);
    case_finish(&c);
}

static void hyperband_in_turn_is_proved(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    begin(&c, JOB("{type: hyperband, min_resource: 1, max_resource: 9, eta: 3}", TIGHT "deadline: 3h\n"));
    make(&c, "optimal", &plan);
    assert_true(plan.bound.proved);
    assert_int_equal(plan.n_stages, 6); // brackets of 9, 5 and 3 trials
    case_finish(&c);
}

// ---- pools

#define HYPERSCHED SIZES "policy: hypersched\nresources: {infra: [aws/us-east-1], max_nodes: 6}\n"

static void without_a_budget_a_pool_is_all_there_is(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    begin(&c, JOB(ASHA, HYPERSCHED "deadline: 15m\n"));
    make(&c, "optimal", &plan);
    for (int i = 0; i < plan.n_stages; i++) {
        assert_string_equal(plan.offers[plan.stages[i].nodes[0].offer].instance_type, "large");
        assert_int_equal(plan.stages[i].nodes[0].count, 6);
    }
    assert_true(plan.estimate.time_us.p99 <= 15 * 60 * RB_US_PER_S);
    case_finish(&c);
}

static void a_budget_buys_the_largest_pool(void **state)
{
    (void)state;
    enum { N = 256 };
    static struct rb_world_result runs[N];
    struct rb_case c;
    struct rb_plan plan;
    begin(&c, JOB(ASHA, HYPERSCHED "deadline: 15m\nbudget: 1.50\n"));
    make(&c, "optimal", &plan);
    play(&plan, N, runs);
    assert_true(share_kept(&plan, runs, N) >= 0.95 - 4 * sqrt(0.0475 / N + 0.0475 / 512));

    struct rb_plan_nodes more = plan.stages[0].nodes[0];
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    assert_true(more.count < 6);
    more.count++;
    for (int i = 0; i < plan.n_stages; i++) {
        stages[i] = plan.stages[i];
        stages[i].nodes = &more;
    }
    plan.stages = stages;
    play(&plan, N, runs);
    assert_true(share_kept(&plan, runs, N) < 0.95);
    case_finish(&c);
}

// ---- what is reported

// Figures of a search are counted in runs that go on beyond the budget; those of the plan are what its runs keep of it.
struct tight {
    const char *name, *job;
    int64_t deadline_us, budget_uusd; // -1: none; parts of it are asked for
};

static void check_answer(struct rb_case *c, const struct tight *t, const char *planner)
{
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    if (rb_make_plan(&c->req, planner, &c->arena, &plan, &result, &err)) {
        if (plan.estimate.p_both < c->req.confidence)
            fail_msg("%s, %s, seed %d, $%.3f: a plan with P=%.4f", t->name, planner, (int)c->req.seed,
                     (double)c->req.budget_uusd / 1e6, plan.estimate.p_both);
        return;
    }
    if (err.code != RB_ERR_INFEASIBLE)
        fail_msg("%s, %s: %s", t->name, planner, err.message);
    assert_false(result.feasible);
    assert_true(result.nearest_deadline_us < 0 || result.nearest_deadline_us > c->req.deadline_us);
    assert_true(result.nearest_budget_uusd < 0 || result.nearest_budget_uusd > c->req.budget_uusd);
    assert_true(isnan(result.nearest_confidence) || result.nearest_confidence < c->req.confidence);
}

static void no_plan_is_reported_that_keeps_less_than_was_asked(void **state)
{
    (void)state;
    static const char *const planners[] = {"static", "greedy", "naive"};
    static const struct tight jobs[] = {
        {"one node", JOB(ASHA, TIGHT), -1, 620000},
        {"late", JOB(ASHA, TIGHT), 12 * 60 * RB_US_PER_S, 500000},
        {"two types", JOB(ASHA, SIZES "resources: {infra: [aws/us-east-1], max_nodes: 8}\nconfidence: 0.9\n"),
         25 * 60 * RB_US_PER_S, 510000},
        {"pool", JOB(ASHA, HYPERSCHED), 15 * 60 * RB_US_PER_S, 300000},
        {"by barriers",
         JOB("{type: sha, num_trials: 9, min_resource: 1, max_resource: 9, eta: 3}",
             SIZES "policy: fluid\nresources: {infra: [aws/us-east-1], max_nodes: 4}\n"),
         30 * 60 * RB_US_PER_S, 235000},
    };
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        struct rb_case c;
        begin(&c, jobs[i].job);
        c.req.samples = 64;
        for (int seed = 0; seed < 2; seed++) {
            c.req.seed = (uint64_t)seed;
            for (int part = 90; part <= 110; part += 10) {
                c.req.deadline_us = jobs[i].deadline_us;
                c.req.budget_uusd = jobs[i].budget_uusd * part / 100;
                check_answer(&c, &jobs[i], "optimal");
            }
            check_answer(&c, &jobs[i], planners[(i + (size_t)seed) % 3]);
        }
        case_finish(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_keeps_its_promise_in_runs_that_no_one_has_seen),
        cmocka_unit_test(phases_sum_to_the_whole),
        cmocka_unit_test(no_one_else_is_cheaper),
        cmocka_unit_test(plans_that_no_small_step_leads_to_are_found),
        cmocka_unit_test(every_plan_of_a_small_job),
        cmocka_unit_test(a_smaller_part_compares_by_fewer_runs),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(configurations_are_cut_off_where_the_job_does_not_fit),
        cmocka_unit_test(what_is_nearest_can_be_kept),
        cmocka_unit_test(what_is_nearest_is_hardly_more_than_needed),
        cmocka_unit_test(hyperband_side_by_side_is_all_or_nothing),
        cmocka_unit_test(hyperband_in_turn_is_proved),
        cmocka_unit_test(without_a_budget_a_pool_is_all_there_is),
        cmocka_unit_test(a_budget_buys_the_largest_pool),
        cmocka_unit_test(no_plan_is_reported_that_keeps_less_than_was_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
