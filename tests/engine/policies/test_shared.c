// The policy shared: a job on GPUs that are lent to it, and may be asked back.
#include "trace.h"

static struct rb_event lent(int number, uint64_t gpus)
{
    return (struct rb_event){.kind = RB_EVENT_LENT, .node = number, .gpus = gpus};
}

// Four trials on two nodes of four GPUs; a trial may have 1, 2 or 4, and trains for long.
static void make_job(struct small_plan *p)
{
    small_plan_make(p);
    for (int i = 0; i < 3; i++)
        p->nodes[i][0] = (struct rb_plan_nodes){.offer = LARGE, .count = 2};
    p->job.scheduler.min_resource = 1000;
    p->job.scheduler.max_resource = 4000;
    p->plan.policy = "shared";
}

static void begin_pool(struct trace *t, const struct small_plan *p)
{
    begin(t, &p->plan);
    expect(t, 0, started, "request 0.0 large; request 1.0 large");
    expect(t, 1, ready(0), "");
    expect(t, 1, ready(1), "");
}

static void nothing_starts_on_what_is_not_lent(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_job(&p);
    begin_pool(&t, &p);
    assert_int_equal(rb_engine_n_gpus(t.engine), 0);
    expect(&t, 2, lent(1, 6), "start 0.0 on 1:2; start 1.0 on 1:4");
    assert_int_equal(rb_engine_n_gpus(t.engine), 2);
    end(&t);
}

static void more_gpus_are_shared_out_and_asked_back(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_job(&p);
    begin_pool(&t, &p);
    expect(&t, 2, lent(0, 15), "start 0.0 on 0:1; start 1.0 on 0:2; start 2.0 on 0:4; start 3.0 on 0:8");
    expect(&t, 3, lent(1, 15), "yield 0.0; yield 1.0; yield 2.0; yield 3.0");
    expect(&t, 3, report(0, 0, 10, 0.5), "");
    expect(&t, 4, ended(0, 0, RB_OUTCOME_YIELDED), "start 0.1 on 1:3");
    expect(&t, 5, lent(0, 3), "yield 0.1"); // two for each do not fit any more; the others were asked already
    expect(&t, 6, ended(2, 0, RB_OUTCOME_YIELDED), "start 2.1 on 0:1");
    expect(&t, 7, ended(3, 0, RB_OUTCOME_YIELDED), "start 3.1 on 1:4");
    assert_int_equal(rb_engine_node(t.engine, 0)->busy & ~rb_engine_node(t.engine, 0)->usable, 0);
    end(&t);
}

// Events about nodes that were not asked for, and GPUs a node does not have, change nothing.
static void strange_gpus_are_ignored(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_job(&p);
    begin_pool(&t, &p);
    expect(&t, 2, lent(7, 1), "");
    expect(&t, 2, lent(0, 0x30), "");
    assert_int_equal(rb_engine_n_gpus(t.engine), 0);
    end(&t);
}

static void other_policies_own_their_nodes(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_job(&p);
    p.plan.policy = "elastic";
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 large; request 1.0 large");
    expect(&t, 1, ready(0), "start 0.0 on 0:1; start 1.0 on 0:2; start 2.0 on 0:4; start 3.0 on 0:8");
    expect(&t, 2, lent(0, 1), "");
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_starts_on_what_is_not_lent),
        cmocka_unit_test(more_gpus_are_shared_out_and_asked_back),
        cmocka_unit_test(strange_gpus_are_ignored),
        cmocka_unit_test(other_policies_own_their_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
