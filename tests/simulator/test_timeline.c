// A plan in time: a plan worked out by hand, and random plans, whose stages begin and end when the evaluator says and whose
// money adds up to the expected cost.
#include "random_plan.h"
#include "small_scenario.h"

#include "simulator/model/distribution.h"
#include "simulator/world/timeline.h"
#include "simulator/world/world_evaluate.h"

#include <stdlib.h>

#define S INT64_C(1000000)

// Two trials of 3 units on 1 node of 1 GPU, one after the other: asked for at 0, running at 5 s, ready at 15 s; each starts
// for 2 s, trains 30 s, saves 1 s.
static void a_plan_by_hand(void **state)
{
    (void)state;
    struct small_scenario s;
    struct rb_timeline t;
    struct rb_err err;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 2, 3, 1);
    const int gpus = s.p.offers[s.p.nodes[0][0].offer].gpus;
    s.p.stages[0].gpus_per_trial = gpus; // the node whole
    small_scenario_compile(&s, 1);
    const struct rb_replicate r = small_scenario_run(&s, 0);
    s.p.plan.estimate.cost_uusd.mean = r.cost_uusd;
    if (!rb_timeline_make(&s.scenario, &s.p.plan, 0, 1, &t, &err))
        fail_msg("%s", err.message);
    const struct rb_timeline_stage *stage = &t.stages[0];
    const int64_t trial_us = (r.time_us - 15 * S) / 2, uusd_per_s = 1000;
    assert_int_equal(t.n_runs, RB_TIMELINE_RUNS);
    assert_int_equal(stage->n_runs, t.n_runs);
    assert_int_equal(stage->begin_us.p95, 0);
    assert_int_equal(stage->provisioned_us.p50, 15 * S);
    assert_int_equal(stage->end_us.p5, r.time_us);
    // Billed by the second: what is rounded up is spread over all.
    assert_true(llabs(stage->cost.boot_uusd - 10 * uusd_per_s) <= uusd_per_s);
    assert_true(llabs(stage->cost.checkpoint_uusd - 2 * uusd_per_s) <= uusd_per_s);
    assert_true(llabs(stage->cost.train_uusd - 2 * (trial_us - S) * uusd_per_s / S) <= uusd_per_s);
    assert_int_equal(stage->cost.idle_barrier_uusd, 0);
    assert_int_equal(t.instants[0].at_us, 0);
    assert_true(t.instants[0].nodes == 0 && t.instants[RB_TIMELINE_INSTANTS / 2].nodes == 1);
    assert_true(t.instants[RB_TIMELINE_INSTANTS / 2].training_gpus == gpus);
    assert_int_equal(t.instants[RB_TIMELINE_INSTANTS - 1].at_us, r.time_us);
    small_scenario_finish(&s);
}

static int64_t sum_of(const struct rb_bill_parts *p)
{
    return p->train_uusd + p->boot_uusd + p->idle_barrier_uusd + p->minimum_uusd + p->lost_uusd + p->checkpoint_uusd;
}

static int compare_int64(const void *pa, const void *pb)
{
    const int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return (a > b) - (a < b);
}

// The evaluator's replicates of the same numbers, stage by stage.
static void compare_stages(const struct random_plan *p, const struct rb_scenario *s, const struct rb_timeline *t)
{
    struct rb_workspace *ws = rb_workspace_create();
    int64_t ends_us[RB_LIMIT_STAGES][RB_TIMELINE_RUNS];
    struct rb_err err;
    for (int i = 0; i < t->n_runs; i++) {
        struct rb_replicate r;
        assert_true(rb_replicate_run(s, p->stages, p->plan.n_stages, (uint32_t)i, ws, &r, &err));
        int64_t end_us = 0;
        for (int stage = 0; stage < t->n_stages; stage++)
            ends_us[stage][i] = end_us += r.stage_time_us[stage];
    }
    for (int stage = 0; stage < t->n_stages; stage++) {
        const struct rb_quantiles q = rb_quantiles_of(ends_us[stage], t->n_runs), *seen = &t->stages[stage].end_us;
        assert_int_equal(seen->p5, q.p5);
        assert_int_equal(seen->p50, q.p50);
        assert_int_equal(seen->p99, q.p99);
        assert_int_equal(seen->mean, q.mean);
        assert_true(t->stages[stage].provisioned_us.p95 <= seen->p99);
    }
    rb_workspace_destroy(ws);
}

