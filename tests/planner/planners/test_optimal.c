// The optimal planner against brute force on random small jobs where stages share the error of the measured speed: every plan
// tried, for the least cost and the least time, with deadlines and budgets. The runs are not the planner's: what either decides
// near the confidence is open, and costs are compared with the tolerance of a proof and four standard errors. Where stages are
// independent, the batteries judge.
#include "replicate_oracle.h"

#include "base/errors/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N_CASES   24
#define MAX_PLANS 600
#define SAMPLES   1024  // runs of every plan
#define TOLERANCE 0.005 // of the best feasible mean
#define DECIDED   0.005 // a plan that keeps the constraints with less than this above the confidence may be ruled out
#define SIGMA     4
#define NEAREST   0.03
#define SURER     0.1 // what is nearest has to be found again on other runs, and is a little surer for that

struct tally {
    int n_feasible, n_infeasible, n_open;
    double worst;
};

// The request with another confidence: what surely keeps it, or all that may.
static struct rb_plan_request surer(const struct rb_plan_request *req, double more)
{
    struct rb_plan_request other = *req;
    const double off = SIGMA * sqrt(req->confidence * (1 - req->confidence) / SAMPLES);
    other.confidence = fmin(1, req->confidence + (more > 0 ? DECIDED + off : -off));
    return other;
}

static struct rb_plan_result make(const struct rb_plan_request *req, struct rb_arena *arena, struct rb_plan *plan)
{
    struct rb_plan_result result;
    struct rb_err err = {0};
    bool ok = rb_make_plan(req, "optimal", arena, plan, &result, &err);
    if (!ok && err.code != RB_ERR_INFEASIBLE)
        fail_msg("%s", err.message);
    assert_int_equal(ok, result.feasible);
    return result;
}

static int64_t objective_of(const struct rb_plan_request *req, const struct rb_estimate *e)
{
    return req->objective == RB_OBJECTIVE_MIN_COST ? e->cost_uusd.mean : e->time_us.mean;
}

static double stderr_of(const struct rb_plan_request *req, const struct rb_estimate *e)
{
    return (double)(req->objective == RB_OBJECTIVE_MIN_COST ? e->stderr_.cost_mean_uusd : e->stderr_.time_mean_us);
}

// Not above a baseline, which is feasible where it exists.
static void check_baselines(const struct rb_plan_request *req, const struct rb_plan *plan, uint32_t number)
{
    assert_int_equal(plan->n_baselines, 3);
    for (int i = 0; i < plan->n_baselines; i++) {
        const struct rb_plan_baseline *b = &plan->baselines[i];
        const double off = SIGMA * hypot(stderr_of(req, &plan->estimate), stderr_of(req, &b->estimate));
        if (b->exists && (double)objective_of(req, &plan->estimate) >
                             (1 + TOLERANCE) * (double)objective_of(req, &b->estimate) + off)
            fail_msg("case %u: optimal is above %s", number, b->name);
    }
}

// The nearest lies between the least that some plan may keep and the least that some plan surely keeps; -1: none does.
static void check_nearest(const char *what, uint32_t number, int64_t value, int64_t may, int64_t surely, int64_t step)
{
    const double low = (1 - NEAREST) * (double)may - (double)step, high = (1 + NEAREST) * (double)surely + (double)step;
    if (surely >= 0 && (value < 0 || (double)value > high || (double)value < low))
        fail_msg("case %u: nearest %s %lld, expected %.0f to %.0f", number, what, (long long)value, low, high);
}

static void check_infeasible(const struct replicate_oracle *o, const struct rb_plan_request *req,
                             const struct rb_plan_result *result, uint32_t number)
{
    const struct rb_plan_request may = surer(req, -1), surely = surer(req, 1);
    if (req->deadline_us >= 0)
        check_nearest("deadline", number, result->nearest_deadline_us, replicate_oracle_least_deadline(o, &may),
                      replicate_oracle_least_deadline(o, &surely), RB_US_PER_S);
    if (req->budget_uusd >= 0)
        check_nearest("budget", number, result->nearest_budget_uusd, replicate_oracle_least_budget(o, &may),
                      replicate_oracle_least_budget(o, &surely), RB_UUSD / 100);
}

