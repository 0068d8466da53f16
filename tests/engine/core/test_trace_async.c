// Traces of asynchronous tuners and of policies that watch: who is handed out when, who gives way, who starts again.
#include "trace.h"

#include "engine/core/advice.h"

#include <math.h>

// Asynchronous halving of the small job (levels 1, 2, 4) on one node of 4 GPUs, all of it listed for every level.
static void make_asha(struct small_plan *p, int n_trials, enum rb_rule rule)
{
    static const int ends[] = {1, 2, 4};
    small_plan_make(p);
    p->job.scheduler.type = "asha";
    p->job.scheduler.num_trials = n_trials;
    p->job.scheduler.rule = rule;
    for (int i = 0, n = n_trials; i < 3; i++, n /= 2) {
        p->nodes[i][0] = (struct rb_plan_nodes){.offer = LARGE, .count = 1};
        p->stages[i].trials = n > 0 ? n : 1;
        p->stages[i].resource_end = ends[i];
    }
}

static void hypersched(struct small_plan *p, double deadline_s)
{
    p->job.policy_options = (struct rb_policy_options){
        .speculation = true, .overhead = true, .admission = true, .resize_interval = 1, .atom_gpus = 1};
    p->plan.policy = "hypersched";
    p->plan.deadline_us = (int64_t)(deadline_s * 1e6);
}

