// One search asked for deadline after deadline: the same answers as from a fresh search each, from a space that is made once.
#include "case.h"

#include "planner/questions/sweep.h"
#include "planner/request/plan_space.h"
#include "planner/search/search.h"

#include "base/errors/err.h"

#include <stdlib.h>

#define N_CASES 5

struct fixture {
    struct rb_case c;
    struct rb_scenario scenario;
    struct rb_search search;
};

static void open_case(struct fixture *f, uint32_t number, double relative_error)
{
    struct rb_err err = {0};
    struct rb_offer *offers;
    int n;
    case_random(&f->c, number);
    if (relative_error > 0)
        case_make_uncertain(&f->c, relative_error);
    f->c.req.confidence = 0.9;
    assert_true(rb_planner_offers(&f->c.job, &f->c.catalog, &f->c.arena, &offers, &n, &err));
    assert_true(
        rb_scenario_init(&f->scenario, &f->c.job, &f->c.profile, offers, n, &f->c.catalog, f->c.req.seed, &err));
    assert_true(rb_search_init(&f->search, &f->c.req, &f->scenario, &err));
    f->search.asked_again = true;
}

static void close_case(struct fixture *f)
{
    rb_search_finish(&f->search);
    rb_scenario_finish(&f->scenario);
    case_finish(&f->c);
}

static struct rb_plan_result best_of(struct rb_search *search)
{
    const struct rb_plan_result *result;
    struct rb_err err = {0};
    if (!rb_search_plan(search, &rb_planner_optimal, &result, &err))
        fail_msg("%s", err.message);
    return *result;
}

static struct rb_plan_result ask(struct fixture *f, const struct rb_plan_request *req)
{
    rb_search_ask_again(&f->search, req);
    return best_of(&f->search);
}

static struct rb_plan_result ask_fresh(struct fixture *f, const struct rb_plan_request *req)
{
    struct rb_search search;
    struct rb_err err = {0};
    assert_true(rb_search_init(&search, req, &f->scenario, &err));
    struct rb_plan_result result = best_of(&search);
    rb_search_finish(&search);
    return result;
}

// From a deadline that nothing keeps to one that everything does, back and forth.
static void answers_as_a_fresh_search(uint32_t number, double relative_error, int *n_feasible)
{
    static const double shares[] = {2.5, 0.5, 1.3, 1.05, 1.8};
    struct fixture f;
    open_case(&f, number, relative_error);
    struct rb_plan_request req = f.c.req;
    req.deadline_us = 0;
    const int64_t tightest_us = ask_fresh(&f, &req).nearest_deadline_us;
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        req.deadline_us = (int64_t)(shares[i] * (double)tightest_us);
        const struct rb_plan_result again = ask(&f, &req), fresh = ask_fresh(&f, &req);
        assert_int_equal(again.feasible, fresh.feasible);
        *n_feasible += again.feasible;
        assert_int_equal(again.nearest_deadline_us, fresh.nearest_deadline_us);
        if (again.feasible)
            assert_int_equal(again.best.estimate.cost_uusd.mean, fresh.best.estimate.cost_uusd.mean);
        assert_int_equal(again.bound.proved, fresh.bound.proved);
    }
    close_case(&f);
}

static void from_tables(void **state)
{
    int n_feasible = 0;
    (void)state;
    for (uint32_t number = 3000; number < 3000 + N_CASES; number++)
        answers_as_a_fresh_search(number, 0, &n_feasible);
    assert_true(n_feasible >= 3 * N_CASES && n_feasible < 5 * N_CASES);
}

static void by_replicates(void **state)
{
    int n_feasible = 0;
    (void)state;
    for (uint32_t number = 3000; number < 3000 + N_CASES; number++)
        answers_as_a_fresh_search(number, 0.03, &n_feasible);
    assert_true(n_feasible >= 3 * N_CASES && n_feasible < 5 * N_CASES);
}

static void tables_are_made_once(void **state)
{
    struct fixture f;
    struct rb_options o;
    struct rb_err err = {0};
    (void)state;
    open_case(&f, 3001, 0.03);
    assert_true(rb_plan_space_take_options(&f.search, &o, &err));
    const struct rb_stage_samples *made = o.samples;
    rb_plan_space_give_options(&f.search, &o);
    assert_true(rb_plan_space_take_options(&f.search, &o, &err));
    assert_ptr_equal(o.samples, made);
    rb_plan_space_give_options(&f.search, &o);
    close_case(&f);
}

static double read_clock(void *ctx)
{
    return *(const double *)ctx;
}

static bool is_over(void *ctx)
{
    return read_clock(ctx) >= 1;
}

// A sweep gives each question a share of the limit, in a request that does not outlive the question.
static void between_questions_the_whole_limit_counts(void **state)
{
    struct fixture f;
    struct rb_err err = {0};
    double now = 0;
    (void)state;
    open_case(&f, 3000, 0);
    f.c.req.out_of_time = is_over;
    f.c.req.time_used = read_clock;
    f.c.req.out_of_time_ctx = &now;
    f.c.req.time_limit_us = 3600 * RB_US_PER_S;
    struct rb_sweep sweep = {.req = &f.c.req};
    struct rb_sweep_answers loose = {.is_landmark = true};
    assert_true(rb_search_init(&sweep.search, &f.c.req, &f.scenario, &err));
    sweep.search.asked_again = true;
    assert_true(rb_sweep_ask_cheapest(&sweep, &err) && sweep.cheapest.feasible);
    loose.deadline_us = 2 * sweep.cheapest.best.estimate.time_us.p99;
    now = 0.15; // past the share of that question
    assert_ptr_equal(sweep.search.req, sweep.req);
    assert_false(rb_search_out_of_time(&sweep.search));
    assert_true(rb_sweep_ask_all(&sweep, NULL, NULL, &loose, &err));
    assert_true(rb_sweep_optimal(&loose)->feasible);
    now = 0.9; // and past the next
    assert_ptr_equal(sweep.search.req, sweep.req);
    assert_false(rb_search_out_of_time(&sweep.search));
    struct rb_sweep_answers two[] = {loose, {.deadline_us = 2 * loose.deadline_us}}; // nothing found at the second
    assert_true(rb_sweep_level(&sweep, two, 2, &err));
    assert_true(rb_sweep_optimal(&two[1])->feasible);
    assert_ptr_equal(sweep.search.req, sweep.req);
    now = 1;
    assert_true(rb_search_out_of_time(&sweep.search));
    rb_search_finish(&sweep.search);
    close_case(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_tables),
        cmocka_unit_test(by_replicates),
        cmocka_unit_test(tables_are_made_once),
        cmocka_unit_test(between_questions_the_whole_limit_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