static void check_feasible(const struct rb_plan_request *req, const struct rb_plan *plan, int64_t least, int64_t sure,
                           uint32_t number, struct tally *tally)
{
    const double found = (double)objective_of(req, &plan->estimate), se = stderr_of(req, &plan->estimate);
    const double off = SIGMA * se * sqrt(1 + (double)plan->estimate.samples / SAMPLES);
    tally->n_feasible++;
    tally->worst = sure > 0 ? fmax(tally->worst, found / (double)sure) : tally->worst;
    if (found < (double)least - off)
        fail_msg("case %u: %.0f is below the least possible %lld", number, found, (long long)least);
    if (sure >= 0 && found > (1 + TOLERANCE) * (double)sure + off)
        fail_msg("case %u: %.4f times the best", number, found / (double)sure);
    assert_true(plan->estimate.p_both + SIGMA * plan->estimate.stderr_.p_both >= req->confidence);
    check_baselines(req, plan, number);
}

static void check_one(const struct replicate_oracle *o, const struct rb_plan_request *req, uint32_t number,
                      struct tally *tally)
{
    struct rb_arena arena;
    struct rb_plan plan;
    rb_arena_init(&arena);
    const struct rb_plan_request may = surer(req, -1), surely = surer(req, 1);
    const int64_t least = replicate_oracle_best(o, &may), sure = replicate_oracle_best(o, &surely);
    struct rb_plan_result result = make(req, &arena, &plan);
    if (result.feasible ? least < 0 : sure >= 0)
        fail_msg("case %u: feasible %d, oracle %lld to %lld", number, result.feasible, (long long)least,
                 (long long)sure);
    tally->n_open += (least < 0) != (sure < 0);
    if (result.feasible) {
        check_feasible(req, &plan, least, sure, number, tally);
    } else {
        tally->n_infeasible++;
        check_infeasible(o, req, &result, number);
    }
    rb_arena_finish(&arena);
}

static int64_t between(int64_t a, int64_t b, double u)
{
    return a + (int64_t)(u * (double)(b - a));
}

// No constraint, then deadlines and budgets between the tightest possible and the loosest that matters, and beyond.
static void check_case(uint32_t number, struct tally *tally)
{
    struct rb_case c;
    struct replicate_oracle o;
    case_random(&c, number);
    case_make_uncertain(&c, 0.03);
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 7, .purpose = RB_DRAW_SEARCH, .index = number});
    c.req.samples = SAMPLES;
    c.req.confidence = 0.5 + 0.49 * rb_stream_uniform(&s);
    c.req.objective = number % 3 == 2 ? RB_OBJECTIVE_MIN_TIME : RB_OBJECTIVE_MIN_COST;
    if (replicate_oracle_init(&o, &c, MAX_PLANS, SAMPLES)) {
        struct rb_plan_request req = c.req;
        int64_t tight_us = replicate_oracle_least_deadline(&o, &req),
                tight_uusd = replicate_oracle_least_budget(&o, &req);
        check_one(&o, &req, number, tally);
        req.deadline_us = between(tight_us, 3 * tight_us, rb_stream_uniform(&s) * rb_stream_uniform(&s));
        check_one(&o, &req, number, tally);
        req.budget_uusd = between(tight_uusd, 3 * tight_uusd, rb_stream_uniform(&s));
        check_one(&o, &req, number, tally);
        req.deadline_us = -1;
        check_one(&o, &req, number, tally);
        req = c.req;
        req.deadline_us = between(tight_us / 2, tight_us, rb_stream_uniform(&s));
        check_one(&o, &req, number, tally);
    }
    replicate_oracle_finish(&o);
    case_finish(&c);
}

static void optimal_is_the_best_of_all_plans(void **state)
{
    struct tally tally = {0};
    (void)state;
    for (uint32_t i = 0; i < N_CASES; i++)
        check_case(i, &tally);
    print_message("%d feasible requests, at most %.5f of the best; %d infeasible; %d open\n", tally.n_feasible,
                  tally.worst, tally.n_infeasible, tally.n_open);
    assert_true(tally.n_feasible > 30 && tally.n_infeasible > 5);
}

