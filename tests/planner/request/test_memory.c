// The memory limit: what is counted, that a search which reaches it ends with a plan and a gap, and that tables fit or say so.
#include "case.h"

#include "planner/request/memory.h"
#include "planner/request/options.h"
#include "planner/request/plan_space.h"

#include <math.h>
#include <string.h>

#define LITTLE 300000 // bytes

struct job {
    struct rb_case c;
    struct rb_scenario scenario;
};

// A random job with more nodes than usual, so that there is something to keep. false: no size fits any node.
static bool job_init(struct job *job, uint32_t number)
{
    struct rb_offer *offers;
    struct rb_search search;
    struct rb_err err = {0};
    int n;
    case_random(&job->c, number);
    job->c.job.resources.max_nodes += 3;
    job->c.req.deadline_us = -1;
    if (!rb_planner_offers(&job->c.job, &job->c.catalog, &job->c.arena, &offers, &n, &err) ||
        !rb_scenario_init(&job->scenario, &job->c.job, &job->c.profile, offers, n, &job->c.catalog, job->c.req.seed,
                          &err))
        fail_msg("%s", err.message);
    const bool ok = rb_search_init(&search, &job->c.req, &job->scenario, &err);
    if (ok)
        rb_search_finish(&search);
    return ok;
}

static void job_finish(struct job *job)
{
    rb_scenario_finish(&job->scenario);
    case_finish(&job->c);
}

static void some_job(struct job *job)
{
    for (uint32_t number = 0; !job_init(job, number); number++)
        job_finish(job);
}

static void start_search(const struct job *job, const struct rb_plan_request *req, struct rb_search *out)
{
    struct rb_err err = {0};
    if (!rb_search_init(out, req, &job->scenario, &err))
        fail_msg("%s", err.message);
}

// With little memory a plan is found where there is one, and it is no better than that of a search with enough.
static void a_search_with_little_memory_finds_a_plan(void **state)
{
    int n = 0;
    (void)state;
    for (uint32_t number = 0; n < 10; number++) {
        struct job job;
        struct rb_plan plan, whole;
        struct rb_plan_result result;
        struct rb_err err = {0};
        if (!job_init(&job, number)) {
            job_finish(&job);
            continue;
        }
        struct rb_plan_request req = job.c.req;
        req.deadline_us = 0;
        assert_false(rb_make_plan(&req, "optimal", &job.c.arena, &whole, &result, &err));
        req.deadline_us = result.nearest_deadline_us * 3 / 2;
        assert_true(rb_make_plan(&req, "optimal", &job.c.arena, &whole, &result, &err));
        req.memory_limit_bytes = LITTLE;
        if (!rb_make_plan(&req, "optimal", &job.c.arena, &plan, &result, &err))
            fail_msg("case %u: %s", number, err.message);
        const double more = (double)(plan.estimate.cost_uusd.mean - whole.estimate.cost_uusd.mean);
        const double off =
            4 * hypot((double)plan.estimate.stderr_.cost_mean_uusd, (double)whole.estimate.stderr_.cost_mean_uusd);
        assert_true(more >= -0.005 * (double)whole.estimate.cost_uusd.mean - off);
        assert_true(plan.bound.gap >= 0 && (plan.bound.proved || plan.bound.why_not));
        n++;
        job_finish(&job);
    }
}

// The most nodes of the first offer that any size fits.
static struct rb_candidate some_plan(const struct job *job)
{
    struct rb_candidate c = {.n_stages = job->scenario.stages.n};
    int sizes[RB_LIMIT_GPUS_PER_NODE], offer = 0;
    while (rb_planner_sizes(&job->scenario, offer, sizes) == 0)
        offer++;
    for (int i = 0; i < c.n_stages; i++)
        c.stages[i] = (struct rb_choice){offer, sizes[0], job->c.job.resources.max_nodes};
    return c;
}