static bool check_plan(uint64_t seed, bool saves, int64_t *io_lost_uusd)
{
    static struct random_plan p; // large; remade every time
    struct rb_scenario s;
    struct rb_timeline t, by_two;
    struct rb_err err;
    random_plan_make(&p, seed);
    p.job.checkpoint_every_us = saves; // after every unit
    random_plan_keep_markets_up(&p);
    if (!rb_scenario_init(&s, &p.job, &p.profile, p.offers, p.plan.n_offers, &p.catalog, seed, &err))
        fail_msg("%s", err.message);
    p.plan.estimate.cost_uusd.mean = 123456789;
    const bool ok = rb_timeline_make(&s, &p.plan, 0, 1, &t, &err);
    if (ok) {
        int64_t sum = 0;
        for (int i = 0; i < t.n_stages; i++) {
            sum += sum_of(&t.stages[i].cost);
            *io_lost_uusd += t.stages[i].cost.lost_uusd;
        }
        assert_true(sum == 123456789);
        compare_stages(&p, &s, &t);
        assert_true(rb_timeline_make(&s, &p.plan, 0, 2, &by_two, &err));
        assert_memory_equal(&t.stages, &by_two.stages, (size_t)t.n_stages * sizeof t.stages[0]);
        assert_memory_equal(&t.instants, &by_two.instants, sizeof t.instants);
    } else {
        assert_int_equal(err.code, RB_ERR_INFEASIBLE);
    }
    rb_scenario_finish(&s);
    return ok;
}

static void random_plans_begin_and_end_as_the_evaluator_says(void **state)
{
    (void)state;
    int n_checked = 0;
    int64_t lost_uusd[2] = {0, 0};
    for (uint64_t seed = 1; seed <= 40; seed++)
        n_checked += check_plan(seed, false, &lost_uusd[0]) && check_plan(seed, true, &lost_uusd[1]);
    assert_true(n_checked >= 20);
    print_message("lost: %.0f uUSD, with a save after every unit %.0f\n", (double)lost_uusd[0], (double)lost_uusd[1]);
    assert_true(lost_uusd[1] > 0 && lost_uusd[1] < lost_uusd[0] / 2);
}

// Asynchronous: phases, as an estimate of the same runs has them.
static void phases_last_as_long_as_the_estimate_says(void **state)
{
    (void)state;
    int n_compared = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        static struct random_plan p;
        struct rb_plan_stage stated[RB_LIMIT_STAGES];
        struct rb_estimate estimate;
        struct rb_scenario s;
        struct rb_timeline t;
        struct rb_err err;
        random_plan_make_of(&p, seed, "asha");
        if (!rb_scenario_init(&s, &p.job, &p.profile, p.offers, p.plan.n_offers, &p.catalog, seed, &err))
            fail_msg("%s", err.message);
        if (rb_timeline_make(&s, &p.plan, 0, 2, &t, &err)) {
            const struct rb_world_runs runs = {.samples = t.n_runs, .threads = 2, .deadline_us = -1, .budget_uusd = -1};
            assert_true(rb_world_evaluate(&s, &p.plan, &runs, &estimate, stated, &err));
            for (int i = 0; i < t.n_stages && t.stages[i].n_runs == t.n_runs; i++) {
                const int64_t mean_us = t.stages[i].end_us.mean - t.stages[i].begin_us.mean;
                assert_true(llabs(mean_us - stated[i].time_us.mean) <= 1); // each mean is rounded
                n_compared++;
            }
        }
        rb_scenario_finish(&s);
    }
    assert_true(n_compared >= 20);
}

// Every share is of as many runs as it says: none below the first, all at or below the last.
static void shares_of_runs(void **state)
{
    (void)state;
    enum { RUNS = 400 };
    struct small_scenario s;
    struct rb_distribution d;
    struct rb_err err;
    int64_t times_us[RUNS];
    small_scenario_make(&s);
    s.p.profile.startup_s = small_dist(RB_DIST_LOGNORMAL, 20, 0.8);
    small_scenario_one_stage(&s, 4, 2, 2);
    small_scenario_compile(&s, 7);
    if (!rb_distribution_make(&s.scenario, &s.p.plan, 0, RUNS, 2, &d, &err))
        fail_msg("%s", err.message);
    for (uint32_t i = 0; i < RUNS; i++)
        times_us[i] = small_scenario_run(&s, i).time_us;
    qsort(times_us, RUNS, sizeof times_us[0], compare_int64);
    assert_int_equal(d.n_runs, RUNS);
    assert_int_equal(d.time_us[0], times_us[0]);
    assert_int_equal(d.time_us[1], times_us[1]);     // 0.5 % of 400 are two
    assert_int_equal(d.time_us[100], times_us[199]); // the median
    assert_int_equal(d.time_us[200], times_us[RUNS - 1]);
    small_scenario_finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_by_hand),
        cmocka_unit_test(random_plans_begin_and_end_as_the_evaluator_says),
        cmocka_unit_test(phases_last_as_long_as_the_estimate_says),
        cmocka_unit_test(shares_of_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
