// Traces of jobs with a sampler: a trial gets its GPUs first and its configuration then, as an event.
#include "trace.h"

#include <math.h>
#include <string.h>

// Asynchronous halving of the small job (levels 1, 2, 4) on one node of 4 GPUs.
static void make_asha(struct small_plan *p, int n_trials)
{
    static const int ends[] = {1, 2, 4};
    static const struct rb_param lr = {.name = "lr", .kind = RB_PARAM_UNIFORM, .min = 0, .max = 1};
    small_plan_make(p);
    p->job.scheduler.type = "asha";
    p->job.scheduler.num_trials = n_trials;
    p->job.scheduler.sampler.type = "tpe";
    p->job.space = (struct rb_space){.params = &lr, .n_params = 1};
    for (int i = 0, n = n_trials; i < 3; i++, n /= 2) {
        p->nodes[i][0] = (struct rb_plan_nodes){.offer = LARGE, .count = 1};
        p->stages[i].trials = n > 0 ? n : 1;
        p->stages[i].resource_end = ends[i];
    }
}

static struct rb_event suggested(int trial, double lr)
{
    static struct rb_named_value value; // the engine copies it
    value = (struct rb_named_value){"lr", {.kind = RB_VALUE_FLOAT, .number = lr}};
    return (struct rb_event){
        .kind = RB_EVENT_SUGGESTED, .trial = trial, .values = &value, .n_values = 1, .origin = "tpe", .because = "near the best"};
}

static struct rb_event no_more(int trial)
{
    return (struct rb_event){.kind = RB_EVENT_SUGGESTED, .trial = trial, .origin = "command"};
}

static void a_trial_starts_once_its_configuration_is_known(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_asha(&p, 6);
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 large");
    expect(&t, 10, running(0), "");
    expect(&t, 20, ready(0), "suggest 0 to 1; suggest 1 to 1; suggest 2 to 1; suggest 3 to 1");
    assert_true(rb_engine_needs_configuration(t.engine, 2));
    assert_null(rb_engine_trial(t.engine, 2)->values);
    expect(&t, 21, suggested(2, 0.25), "start 2.0 on 0:4"); // in any order
    expect(&t, 21, suggested(0, 0.5), "start 0.0 on 0:1");
    expect(&t, 22, suggested(0, 0.75), ""); // the first counts
    assert_true(rb_engine_trial(t.engine, 0)->values[0].number > 0.4);
    assert_true(rb_engine_trial(t.engine, 0)->values[0].number < 0.6);
    assert_string_equal(rb_engine_trial(t.engine, 0)->origin, "tpe");
    assert_int_equal(rb_engine_trial(t.engine, 2)->started_us, 21000000);
    expect(&t, 23, suggested(1, 0.1), "start 1.0 on 0:2");
    expect(&t, 23, suggested(3, 0.2), "start 3.0 on 0:8");
    expect(&t, 23, suggested(5, 0.2), ""); // it was never asked for
    reach(&t, 30, 1, 0, 1, 0.5, "suggest 4 to 1");
    reach(&t, 31, 0, 0, 1, 0.3, "start 1.0 on 0:1"); // promoted: it has its configuration
    end(&t);
}

static void a_node_is_lost_before_the_answer(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_asha(&p, 1);
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 large");
    expect(&t, 10, running(0), "");
    expect(&t, 20, ready(0), "suggest 0 to 1");
    expect(&t, 25, lost(0), "request 1.1 large");
    expect(&t, 26, suggested(0, 0.5), ""); // kept until it has GPUs again
    expect(&t, 30, node(RB_EVENT_NODE_RUNNING, 1, 1), "");
    expect(&t, 40, ready(1), "start 0.1 on 1:1");
    end(&t);
}

static void an_answer_lost_in_a_stop_is_asked_for_again(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_asha(&p, 1);
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 large");
    expect(&t, 10, running(0), "");
    expect(&t, 20, ready(0), "suggest 0 to 1");
    expect(&t, 25, stopped(RB_STOP_USER), "kill 0.0; terminate 0; done");
    expect(&t, 26, suggested(0, 0.5), "");
    expect(&t, 27, resumed, "request 1.0 large");
    expect(&t, 30, running(1), "");
    expect(&t, 40, ready(1), "suggest 0 to 1");
    expect(&t, 41, suggested(0, 0.5), "start 0.1 on 1:1");
    end(&t);
}

static void there_is_no_further_configuration(void **state)
{
    (void)state;
    struct small_plan p;
    struct trace t;
    make_asha(&p, 6);
    begin(&t, &p.plan);
    expect(&t, 0, started, "request 0.0 large");
    expect(&t, 10, running(0), "");
    expect(&t, 20, ready(0), "suggest 0 to 1; suggest 1 to 1; suggest 2 to 1; suggest 3 to 1");
    expect(&t, 21, suggested(0, 0.25), "start 0.0 on 0:1");
    expect(&t, 21, no_more(1), "");
    expect(&t, 21, no_more(2), "");
    expect(&t, 21, no_more(3), "");
    assert_int_equal(state_of(&t, 3), RB_TRIAL_STOPPED);
    reach(&t, 30, 0, 0, 1, 0.5, "start 0.0 on 0:1");
    reach(&t, 40, 0, 0, 2, 0.6, "terminate 0; done"); // alone at its level: half of one is none
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_starts_once_its_configuration_is_known),
        cmocka_unit_test(a_node_is_lost_before_the_answer),
        cmocka_unit_test(an_answer_lost_in_a_stop_is_asked_for_again),
        cmocka_unit_test(there_is_no_further_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
