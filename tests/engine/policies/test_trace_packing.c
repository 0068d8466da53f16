// Traces of the policies that pack: shares of a GPU, who starts first, who is resized when GPUs become free.
#include "trace.h"

// Four trials, one node of two GPUs; a unit takes 10 s on one GPU, 14 s on half of one.
static const int shares[] = {1, 2};
static const struct rb_gpu_sharing costs[] = {{2, 1.4}};

static void make(struct small_plan *p, const char *policy)
{
    small_plan_make(p);
    p->plan.policy = policy;
    p->training.sharing = costs;
    p->training.n_sharing = 1;
    p->job.trial.shares = shares;
    p->job.trial.n_shares = 2;
    p->job.trial.max_nodes = 1;
    p->profile.startup_s = p->profile.checkpoint_s = rb_dist_constant(0);
    for (int i = 0; i < 3; i++)
        p->nodes[i][0] = (struct rb_plan_nodes){.offer = SMALL, .count = 1};
}

static void fluid_shares_gpus_among_many_and_gives_them_to_few(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make(&p, "fluid");
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small");
    // 2 GPUs for 4 equal trials: half a GPU each.
    expect(&t, 20, ready(0), "start 0.0 on 0:1/2; start 1.0 on 0:1/2; start 2.0 on 0:2/2; start 3.0 on 0:2/2");
    reach(&t, 34, 0, 0, 1, 0.4, "");
    reach(&t, 34, 1, 0, 1, 0.3, "");
    reach(&t, 34, 2, 0, 1, 0.2, "");
    reach(&t, 34, 3, 0, 1, 0.1, "start 0.0 on 0:1; start 1.0 on 0:2"); // a GPU each
    reach(&t, 44, 0, 0, 2, 0.4, "");
    reach(&t, 44, 1, 0, 2, 0.3, "start 0.0 on 0:3"); // both
    reach(&t, 56, 0, 0, 4, 0.5, "terminate 0; done");
    end(&t);
}

static void packing_grows_at_a_report_into_what_is_left(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make(&p, "packing");
    p.job.scheduler.num_trials = 2;
    p.job.scheduler.min_resource = 4; // one rung of two trials
    p.stages[0] = p.stages[2];
    p.stages[0].trials = 2;
    p.stages[0].resource_start = 0;
    p.plan.n_stages = 1;
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small");
    expect(&t, 20, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2");
    expect(&t, 30, report(0, 0, 1, 0.1), "");
    expect(&t, 30, report(1, 0, 1, 0.1), "");
    expect(&t, 35, report(1, 0, 2, 0.1), "");
    expect(&t, 40, report(0, 0, 2, 0.1), "");
    reach(&t, 45, 1, 0, 4, 0.1, ""); // the other has two units left: 20 s alone, 11 s on both
    expect(&t, 50, report(0, 0, 3, 0.1), "yield 0.0");
    assert_int_equal(rb_engine_trial(t.engine, 0)->next_gpus, 2);
    expect(&t, 51, ended(0, 0, RB_OUTCOME_YIELDED), "start 0.1 on 0:3");
    reach(&t, 57, 0, 1, 4, 0.2, "terminate 0; done");
    end(&t);
}

static void who_shares_a_gpu_is_lost_with_its_node(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make(&p, "fluid");
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 small");
    expect(&t, 20, ready(0), "start 0.0 on 0:1/2; start 1.0 on 0:1/2; start 2.0 on 0:2/2; start 3.0 on 0:2/2");
    expect(&t, 22, ended(1, 0, RB_OUTCOME_FAILED), "start 1.1 on 0:1/2"); // beside the one that is still there
    expect(&t, 25, lost(0), "request 1.1 small");
    for (int i = 0; i < 4; i++)
        assert_int_equal(state_of(&t, i), RB_TRIAL_WAITING);
    expect(&t, 40, node(RB_EVENT_NODE_READY, 1, 1),
           "start 0.1 on 1:1/2; start 1.2 on 1:1/2; start 2.1 on 1:2/2; start 3.1 on 1:2/2");
    end(&t);
}

static void what_was_never_measured_is_refused(void **state)
{
    (void)state;
    static const int three[] = {3}, two[] = {2, 4};
    struct small_plan p;
    struct rb_engine *e;
    struct rb_err err = {0};
    make(&p, "packing");
    p.job.trial.shares = three;
    p.job.trial.n_shares = 1;
    assert_false(rb_engine_create(&p.plan, &e, &err));
    assert_says(&err, "3 trials on one A10G were never measured");
    make(&p, "fluid");
    p.job.trial.sizes = two;
    p.job.trial.n_sizes = 2;
    assert_false(rb_engine_create(&p.plan, &e, &err));
    assert_says(&err, "expected 1 among trial.gpus.sizes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fluid_shares_gpus_among_many_and_gives_them_to_few),
        cmocka_unit_test(packing_grows_at_a_report_into_what_is_left),
        cmocka_unit_test(who_shares_a_gpu_is_lost_with_its_node),
        cmocka_unit_test(what_was_never_measured_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
