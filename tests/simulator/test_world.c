// The virtual world beyond what the evaluator knows: metrics, targets, deadlines and budgets that are enforced.
#include "random_plan.h"
#include "small_scenario.h"

#include "simulator/forecast/curve.h"
#include "simulator/world/world.h"

#include <math.h>

static struct rb_world_result run(const struct rb_scenario *s, const struct rb_plan *plan,
                                  const struct rb_world_options *opt)
{
    struct rb_world_result out;
    struct rb_err err;
    if (!rb_world_run(s, plan, opt, &out, &err))
        fail_msg("%s", err.message);
    return out;
}

static const struct rb_world_options unlimited = {.deadline_us = -1, .budget_uusd = -1};

// Later trials learn faster; ctx: how much a unit is worth.
static double rising(void *ctx, uint32_t replicate, int trial, int64_t resource)
{
    (void)replicate;
    return *(double *)ctx * (double)(trial + 1) * (double)resource;
}

static void the_best_trial_is_the_best_by_the_goal(void **state)
{
    (void)state;
    for (int goal = RB_GOAL_MAXIMIZE; goal <= RB_GOAL_MINIMIZE; goal++) {
        struct small_scenario s;
        struct rb_world_options opt = unlimited;
        double slope = 0.01;
        small_scenario_make(&s);
        s.p.job.goal = (enum rb_goal)goal;
        small_scenario_compile(&s, 1);
        opt.curve = rising;
        opt.curve_ctx = &slope;
        const struct rb_world_result r = run(&s.scenario, &s.p.plan, &opt);
        assert_int_equal(r.outcome, RB_JOB_COMPLETE);
        assert_int_equal(r.best_trial, goal == RB_GOAL_MAXIMIZE ? 3 : 0);
        assert_true(fabs(r.best_metric - slope * (r.best_trial + 1) * 4) < 1e-12); // trained to R = 4
        small_scenario_finish(&s);
    }
}

static void a_target_is_met_at_the_instant_of_its_report(void **state)
{
    (void)state;
    struct small_scenario s;
    struct rb_world_options opt = unlimited;
    double slope = 0.01;
    small_scenario_make(&s);
    s.p.job.has_target = true;
    s.p.job.target = 0.12; // trial 3 after 3 units: in the middle of stage 2
    small_scenario_compile(&s, 1);
    opt.curve = rising;
    opt.curve_ctx = &slope;
    const struct rb_world_result r = run(&s.scenario, &s.p.plan, &opt);
    assert_int_equal(r.outcome, RB_JOB_TARGET);
    assert_int_equal(r.time_us, (41 + 2 + 10) * RB_US_PER_S);
    assert_int_equal(r.best_trial, 3);
    small_scenario_finish(&s);
}

static void a_deadline_stops_the_run(void **state)
{
    (void)state;
    struct small_scenario s;
    struct rb_world_options opt = unlimited;
    small_scenario_make(&s);
    small_scenario_compile(&s, 1);
    opt.deadline_us = 64 * RB_US_PER_S; // what it takes: in time
    assert_int_equal(run(&s.scenario, &s.p.plan, &opt).outcome, RB_JOB_COMPLETE);
    opt.deadline_us--;
    const struct rb_world_result r = run(&s.scenario, &s.p.plan, &opt);
    assert_int_equal(r.outcome, RB_JOB_STOPPED);
    assert_int_equal(r.stop_reason, RB_STOP_DEADLINE);
    assert_int_equal(r.time_us, opt.deadline_us);
    small_scenario_finish(&s);
}

// As rbrun does: what the node is bound to cost if it ends ten seconds from now is what counts.
static void a_budget_stops_the_run_at_its_last_microsecond(void **state)
{
    (void)state;
    struct small_scenario s;
    struct rb_world_options opt = unlimited;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 1, 20, 1); // runs from 5 to 218: 213 s at 1000
    small_scenario_compile(&s, 1);
    opt.budget_uusd = 223000;
    assert_int_equal(run(&s.scenario, &s.p.plan, &opt).outcome, RB_JOB_COMPLETE);
    opt.budget_uusd = 100500;
    struct rb_world_result r = run(&s.scenario, &s.p.plan, &opt);
    assert_int_equal(r.stop_reason, RB_STOP_BUDGET);
    assert_int_equal(r.time_us, 95 * RB_US_PER_S);
    assert_int_equal(r.cost_uusd, 90000);
    opt.budget_uusd = 59999; // not even the minimum: stopped before anything runs
    r = run(&s.scenario, &s.p.plan, &opt);
    assert_int_equal(r.outcome, RB_JOB_STOPPED);
    assert_int_equal(r.cost_uusd, 0);
    small_scenario_finish(&s);
}

