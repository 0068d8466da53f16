// The policy lookahead: what it keeps of curves, and how it carries advice out.
#include "trace.h"

#include "engine/core/advice.h"
#include "engine/policies/lookahead.h"

#include <math.h>

// ---- what it keeps

// The sums are those of all reports; one that comes again after a restart counts once.
static void sums_are_of_reports_that_counted(void **state)
{
    (void)state;
    struct rb_seen_curves c;
    double x1[RB_CURVE_SHAPES], x3[RB_CURVE_SHAPES];
    rb_seen_curves_init(&c, 9);
    rb_seen_curves_add(&c, 2, 1, 10.5);
    rb_seen_curves_add(&c, 2, 3, 12.5);
    rb_seen_curves_add(&c, 2, 2, 99);
    rb_seen_curves_add(&c, 2, 3, 99);
    rb_curve_shapes_at(1, 9, x1);
    rb_curve_shapes_at(3, 9, x3);
    const struct rb_curve_sums *t = &c.trials[2];
    assert_int_equal(t->n, 2);
    assert_int_equal(c.trials[0].n, 0);
    assert_true(c.origin == 10.5 && t->y == 2 && t->yy == 4 && t->recent_y == 0.5);
    for (int k = 0; k < RB_CURVE_SHAPES; k++) {
        assert_true(fabs(x1[k]) < 1e-12 && x3[k] > 0 && x3[k] < 1);
        assert_true(fabs(t->xy[k] - 2 * x3[k]) < 1e-12 && fabs(t->xx[k] - x3[k] * x3[k]) < 1e-12);
    }
    rb_seen_curves_add(&c, 2, 4, -INFINITY);
    assert_true(c.trials[2].diverged && c.trials[2].n == 2);
    rb_seen_curves_finish(&c);
}

static void shapes_rise_from_the_first_unit_to_the_last(void **state)
{
    (void)state;
    double before[RB_CURVE_SHAPES], x[RB_CURVE_SHAPES];
    rb_curve_shapes_at(1, 50, before);
    for (int r = 2; r <= 50; r++) {
        rb_curve_shapes_at(r, 50, x);
        for (int k = 0; k < RB_CURVE_SHAPES; k++)
            assert_true(x[k] > before[k]);
        memcpy(before, x, sizeof x);
    }
    for (int k = 0; k < RB_CURVE_SHAPES; k++)
        assert_true(fabs(x[k] - 1) < 1e-12);
}

// ---- how it carries advice out

// Four GPUs on one node; no one is compared at any rung.
static void make_job(struct small_plan *p, int n_trials)
{
    small_plan_make(p);
    p->job.scheduler.type = "asha";
    p->job.scheduler.num_trials = n_trials;
    p->job.scheduler.rule = RB_RULE_SPECULATE;
    p->job.scheduler.min_resource = 100;
    p->job.scheduler.max_resource = 200;
    p->job.policy_options = (struct rb_policy_options){
        .speculation = true, .overhead = true, .admission = true, .resize_interval = 1, .atom_gpus = 1};
    for (int i = 0; i < 2; i++)
        p->nodes[i][0] = (struct rb_plan_nodes){.offer = LARGE, .count = 1};
    p->plan.n_stages = 2;
    p->plan.policy = "lookahead";
    p->plan.deadline_us = 10000000000;
}

static struct rb_event forecast(const struct rb_advice *advice)
{
    return (struct rb_event){.kind = RB_EVENT_FORECAST, .advice = advice};
}