static int64_t above(int64_t value)
{
    return value + (int64_t)(NEAREST * (double)value);
}

static int64_t below(int64_t value)
{
    return value - (int64_t)(SURER * (double)value);
}

// Some hundredths more than what is said to be the nearest is feasible, and a tenth less is not.
static void nearest_values_are_nearest(void **state)
{
    int n_checked = 0;
    (void)state;
    for (uint32_t i = 1000; i < 1008; i++) {
        struct rb_case c;
        struct rb_plan plan;
        case_random(&c, i);
        case_make_uncertain(&c, 0.03);
        c.req.samples = 4096;
        c.req.deadline_us = RB_US_PER_S;
        c.req.confidence = 0.9;
        struct rb_plan_result first = make(&c.req, &c.arena, &plan);
        assert_false(first.feasible);
        assert_true(first.nearest_deadline_us > 0);
        c.req.deadline_us = above(first.nearest_deadline_us);
        assert_true(make(&c.req, &c.arena, &plan).feasible);
        c.req.deadline_us = below(first.nearest_deadline_us) - RB_US_PER_S;
        assert_false(make(&c.req, &c.arena, &plan).feasible);
        c.req.deadline_us = -1;
        c.req.budget_uusd = 1;
        struct rb_plan_result poor = make(&c.req, &c.arena, &plan);
        assert_false(poor.feasible);
        c.req.budget_uusd = above(poor.nearest_budget_uusd);
        assert_true(make(&c.req, &c.arena, &plan).feasible);
        c.req.budget_uusd = below(poor.nearest_budget_uusd) - RB_UUSD / 100;
        assert_false(make(&c.req, &c.arena, &plan).feasible);
        n_checked++;
        case_finish(&c);
    }
    assert_int_equal(n_checked, 8);
}

// Of independent stages: what is said to be nearest is feasible, and a tenth less is not.
static void nearest_deadline_of_independent_stages(void **state)
{
    (void)state;
    for (uint32_t i = 1000; i < 1010; i++) {
        struct rb_case c;
        struct rb_plan plan;
        case_random(&c, i);
        c.req.samples = 4096;
        c.req.deadline_us = RB_US_PER_S;
        c.req.confidence = 0.9;
        struct rb_plan_result first = make(&c.req, &c.arena, &plan);
        assert_false(first.feasible);
        c.req.deadline_us = above(first.nearest_deadline_us);
        assert_true(make(&c.req, &c.arena, &plan).feasible);
        c.req.deadline_us = below(c.req.deadline_us);
        struct rb_plan_result less = make(&c.req, &c.arena, &plan);
        assert_false(less.feasible);
        if (!isnan(less.nearest_confidence)) {
            c.req.confidence = less.nearest_confidence - NEAREST;
            assert_true(make(&c.req, &c.arena, &plan).feasible);
        }
        case_finish(&c);
    }
}

// The same request gives the same plan, whatever the number of threads.
static void plans_are_reproducible(void **state)
{
    (void)state;
    for (uint32_t i = 2000; i < 2010; i++) {
        struct rb_case c;
        struct rb_plan plans[2];
        case_random(&c, i);
        for (int k = 0; k < 2; k++) {
            c.req.threads = k + 1;
            assert_true(make(&c.req, &c.arena, &plans[k]).feasible);
        }
        assert_memory_equal(&plans[0].estimate, &plans[1].estimate, sizeof plans[0].estimate);
        for (int stage = 0; stage < plans[0].n_stages; stage++) {
            assert_int_equal(plans[0].stages[stage].gpus_per_trial, plans[1].stages[stage].gpus_per_trial);
            assert_int_equal(plans[0].stages[stage].nodes[0].count, plans[1].stages[stage].nodes[0].count);
        }
        case_finish(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimal_is_the_best_of_all_plans),
        cmocka_unit_test(nearest_values_are_nearest),
        cmocka_unit_test(nearest_deadline_of_independent_stages),
        cmocka_unit_test(plans_are_reproducible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