// Whatever the plan: the budget is never passed, and one that is kept changes nothing; deadlines likewise.
static void limits_hold_for_any_plan(void **state)
{
    (void)state;
    static struct random_plan p; // large; remade every time
    int n_stopped = 0, n_kept = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rb_scenario s;
        struct rb_err err;
        struct rb_world_options opt = unlimited;
        random_plan_make(&p, seed);
        if (!rb_scenario_init(&s, &p.job, &p.profile, p.offers, p.plan.n_offers, &p.catalog, seed, &err))
            fail_msg("%s", err.message);
        const struct rb_world_result whole = run(&s, &p.plan, &opt);
        opt.budget_uusd = whole.cost_uusd * (int64_t)(seed % 5 + 1) / 4;
        const struct rb_world_result paid = run(&s, &p.plan, &opt);
        assert_true(paid.cost_uusd <= opt.budget_uusd && paid.time_us <= whole.time_us);
        n_stopped += paid.outcome == RB_JOB_STOPPED;
        n_kept += paid.outcome == RB_JOB_COMPLETE;
        if (paid.outcome == RB_JOB_COMPLETE)
            assert_true(paid.time_us == whole.time_us && paid.cost_uusd == whole.cost_uusd);
        opt.budget_uusd = -1;
        opt.deadline_us = whole.time_us - (int64_t)(seed % 2);
        const struct rb_world_result timed = run(&s, &p.plan, &opt);
        assert_true(timed.time_us == opt.deadline_us || whole.time_us == 0);
        assert_int_equal(timed.outcome, seed % 2 ? RB_JOB_STOPPED : RB_JOB_COMPLETE);
        rb_scenario_finish(&s);
    }
    assert_true(n_stopped > 50 && n_kept > 50);
}

struct count {
    int64_t n, last_us;
};

static void count_events(void *ctx, const struct rb_engine *e, const struct rb_event *event,
                         const struct rb_actions *actions)
{
    struct count *c = ctx;
    (void)e;
    (void)actions;
    assert_true(event->time_us >= c->last_us);
    c->last_us = event->time_us;
    c->n++;
}

static void every_event_is_seen_in_order_of_time(void **state)
{
    (void)state;
    struct small_scenario s;
    struct count c = {0};
    struct rb_world_options opt = unlimited;
    small_scenario_make(&s);
    small_scenario_compile(&s, 1);
    opt.observe = count_events;
    opt.observe_ctx = &c;
    const struct rb_world_result r = run(&s.scenario, &s.p.plan, &opt);
    // Start, 2 x (running, ready), 7 trial ends, 8 units reported.
    assert_int_equal(c.n, 1 + 4 + 7 + 8);
    assert_int_equal(r.n_events, c.n);
    assert_int_equal(r.n_nodes, 2);
    small_scenario_finish(&s);
}

static void one_seed_is_one_result(void **state)
{
    (void)state;
    struct small_scenario s;
    struct rb_world_options opt = unlimited;
    small_scenario_make(&s);
    s.p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.5);
    small_scenario_compile(&s, 1);
    const struct rb_world_result a = run(&s.scenario, &s.p.plan, &opt), b = run(&s.scenario, &s.p.plan, &opt);
    assert_true(a.time_us == b.time_us && a.best_trial == b.best_trial && !(a.best_metric < b.best_metric));
    opt.replicate = 1;
    assert_true(run(&s.scenario, &s.p.plan, &opt).time_us != a.time_us);
    small_scenario_finish(&s);
}

// The family's shape: accuracy rises with resource, up to the noise of a report; loss and accuracy are two views of it.
static void synthetic_curves_learn(void **state)
{
    (void)state;
    int n_better = 0;
    for (int trial = 0; trial < 500; trial++) {
        const double first = rb_synthetic_curve(5, 0, RB_GOAL_MAXIMIZE, trial, 1);
        const double last = rb_synthetic_curve(5, 0, RB_GOAL_MAXIMIZE, trial, 500);
        const double loss = rb_synthetic_curve(5, 0, RB_GOAL_MINIMIZE, trial, 500);
        assert_true(fabs((2 - loss) / 2 - last) < 1e-12);
        assert_true(first > -0.1 && first < 0.5 && last < 1);
        n_better += last > first;
    }
    assert_true(n_better > 480);
    assert_true(rb_synthetic_curve(5, 0, RB_GOAL_MAXIMIZE, 1, 7) != rb_synthetic_curve(5, 1, RB_GOAL_MAXIMIZE, 1, 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_trial_is_the_best_by_the_goal),
        cmocka_unit_test(a_target_is_met_at_the_instant_of_its_report),
        cmocka_unit_test(a_deadline_stops_the_run),
        cmocka_unit_test(a_budget_stops_the_run_at_its_last_microsecond),
        cmocka_unit_test(limits_hold_for_any_plan),
        cmocka_unit_test(every_event_is_seen_in_order_of_time),
        cmocka_unit_test(one_seed_is_one_result),
        cmocka_unit_test(synthetic_curves_learn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