static void begin_four(struct trace *t, const struct small_plan *p)
{
    begin(t, &p->plan);
    expect(t, 0, started, "request 0.0 large");
    expect(t, 20, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2; start 2.0 on 0:4; start 3.0 on 0:8");
    expect(t, 30, report(0, 0, 1, 0.1), "advise 0");
}

static void a_size_is_changed_at_the_trials_next_report(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    static const struct rb_advised_trial sizes[] = {{0, 0}, {1, 2}, {2, 0}};
    const struct rb_advice advice = {.trials = sizes, .n_trials = 3, .pool_nodes = -1};
    make_job(&p, 4);
    begin_four(&t, &p);
    expect(&t, 30, forecast(&advice), "yield 0.0"); // it reported just now
    expect(&t, 31, report(1, 0, 1, 0.5), "");       // what it is to grow into is in use
    expect(&t, 32, report(2, 0, 1, 0.2), "yield 2.0");
    expect(&t, 33, ended(0, 0, RB_OUTCOME_YIELDED), "advise 0");
    assert_int_equal(state_of(&t, 0), RB_TRIAL_PAUSED);
    expect(&t, 34, report(3, 0, 1, 0.3), ""); // no advice for it
    expect(&t, 41, report(1, 0, 2, 0.6), "yield 1.0");
    expect(&t, 42, ended(1, 0, RB_OUTCOME_YIELDED), "advise 0; start 1.1 on 0:3");
    end(&t);
}

static void admission_is_as_advised_last(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    const struct rb_advice no = {.pool_nodes = -1, .admit = false}, yes = {.pool_nodes = -1, .admit = true};
    make_job(&p, 8);
    p.job.trial.max_restarts = 0;
    begin_four(&t, &p);
    expect(&t, 30, forecast(&no), "");
    expect(&t, 35, ended(0, 0, RB_OUTCOME_FAILED), "advise 0");
    expect(&t, 35, forecast(&no), "");
    expect(&t, 90, ended(1, 0, RB_OUTCOME_FAILED), "advise 0"); // first the answer, then who takes its place
    expect(&t, 90, forecast(&yes), "start 4.0 on 0:1; start 5.0 on 0:2");
    end(&t);
}

// GPUs that are promised to a trial are no one else's, though it takes them only at its next report.
static void promised_gpus_are_not_given_to_newcomers(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    static const struct rb_advised_trial growth[] = {{3, 2}};
    const struct rb_advice advice = {.trials = growth, .n_trials = 1, .pool_nodes = -1, .admit = true};
    make_job(&p, 8);
    p.job.trial.max_restarts = 0;
    begin_four(&t, &p);
    expect(&t, 30, forecast(&advice), "");
    expect(&t, 35, ended(0, 0, RB_OUTCOME_FAILED), "advise 0");
    expect(&t, 35, forecast(&advice), "");
    expect(&t, 40, report(3, 0, 1, 0.5), "yield 3.0");
    expect(&t, 41, ended(3, 0, RB_OUTCOME_YIELDED), "advise 0; start 3.1 on 0:9");
    end(&t);
}

static void the_pool_grows_as_advised(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    const struct rb_advice advice = {.pool_nodes = 2, .admit = true};
    make_job(&p, 8);
    begin_four(&t, &p);
    expect(&t, 30, forecast(&advice), "request 1.0 large");
    expect(&t, 31, forecast(&advice), "");
    expect(&t, 60, ready(1), "start 4.0 on 1:1; start 5.0 on 1:2; start 6.0 on 1:4; start 7.0 on 1:8");
    end(&t);
}

// The plan lists one node for every phase; what was bought since is not given back when the last trial leaves the first rung.
static void a_grown_pool_outlives_its_phase(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    const struct rb_advice advice = {.pool_nodes = 2, .admit = true};
    make_job(&p, 4);
    begin_four(&t, &p);
    expect(&t, 30, forecast(&advice), "request 1.0 large");
    expect(&t, 60, ready(1), "");
    for (int i = 0; i < 4; i++)
        expect(&t, 70 + i, report(i, 0, 100, 0.1 * i), i == 0 ? "advise 0" : "");
    assert_int_equal(rb_engine_stage(t.engine), 1);
    assert_int_equal(rb_engine_node(t.engine, 1)->state, RB_OWNED_READY);
    end(&t);
}

// Where no trial is left, refusing would end the job.
static void an_empty_pool_admits_whatever_was_advised(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    const struct rb_advice no = {.pool_nodes = -1, .admit = false};
    make_job(&p, 5);
    p.job.trial.max_restarts = 0;
    begin_four(&t, &p);
    expect(&t, 30, forecast(&no), "");
    for (int i = 0; i < 3; i++)
        expect(&t, 31, ended(i, 0, RB_OUTCOME_FAILED), "advise 0");
    expect(&t, 32, ended(3, 0, RB_OUTCOME_FAILED), "advise 0; start 4.0 on 0:1");
    end(&t);
}

static void it_needs_a_deadline(void **state)
{
    (void)state;
    struct small_plan p;
    struct rb_engine *e;
    struct rb_err err;
    make_job(&p, 4);
    p.plan.deadline_us = -1;
    assert_false(rb_engine_create(&p.plan, &e, &err));
    assert_says(&err, "RB1215 lookahead works towards a deadline");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_of_reports_that_counted),
        cmocka_unit_test(shapes_rise_from_the_first_unit_to_the_last),
        cmocka_unit_test(a_size_is_changed_at_the_trials_next_report),
        cmocka_unit_test(admission_is_as_advised_last),
        cmocka_unit_test(promised_gpus_are_not_given_to_newcomers),
        cmocka_unit_test(the_pool_grows_as_advised),
        cmocka_unit_test(a_grown_pool_outlives_its_phase),
        cmocka_unit_test(an_empty_pool_admits_whatever_was_advised),
        cmocka_unit_test(it_needs_a_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