static void trials_are_handed_out_as_places_come_free(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_asha(&p, 6, RB_RULE_PROMOTE);
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 large");
    expect(&t, 10, running(0), "");
    expect(&t, 20, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2; start 2.0 on 0:4; start 3.0 on 0:8");
    reach(&t, 30, 1, 0, 1, 0.5, "start 4.0 on 0:2"); // one result: no one to promote, so a new trial
    reach(&t, 31, 0, 0, 1, 0.3, "start 1.0 on 0:1"); // two: the better one, of before
    assert_int_equal(rb_engine_trial(t.engine, 1)->stage, 1);
    assert_int_equal(rb_engine_trial(t.engine, 1)->resource_end, 2);
    assert_int_equal(rb_engine_stage(t.engine), 0);
    reach(&t, 32, 2, 0, 1, 0.1, "start 5.0 on 0:4");
    reach(&t, 33, 3, 0, 1, 0.4, "start 3.0 on 0:8");
    reach(&t, 34, 1, 0, 2, 0.6, "");
    expect(&t, 35, report(4, 0, 1, NAN), "");
    expect(&t, 35, ended(4, 0, RB_OUTCOME_REACHED), "");
    // The last result of level 0: three of six are promoted, two of them were already.
    reach(&t, 36, 5, 0, 1, 0.45, "start 5.0 on 0:1");
    assert_int_equal(rb_engine_stage(t.engine), 1);
    reach(&t, 40, 3, 0, 2, 0.7, "start 3.0 on 0:2");
    reach(&t, 41, 5, 0, 2, 0.5, "");
    assert_int_equal(rb_engine_stage(t.engine), 2);
    assert_int_equal(rb_engine_best(t.engine), 3);
    reach(&t, 50, 3, 0, 4, 0.9, "terminate 0; done");
    assert_int_equal(state_of(&t, 3), RB_TRIAL_COMPLETED);
    assert_int_equal(state_of(&t, 1), RB_TRIAL_STOPPED);
    assert_int_equal(rb_engine_outcome(t.engine, NULL), RB_JOB_COMPLETE);
    end(&t);
}

static void no_configuration_is_started_after_the_plan_says_so(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_asha(&p, 100, RB_RULE_PROMOTE);
    p.plan.admit_until_us = 25000000;
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 large; wake 25");
    expect(&t, 10, running(0), "");
    expect(&t, 20, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2; start 2.0 on 0:4; start 3.0 on 0:8");
    reach(&t, 24, 0, 0, 1, 0.1, "start 4.0 on 0:1");
    expect(&t, 25, woken, "");
    reach(&t, 26, 1, 0, 1, 0.2, "start 1.0 on 0:2"); // promotions go on
    reach(&t, 27, 2, 0, 1, 0.1, "");
    reach(&t, 28, 3, 0, 1, 0.1, "start 0.0 on 0:4");
    reach(&t, 29, 4, 0, 1, 0.1, "");
    assert_int_equal(rb_engine_stage(t.engine), 1);
    reach(&t, 30, 1, 0, 2, 0.2, "");
    reach(&t, 31, 0, 0, 2, 0.1, "start 1.0 on 0:1");
    reach(&t, 35, 1, 0, 4, 0.3, "terminate 0; done");
    assert_int_equal(rb_engine_n_trials(t.engine), 5);
    end(&t);
}

static void a_trial_below_the_cut_gives_way_and_may_come_back(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_asha(&p, 5, RB_RULE_SPECULATE);
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 large");
    expect(&t, 20, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2; start 2.0 on 0:4; start 3.0 on 0:8");
    expect(&t, 30, report(0, 0, 1, 0.3), "");
    expect(&t, 31, report(1, 0, 1, 0.2), "yield 1.0"); // below the best half of two
    expect(&t, 31, report(1, 0, 2, 0.9), "");          // asked once; it may say more before it goes
    expect(&t, 33, ended(1, 0, RB_OUTCOME_YIELDED), "start 4.0 on 0:2");
    assert_int_equal(state_of(&t, 1), RB_TRIAL_PAUSED);
    assert_int_equal(rb_engine_trial(t.engine, 1)->resource, 2);
    end(&t);
}

static void who_does_not_give_way_in_time_is_set_back(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_asha(&p, 5, RB_RULE_SPECULATE);
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 large");
    expect(&t, 20, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2; start 2.0 on 0:4; start 3.0 on 0:8");
    expect(&t, 30, report(0, 0, 1, 0.3), "");
    expect(&t, 31, report(1, 0, 1, 0.2), "yield 1.0");
    expect(&t, 91, ended(1, 0, RB_OUTCOME_EVICTED), "start 4.0 on 0:2");
    assert_int_equal(state_of(&t, 1), RB_TRIAL_PAUSED);
    assert_int_equal(rb_engine_trial(t.engine, 1)->resource, 0); // its last checkpoint: none
    assert_int_equal(rb_engine_trial(t.engine, 1)->failures, 0);
    expect(&t, 92, ended(0, 0, RB_OUTCOME_EVICTED), "start 0.1 on 0:1"); // no one had asked it
    assert_int_equal(rb_engine_trial(t.engine, 0)->failures, 1);
    end(&t);
}

static void a_resized_trial_starts_again_from_its_checkpoint(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_asha(&p, 4, RB_RULE_SPECULATE);
    p.job.scheduler.min_resource = 100; // no one is compared
    p.job.scheduler.max_resource = 200;
    p.plan.n_stages = 2;
    hypersched(&p, 300);
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 large");
    expect(&t, 20, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2; start 2.0 on 0:4; start 3.0 on 0:8");
    for (int i = 0; i < 4; i++)
        expect(&t, 32, report(i, 0, 1, 0.1 * i), "");
    expect(&t, 33, ended(0, 0, RB_OUTCOME_FAILED), "start 0.1 on 0:1");
    expect(&t, 34, ended(0, 1, RB_OUTCOME_FAILED), ""); // its last restart: one GPU is free for good
    // The best of the three that train grows into what is free, and takes what fits: 2 GPUs.
    expect(&t, 42, report(3, 0, 2, 0.5), "yield 3.0");
    assert_int_equal(rb_engine_trial(t.engine, 3)->next_gpus, 2);
    expect(&t, 42, report(2, 0, 2, 0.4), ""); // nothing is left to grow into: it is promised
    expect(&t, 43, ended(3, 0, RB_OUTCOME_YIELDED), "start 3.1 on 0:9");
    assert_int_equal(rb_engine_trial(t.engine, 3)->resource, 2);
    // The node is lost with the progress since the checkpoints.
    expect(&t, 50, lost(0), "request 1.1 large");
    expect(&t, 60, ready(1), "start 1.1 on 1:1; start 2.1 on 1:2; start 3.2 on 1:c");
    // The deadline is an end like any other: the best so far wins.
    expect(&t, 300, stopped(RB_STOP_DEADLINE), "kill 1.1; kill 2.1; kill 3.2; terminate 1; done");
    assert_int_equal(rb_engine_outcome(t.engine, NULL), RB_JOB_COMPLETE);
    assert_int_equal(rb_engine_best(t.engine), 3);
    end(&t);
}

static void rung_by_rung_is_not_for_policies_that_admit(void **state)
{
    (void)state;
    struct small_plan p;
    struct rb_engine *e;
    struct rb_err err;
    small_plan_make(&p);
    hypersched(&p, 300);
    assert_false(rb_engine_create(&p.plan, &e, &err));
    assert_non_null(strstr(err.message, "choose asha"));
    make_asha(&p, 4, RB_RULE_SPECULATE);
    hypersched(&p, 300);
    p.plan.deadline_us = -1;
    assert_false(rb_engine_create(&p.plan, &e, &err));
    assert_non_null(strstr(err.message, "set deadline"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_are_handed_out_as_places_come_free),
        cmocka_unit_test(no_configuration_is_started_after_the_plan_says_so),
        cmocka_unit_test(a_trial_below_the_cut_gives_way_and_may_come_back),
        cmocka_unit_test(who_does_not_give_way_in_time_is_set_back),
        cmocka_unit_test(a_resized_trial_starts_again_from_its_checkpoint),
        cmocka_unit_test(rung_by_rung_is_not_for_policies_that_admit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