static struct rb_estimate by_replicates(const struct job *job, int samples, int threads)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    struct rb_estimate e;
    struct rb_err err = {0};
    const struct rb_candidate candidate = some_plan(job);
    const struct rb_evaluate_options opt = {.samples = samples, .threads = threads};
    rb_candidate_stages(&job->scenario, &candidate, stages, nodes);
    if (!rb_evaluate(&job->scenario, stages, candidate.n_stages, &opt, &e, NULL, &err))
        fail_msg("%s", err.message);
    return e;
}

// What is drawn, by however many threads, and not what may be.
static void kept_draws_are_counted(void **state)
{
    struct job job;
    struct rb_search search;
    size_t bytes[2];
    (void)state;
    some_job(&job);
    struct rb_plan_request req = job.c.req;
    req.samples = 4096;
    for (int i = 0; i < 2; i++) {
        rb_search_keep_draws(&job.scenario, &req);
        assert_int_equal(rb_scenario_kept_bytes(&job.scenario), 0);
        by_replicates(&job, 64, 1 + i);
        const size_t few = rb_scenario_kept_bytes(&job.scenario);
        by_replicates(&job, req.samples, 1 + i);
        bytes[i] = rb_scenario_kept_bytes(&job.scenario);
        assert_true(few > 0 && bytes[i] > few);
        by_replicates(&job, req.samples, 1 + i); // nothing new
        assert_int_equal(rb_scenario_kept_bytes(&job.scenario), bytes[i]);
    }
    assert_int_equal(bytes[0], bytes[1]);
    start_search(&job, &req, &search);
    const size_t others = rb_run_store_bytes(search.runs);
    req.memory_limit_bytes = (int64_t)(others + bytes[1]);
    assert_int_equal((int64_t)rb_search_memory_for_tables(&search), others);
    rb_search_finish(&search);
    job_finish(&job);
}

// A job whose draws alone would take more than the limit: none are kept, and its plan is the same.
static void draws_without_room_are_not_kept(void **state)
{
    enum { SAMPLES = 100000 };
    struct job job;
    (void)state;
    some_job(&job);
    struct rb_plan_request req = job.c.req;
    req.samples = SAMPLES;
    rb_search_keep_draws(&job.scenario, &req);
    const struct rb_estimate kept = by_replicates(&job, SAMPLES, 2);
    const size_t bytes = rb_scenario_kept_bytes(&job.scenario);
    req.memory_limit_bytes = (int64_t)bytes - 1;
    rb_search_keep_draws(&job.scenario, &req);
    const struct rb_estimate again = by_replicates(&job, SAMPLES, 2);
    assert_int_equal(rb_scenario_kept_bytes(&job.scenario), 0);
    assert_memory_equal(&kept, &again, sizeof kept);
    job_finish(&job);
}

// Fewer samples where there is too little room for more, and an error where the fewest do not fit.
static void tables_fit_or_say_so(void **state)
{
    struct job job;
    struct rb_search search;
    struct rb_options o;
    struct rb_err err = {0};
    (void)state;
    some_job(&job);
    struct rb_plan_request req = job.c.req;
    req.samples = 4096;
    start_search(&job, &req, &search);
    assert_true(rb_plan_space_take_options(&search, &o, &err));
    const int n_samples = o.n_samples;
    rb_plan_space_give_options(&search, &o);
    assert_true(n_samples > 64);

    req.memory_limit_bytes = 1000000;
    assert_true(rb_plan_space_take_options(&search, &o, &err));
    assert_true(o.n_samples >= 64 && o.n_samples < n_samples && o.is_pilot);
    rb_plan_space_give_options(&search, &o);

    req.memory_limit_bytes = 1000;
    assert_false(rb_plan_space_take_options(&search, &o, &err));
    assert_int_equal(rb_err_number(&err), RB_E_MEMORY_LIMIT);
    assert_non_null(strstr(err.message, "memory limit"));
    rb_search_finish(&search);
    job_finish(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_draws_are_counted),
        cmocka_unit_test(draws_without_room_are_not_kept),
        cmocka_unit_test(a_search_with_little_memory_finds_a_plan),
        cmocka_unit_test(tables_fit_or_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
