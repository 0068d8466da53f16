// The engine's decisions as narrated traces: an event in virtual time, and everything the engine then asks for.
#include "trace.h"

#include <math.h>

// Stage 0 of the small plan up to the moment when all four trials run on nodes 0 and 1.
static void start_all_four(struct trace *t)
{
    expect(t, 0, started, "request 0.0 small; request 1.0 small");
    expect(t, 10, running(0), "");
    expect(t, 11, running(1), "");
    expect(t, 20, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2");
    expect(t, 21, ready(1), "start 2.0 on 1:1; start 3.0 on 1:2");
}

// ---- the ordinary course

static void a_job_from_start_to_end(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    begin(&t, &p.plan);
    assert_int_equal(rb_engine_stage(t.engine), -1);
    assert_int_equal(rb_engine_best(t.engine), -1);
    start_all_four(&t);
    reach(&t, 30, 0, 0, 1, 0.1, "");
    reach(&t, 31, 3, 0, 1, 0.4, "");
    reach(&t, 32, 1, 0, 1, 0.2, "");
    // The barrier: trials 2 and 3 go on, packed onto the node that stays; the other is released.
    reach(&t, 33, 2, 0, 1, 0.3, "terminate 1; start 2.0 on 0:1; start 3.0 on 0:2");
    assert_int_equal(rb_engine_stage_end_us(t.engine, 0), 33000000);
    assert_int_equal(rb_engine_stage_start_us(t.engine, 1), 33000000);
    assert_int_equal(state_of(&t, 0), RB_TRIAL_STOPPED);
    assert_int_equal(state_of(&t, 2), RB_TRIAL_RUNNING);
    assert_int_equal(rb_engine_best(t.engine), 3);
    reach(&t, 40, 2, 0, 2, 0.5, "");
    reach(&t, 41, 3, 0, 2, 0.45, "start 2.0 on 0:1");
    reach(&t, 60, 2, 0, 4, 0.6, "terminate 0; done");
    assert_int_equal(state_of(&t, 2), RB_TRIAL_COMPLETED);
    assert_int_equal(rb_engine_best(t.engine), 2);
    assert_int_equal(rb_engine_outcome(t.engine, NULL), RB_JOB_COMPLETE);
    assert_int_equal(rb_engine_stage_end_us(t.engine, 2), 60000000);
    end(&t);
}

static void waiting_trials_start_in_order(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.nodes[0][0].count = 1;
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small");
    expect(&t, 5, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2");
    reach(&t, 10, 1, 0, 1, 0.1, "start 2.0 on 0:2");
    reach(&t, 11, 2, 0, 1, 0.2, "start 3.0 on 0:2");
    reach(&t, 12, 3, 0, 1, 0.3, "");
    reach(&t, 13, 0, 0, 1, 0.4, "start 0.0 on 0:1; start 3.0 on 0:2");
    end(&t);
}

static void nodes_still_arriving_are_kept(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.nodes[1][0].count = 2;
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small; request 1.0 small");
    expect(&t, 5, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2");
    reach(&t, 10, 0, 0, 1, 0.1, "start 2.0 on 0:1");
    reach(&t, 10, 1, 0, 1, 0.2, "start 3.0 on 0:2");
    reach(&t, 15, 2, 0, 1, 0.3, "");
    reach(&t, 16, 3, 0, 1, 0.4, "start 2.0 on 0:1; start 3.0 on 0:2"); // node 1 is owned, not ready
    expect(&t, 17, ready(1), "");
    reach(&t, 20, 2, 0, 2, 0.3, "");
    reach(&t, 21, 3, 0, 2, 0.4, "terminate 1; start 3.0 on 0:1"); // lowest number first kept
    end(&t);
}

static void another_type_replaces_the_cluster(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.nodes[1][0].offer = LARGE;
    p.stages[1].gpus_per_trial = 2;
    begin(&t, &p.plan);
    start_all_four(&t);
    for (int trial = 0; trial < 3; trial++)
        reach(&t, 30, trial, 0, 1, 0.1 * trial, "");
    reach(&t, 31, 3, 0, 1, 0.4, "terminate 1; terminate 0; request 2.0 large");
    expect(&t, 50, ready(2), "start 2.0 on 2:3; start 3.0 on 2:c");
    end(&t);
}

static void a_gang_waits_for_whole_nodes(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.nodes[0][0].count = 3;
    p.stages[0].gpus_per_trial = 4;
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small; request 1.0 small; request 2.0 small");
    expect(&t, 5, ready(2), "");
    expect(&t, 6, ready(0), "start 0.0 on 0:3 2:3");
    expect(&t, 7, ready(1), "");
    reach(&t, 9, 0, 0, 1, 0.1, "start 1.0 on 0:3 1:3");
    end(&t);
}

// ---- clouds misbehave

static void a_refused_request_is_made_again(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small; request 1.0 small");
    expect(&t, 3, node(RB_EVENT_NODE_REFUSED, 1, 0), "request 1.1 small");
    expect(&t, 4, node(RB_EVENT_NODE_REFUSED, 1, 0), ""); // said twice
    expect(&t, 5, node(RB_EVENT_NODE_REFUSED, 1, 1), "request 1.2 small");
    expect(&t, 6, node(RB_EVENT_NODE_RUNNING, 1, 1), ""); // of a request that was refused
    assert_int_equal(rb_engine_node(t.engine, 1)->state, RB_OWNED_REQUESTED);
    expect(&t, 7, node(RB_EVENT_NODE_RUNNING, 1, 2), "");
    assert_int_equal(rb_engine_node(t.engine, 1)->running_us, 7000000);
    end(&t);
}

static void a_lost_node_is_replaced_and_its_trials_wait_at_their_place(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.nodes[0][0] = (struct rb_plan_nodes){.offer = SMALL_SPOT, .count = 1};
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small/spot");
    expect(&t, 5, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2");
    reach(&t, 8, 0, 0, 1, 0.1, "start 2.0 on 0:1");
    expect(&t, 9, report(1, 0, 1, 0.2), "");
    expect(&t, 10, lost(0), "request 1.1 small/spot"); // a new number, the key of the lost one, the next attempt
    assert_int_equal(rb_engine_node(t.engine, 1)->ordinal, rb_engine_node(t.engine, 0)->ordinal);
    assert_int_equal(rb_engine_trial(t.engine, 1)->resource, 0); // what it had trained is lost
    expect(&t, 10, ended(1, 0, RB_OUTCOME_REACHED), "");         // too late to count
    expect(&t, 20, ready(1), "start 1.1 on 1:1; start 2.1 on 1:2");
    reach(&t, 25, 1, 1, 1, 0.2, "start 3.0 on 1:1");
    end(&t);
}

static void a_gang_that_loses_a_node_is_killed(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.stages[0].gpus_per_trial = 4;
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small; request 1.0 small");
    expect(&t, 5, ready(0), "");
    expect(&t, 6, ready(1), "start 0.0 on 0:3 1:3");
    expect(&t, 7, lost(1), "kill 0.0; request 2.1 small");
    expect(&t, 8, ready(2), "start 0.1 on 0:3 2:3");
    end(&t);
}

static void a_node_lost_before_it_came_is_replaced(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small; request 1.0 small");
    expect(&t, 600, lost(0), "request 2.1 small");
    expect(&t, 601, lost(0), "");
    expect(&t, 602, ready(0), "");
    assert_int_equal(rb_engine_node(t.engine, 0)->state, RB_OWNED_ENDED);
    end(&t);
}

static void events_said_twice_change_nothing(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    begin(&t, &p.plan);
    start_all_four(&t);
    expect(&t, 22, started, "");
    expect(&t, 22, ready(0), "");
    expect(&t, 22, running(0), "");
    assert_int_equal(rb_engine_node(t.engine, 0)->ready_us, 20000000);
    reach(&t, 30, 0, 0, 1, 0.1, "");
    expect(&t, 31, ended(0, 0, RB_OUTCOME_REACHED), "");
    expect(&t, 31, ended(0, 0, RB_OUTCOME_FAILED), "");
    expect(&t, 32, ready(77), "");
    expect(&t, 32, ended(77, 0, RB_OUTCOME_REACHED), "");
    expect(&t, 32, resumed, "");
    end(&t);
}

// The numbers of attempts begin again in every stage: what an earlier one said late must not end the new one.
static void an_end_from_an_earlier_stage_is_not_believed(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    begin(&t, &p.plan);
    start_all_four(&t);
    for (int trial = 0; trial < 3; trial++)
        reach(&t, 30, trial, 0, 1, 0.1 * trial, "");
    reach(&t, 31, 3, 0, 1, 0.4, "terminate 1; start 2.0 on 0:1; start 3.0 on 0:2");
    expect(&t, 32, report(3, 0, 1, 0.4), "");
    expect(&t, 32, ended(3, 0, RB_OUTCOME_REACHED), "");
    assert_int_equal(state_of(&t, 3), RB_TRIAL_RUNNING);
    end(&t);
}

// ---- trials misbehave

static void a_failed_trial_is_restarted_then_given_up(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p); // max_restarts: 1
    begin(&t, &p.plan);
    start_all_four(&t);
    expect(&t, 30, report(3, 0, 1, 0.9), "");
    expect(&t, 30, ended(3, 0, RB_OUTCOME_FAILED), "start 3.1 on 1:2");
    expect(&t, 31, report(3, 0, 1, 0.9), ""); // of the attempt before
    assert_int_equal(rb_engine_trial(t.engine, 3)->resource, 0);
    expect(&t, 40, ended(3, 1, RB_OUTCOME_HUNG), "kill 3.1");
    assert_int_equal(state_of(&t, 3), RB_TRIAL_FAILED);
    assert_int_equal(rb_engine_trial(t.engine, 3)->failures, 2);
    reach(&t, 50, 0, 0, 1, 0.1, "");
    reach(&t, 50, 1, 0, 1, NAN, "");
    reach(&t, 50, 2, 0, 1, 0.0, "terminate 1; start 0.0 on 0:1; start 2.0 on 0:2");
    end(&t);
}

static void a_job_of_failures_ends(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.job.trial.max_restarts = 0;
    begin(&t, &p.plan);
    start_all_four(&t);
    for (int trial = 0; trial < 3; trial++)
        expect(&t, 30, ended(trial, 0, RB_OUTCOME_FAILED), "");
    expect(&t, 30, ended(3, 0, RB_OUTCOME_FAILED), "terminate 1; terminate 0; done");
    assert_int_equal(rb_engine_best(t.engine), -1);
    end(&t);
}

// One trial trains 9 epochs on one node.
static void make_one_trial(struct small_plan *p)
{
    small_plan_make(p);
    p->job.scheduler = (struct rb_scheduler){.type = "random", .num_trials = 1, .max_resource = 9, .brackets = 1};
    p->stages[0].trials = 1;
    p->stages[0].resource_end = 9;
    p->nodes[0][0].count = 1;
    p->plan.n_stages = 1;
}

static void who_yields_goes_on_from_there(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_one_trial(&p);
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small");
    expect(&t, 5, ready(0), "start 0.0 on 0:1");
    expect(&t, 6, report(0, 0, 4, 0.1), "");
    expect(&t, 7, ended(0, 0, RB_OUTCOME_YIELDED), "start 0.1 on 0:1");
    assert_int_equal(t.actions.items[0].resource_start, 4);
    assert_int_equal(t.actions.items[0].resource_end, 9);
    expect(&t, 8, report(0, 1, 6, 0.2), "");
    expect(&t, 9, ended(0, 1, RB_OUTCOME_FAILED), "start 0.2 on 0:1");
    assert_int_equal(t.actions.items[0].resource_start, 4); // the checkpoint made when it yielded
    assert_int_equal(rb_engine_trial(t.engine, 0)->failures, 1);
    expect(&t, 10, ended(0, 2, RB_OUTCOME_YIELDED), "terminate 0; done"); // no progress: a second failure
    assert_int_equal(state_of(&t, 0), RB_TRIAL_FAILED);
    end(&t);
}

// From what is safe, not from what was reported; a save of another attempt, of nothing reported, or of the stage's end is none.
static void who_is_lost_starts_again_from_its_last_save(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_one_trial(&p);
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small");
    expect(&t, 1, saved(0, 0, 3), ""); // it does not run
    expect(&t, 5, ready(0), "start 0.0 on 0:1");
    expect(&t, 6, report(0, 0, 3, 0.1), "");
    expect(&t, 7, saved(0, 0, 3), "");
    expect(&t, 8, report(0, 0, 5, 0.2), "");
    expect(&t, 9, saved(0, 0, 2), "");  // late
    expect(&t, 10, saved(0, 0, 6), ""); // not reported
    expect(&t, 11, saved(0, 1, 5), ""); // another attempt
    expect(&t, 12, saved(7, 0, 5), ""); // another trial
    expect(&t, 13, lost(0), "request 1.1 small");
    assert_int_equal(rb_engine_trial(t.engine, 0)->resource, 3);
    expect(&t, 20, ready(1), "start 0.1 on 1:1");
    assert_int_equal(t.actions.items[0].resource_start, 3);
    assert_int_equal(t.actions.items[0].resource_end, 9);
    expect(&t, 21, report(0, 1, 5, 0.2), "");
    expect(&t, 22, saved(0, 1, 5), "");
    expect(&t, 23, stopped(RB_STOP_USER), "kill 0.1; terminate 1; done");
    expect(&t, 24, saved(0, 1, 5), "");
    expect(&t, 25, resumed, "request 2.0 small");
    expect(&t, 30, ready(2), "start 0.2 on 2:1");
    assert_int_equal(t.actions.items[0].resource_start, 5);
    expect(&t, 31, report(0, 2, 9, 0.3), "");
    expect(&t, 32, saved(0, 2, 9), ""); // the checkpoint of the stage is what the start leaves
    expect(&t, 33, ended(0, 2, RB_OUTCOME_FAILED), "start 0.3 on 2:1");
    assert_int_equal(t.actions.items[0].resource_start, 5);
    end(&t);
}

static void resource_must_rise(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.job.scheduler.min_resource = 4;
    p.plan.n_stages = 1;
    p.stages[0].resource_end = 4;
    begin(&t, &p.plan);
    start_all_four(&t);
    expect(&t, 22, report(0, 0, 2, 0.2), "");
    expect(&t, 23, report(0, 0, 2, 0.3), "");
    expect(&t, 23, report(0, 0, 1, 0.4), "");
    assert_true(rb_engine_trial(t.engine, 0)->metric < 0.25);
    assert_int_equal(rb_engine_trial(t.engine, 0)->resource, 2);
    expect(&t, 24, report(0, 0, 3, INFINITY), "");
    assert_true(isinf(rb_engine_trial(t.engine, 0)->metric));
    end(&t);
}

// ---- ends

static void the_target_ends_the_job(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.job.has_target = true;
    p.job.target = 0.9;
    begin(&t, &p.plan);
    start_all_four(&t);
    expect(&t, 25, report(1, 0, 1, INFINITY), ""); // not a value
    expect(&t, 26, report(2, 0, 1, 0.9), "kill 0.0; kill 1.0; kill 2.0; kill 3.0; terminate 1; terminate 0; done");
    assert_int_equal(rb_engine_outcome(t.engine, NULL), RB_JOB_TARGET);
    assert_int_equal(rb_engine_best(t.engine), 2);
    assert_int_equal(state_of(&t, 2), RB_TRIAL_COMPLETED);
    assert_int_equal(state_of(&t, 0), RB_TRIAL_STOPPED);
    expect(&t, 27, report(0, 0, 1, 0.95), "");
    end(&t);
}

static void a_target_to_stay_below(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.job.goal = RB_GOAL_MINIMIZE;
    p.job.has_target = true;
    p.job.target = 0.1;
    begin(&t, &p.plan);
    start_all_four(&t);
    expect(&t, 25, report(1, 0, 1, 0.2), "");
    expect(&t, 26, report(3, 0, 1, 0.05), "kill 0.0; kill 1.0; kill 2.0; kill 3.0; terminate 1; terminate 0; done");
    end(&t);
}

static void a_stopped_job_can_be_resumed(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    enum rb_stop_reason reason = RB_STOP_USER;
    small_plan_make(&p);
    begin(&t, &p.plan);
    start_all_four(&t);
    reach(&t, 25, 1, 0, 1, 0.2, "");
    expect(&t, 26, report(2, 0, 1, 0.7), "");
    expect(&t, 30, stopped(RB_STOP_DEADLINE), "kill 0.0; kill 2.0; kill 3.0; terminate 1; terminate 0; done");
    assert_int_equal(rb_engine_outcome(t.engine, &reason), RB_JOB_STOPPED);
    assert_int_equal(reason, RB_STOP_DEADLINE);
    assert_int_equal(rb_engine_best(t.engine), 1); // trial 2 has reported more, but has no checkpoint
    expect(&t, 31, stopped(RB_STOP_USER), "");
    expect(&t, 32, ended(0, 0, RB_OUTCOME_FAILED), "");
    expect(&t, 100, resumed, "request 2.0 small; request 3.0 small");
    expect(&t, 110, ready(3), "start 0.1 on 3:1; start 2.1 on 3:2");
    expect(&t, 111, ready(2), "start 3.1 on 2:1");
    reach(&t, 120, 0, 1, 1, 0.1, "");
    reach(&t, 120, 2, 1, 1, 0.7, "");
    reach(&t, 121, 3, 1, 1, 0.1, "terminate 3; start 1.0 on 2:1; start 2.0 on 2:2");
    end(&t);
}

static void a_job_can_be_stopped_before_it_starts(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    begin(&t, &p.plan);
    expect(&t, 0, stopped(RB_STOP_USER), "done");
    expect(&t, 1, started, "");
    expect(&t, 2, resumed, "");
    expect(&t, 3, started, "request 0.0 small; request 1.0 small");
    end(&t);
}

// ---- early requests

static void early_nodes_come_for_the_next_stage(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.early[0] = (struct rb_plan_early){.offer = LARGE, .count = 1, .at_us = 25000000};
    p.stages[0].n_early = 1;
    p.nodes[1][0].offer = LARGE;
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small; request 1.0 small; wake 25");
    expect(&t, 20, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2");
    expect(&t, 24, woken, ""); // somebody else's
    expect(&t, 25, woken, "request 2.0 large");
    assert_int_equal(rb_engine_node(t.engine, 2)->ordinal, 2); // after the stage's own
    expect(&t, 25, woken, "");
    expect(&t, 30, ready(2), ""); // not of this stage: trials 2 and 3 go on waiting
    expect(&t, 31, ready(1), "start 2.0 on 1:1; start 3.0 on 1:2");
    for (int trial = 0; trial < 3; trial++)
        reach(&t, 40, trial, 0, 1, 0.1 * trial, "");
    reach(&t, 41, 3, 0, 1, 0.4, "terminate 1; terminate 0; start 2.0 on 2:1; start 3.0 on 2:2");
    end(&t);
}

static void a_stage_that_ends_first_makes_no_early_request(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.early[0] = (struct rb_plan_early){.offer = LARGE, .count = 1, .at_us = 50000000};
    p.stages[0].n_early = 1;
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small; request 1.0 small; wake 50");
    expect(&t, 20, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2");
    expect(&t, 20, ready(1), "start 2.0 on 1:1; start 3.0 on 1:2");
    for (int trial = 0; trial < 3; trial++)
        reach(&t, 40, trial, 0, 1, 0.1 * trial, "");
    reach(&t, 41, 3, 0, 1, 0.4, "terminate 1; start 2.0 on 0:1; start 3.0 on 0:2");
    expect(&t, 50, woken, "");
    end(&t);
}

// ---- policies and advice

static void a_static_cluster_gives_survivors_more(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.plan.policy = "static";
    begin(&t, &p.plan);
    start_all_four(&t);
    for (int trial = 0; trial < 3; trial++)
        reach(&t, 30, trial, 0, 1, 0.1 * trial, "");
    reach(&t, 31, 3, 0, 1, 0.4, "start 2.0 on 0:3; start 3.0 on 1:3");
    reach(&t, 40, 2, 0, 2, 0.5, "");
    reach(&t, 41, 3, 0, 2, 0.6, "start 3.0 on 0:3 1:3"); // 4 GPUs over two nodes
    end(&t);
}

static struct rb_event advice(const struct rb_stage_change *changes, int n)
{
    return (struct rb_event){.kind = RB_EVENT_ADVICE, .changes = changes, .n_changes = n};
}

static void advice_replaces_stages_to_come(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    const struct rb_stage_change large[] = {{0, LARGE, 1, 1}, {1, LARGE, 1, 1}, {2, LARGE, 1, 1}};
    const struct rb_stage_change unknown[] = {{1, 7, 1, 1}}, narrow[] = {{1, SMALL, 4, 1}}, small[] = {{2, SMALL, 1, 1}};
    small_plan_make(&p);
    begin(&t, &p.plan);
    start_all_four(&t);
    expect(&t, 22, advice(large, 3), "");   // the running stage is kept
    expect(&t, 23, advice(unknown, 1), ""); // not an offer of this plan
    expect(&t, 23, advice(narrow, 1), "");  // its trials do not fit its nodes
    for (int trial = 0; trial < 3; trial++)
        reach(&t, 30, trial, 0, 1, 0.1 * trial, "");
    reach(&t, 31, 3, 0, 1, 0.4, "terminate 1; terminate 0; request 2.0 large");
    expect(&t, 32, advice(small, 1), "");
    expect(&t, 33, ready(2), "start 2.0 on 2:1; start 3.0 on 2:2");
    reach(&t, 40, 2, 0, 2, 0.5, "");
    reach(&t, 41, 3, 0, 2, 0.6, "terminate 2; request 3.0 small");
    end(&t);
}

static void advice_changes_how_many_nodes_the_stage_under_way_has(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    const struct rb_stage_change three[] = {{0, SMALL, 1, 3}}, one[] = {{0, SMALL, 1, 1}}, wide[] = {{0, SMALL, 2, 3}};
    small_plan_make(&p);
    begin(&t, &p.plan);
    start_all_four(&t);
    expect(&t, 22, advice(wide, 1), ""); // what trains goes on
    expect(&t, 23, advice(three, 1), "request 2.0 small");
    expect(&t, 24, advice(one, 1), "terminate 2");
    reach(&t, 30, 2, 0, 1, 0.2, "");
    reach(&t, 31, 3, 0, 1, 0.3, "terminate 1"); // once nothing trains there
    end(&t);
}

static void a_plan_that_cannot_be_carried_out_is_refused(void **state)
{
    (void)state;
    struct small_plan p;
    struct rb_engine *engine;
    struct rb_err err;
    small_plan_make(&p);
    p.stages[1].gpus_per_trial = 4; // one node of 2
    assert_false(rb_engine_create(&p.plan, &engine, &err));
    assert_says(&err, "stages[1]");
    small_plan_make(&p);
    p.plan.n_stages = 2;
    assert_false(rb_engine_create(&p.plan, &engine, &err));
    assert_says(&err, "2 stages");
    small_plan_make(&p);
    p.plan.policy = "hypersched";
    assert_false(rb_engine_create(&p.plan, &engine, &err));
    assert_says(&err, "hypersched");
    small_plan_make(&p);
    p.job.scheduler.type = "stranger";
    assert_false(rb_engine_create(&p.plan, &engine, &err));
    assert_says(&err, "stranger");
    small_plan_make(&p);
    p.nodes[0][1] = (struct rb_plan_nodes){.offer = LARGE, .count = 1};
    p.stages[0].n_nodes = 2;
    assert_false(rb_engine_create(&p.plan, &engine, &err));
    assert_says(&err, "nodes[1]");
}

// Hyperband of r = 1, R = 2, eta = 2: two trials to 1, one of them to 2; then two more to 2. All at R are compared.
static void the_best_of_any_bracket_wins(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.job.scheduler =
        (struct rb_scheduler){.type = "hyperband", .min_resource = 1, .max_resource = 2, .eta = 2, .brackets = 2};
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small; request 1.0 small");
    expect(&t, 20, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2");
    expect(&t, 21, ready(1), "");
    reach(&t, 30, 0, 0, 1, 0.95, "");
    reach(&t, 31, 1, 0, 1, 0.1, "terminate 1; start 0.0 on 0:1");
    reach(&t, 40, 0, 0, 2, 0.6, "start 2.0 on 0:1; start 3.0 on 0:2");
    assert_int_equal(rb_engine_best(t.engine), 0);
    reach(&t, 50, 2, 0, 2, 0.5, "");
    assert_int_equal(rb_engine_best(t.engine), 0);
    reach(&t, 51, 3, 0, 2, 0.4, "terminate 0; done");
    assert_int_equal(rb_engine_best(t.engine), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(state_of(&t, i), i == 1 ? RB_TRIAL_STOPPED : RB_TRIAL_COMPLETED);
    end(&t);
}

// ---- asynchronous tuners

// Four trials on two nodes, r = 1, R = 4, eta = 2: the phase rises while trials of it still run.
static void a_phase_ends_amid_running_trials(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.job.scheduler.type = "asha";
    begin(&t, &p.plan);
    start_all_four(&t);
    reach(&t, 30, 2, 0, 1, 0.5, "");
    // The last of level 0 but 3 and 1; trial 2 is the better of two.
    reach(&t, 31, 0, 0, 1, 0.4, "start 2.0 on 0:1");
    reach(&t, 32, 1, 0, 1, 0.3, "");
    assert_int_equal(rb_engine_stage(t.engine), 0);
    // Level 1 wants one node. Both are at work: 0 is kept, 1 is idle now.
    reach(&t, 33, 3, 0, 1, 0.2, "terminate 1; start 0.0 on 0:2");
    assert_int_equal(rb_engine_stage(t.engine), 1);
    end(&t);
}

// Level 1 begins, for which the plan lists one node, while trials run on both: 0 and 1 on node 0, 2 on node 1.
static void rise_amid_running_trials(struct trace *t, struct small_plan *p)
{
    small_plan_make(p);
    p->job.scheduler.type = "asha";
    p->job.scheduler.rule = RB_RULE_STOP;
    begin(t, &p->plan);
    start_all_four(t);
    for (int i = 0; i < 4; i++) // each the best so far
        expect(t, 30 + i, report(i, 0, 1, 0.1 * (i + 1)), "");
    assert_int_equal(rb_engine_stage(t->engine), 1);
    expect(t, 40, report(0, 0, 2, 0.5), "");
    expect(t, 41, report(3, 0, 2, 0.4), "kill 3.0");
}

static void a_surplus_node_is_given_back_when_its_trials_have_left(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    rise_amid_running_trials(&t, &p);
    reach(&t, 50, 2, 0, 4, 0.9, "terminate 1");
    expect(&t, 51, ended(0, 0, RB_OUTCOME_FAILED), "start 0.1 on 0:1");
    end(&t);
}

static void a_surplus_node_is_not_replaced(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    rise_amid_running_trials(&t, &p);
    expect(&t, 50, lost(1), "");
    assert_int_equal(state_of(&t, 2), RB_TRIAL_WAITING);
    reach(&t, 51, 0, 0, 4, 0.9, "start 2.1 on 0:1");
    end(&t);
}

// Level 1 gives 4 GPUs, on large nodes; as long as small ones of 2 are owned, it gives 2.
static void trials_get_what_the_phase_can_hold(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    small_plan_make(&p);
    p.job.scheduler.type = "asha";
    p.job.trial.max_nodes = 1;
    p.stages[1].gpus_per_trial = 4;
    p.nodes[1][0] = (struct rb_plan_nodes){.offer = LARGE, .count = 1};
    begin(&t, &p.plan);
    start_all_four(&t);
    reach(&t, 30, 2, 0, 1, 0.5, "");
    reach(&t, 31, 0, 0, 1, 0.4, ""); // 2 is promoted, and waits for two GPUs of one node
    reach(&t, 32, 1, 0, 1, 0.3, "start 2.0 on 0:3");
    reach(&t, 33, 3, 0, 1, 0.2, "terminate 1; request 2.0 large"); // level 1 has begun: 0 will be promoted
    reach(&t, 34, 2, 0, 2, 0.5, "terminate 0");
    expect(&t, 40, ready(2), "start 0.0 on 2:f");
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_from_start_to_end),
        cmocka_unit_test(the_best_of_any_bracket_wins),
        cmocka_unit_test(a_phase_ends_amid_running_trials),
        cmocka_unit_test(a_surplus_node_is_given_back_when_its_trials_have_left),
        cmocka_unit_test(a_surplus_node_is_not_replaced),
        cmocka_unit_test(trials_get_what_the_phase_can_hold),
        cmocka_unit_test(waiting_trials_start_in_order),
        cmocka_unit_test(nodes_still_arriving_are_kept),
        cmocka_unit_test(another_type_replaces_the_cluster),
        cmocka_unit_test(a_gang_waits_for_whole_nodes),
        cmocka_unit_test(a_refused_request_is_made_again),
        cmocka_unit_test(a_lost_node_is_replaced_and_its_trials_wait_at_their_place),
        cmocka_unit_test(a_gang_that_loses_a_node_is_killed),
        cmocka_unit_test(a_node_lost_before_it_came_is_replaced),
        cmocka_unit_test(events_said_twice_change_nothing),
        cmocka_unit_test(an_end_from_an_earlier_stage_is_not_believed),
        cmocka_unit_test(a_failed_trial_is_restarted_then_given_up),
        cmocka_unit_test(a_job_of_failures_ends),
        cmocka_unit_test(who_yields_goes_on_from_there),
        cmocka_unit_test(who_is_lost_starts_again_from_its_last_save),
        cmocka_unit_test(resource_must_rise),
        cmocka_unit_test(the_target_ends_the_job),
        cmocka_unit_test(a_target_to_stay_below),
        cmocka_unit_test(a_stopped_job_can_be_resumed),
        cmocka_unit_test(a_job_can_be_stopped_before_it_starts),
        cmocka_unit_test(early_nodes_come_for_the_next_stage),
        cmocka_unit_test(a_stage_that_ends_first_makes_no_early_request),
        cmocka_unit_test(a_static_cluster_gives_survivors_more),
        cmocka_unit_test(advice_replaces_stages_to_come),
        cmocka_unit_test(advice_changes_how_many_nodes_the_stage_under_way_has),
        cmocka_unit_test(a_plan_that_cannot_be_carried_out_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
