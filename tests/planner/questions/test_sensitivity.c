// Sensitivities: which inputs are asked, what their order is, and that slower machines and training are what a profile with those
// times would have given.
#include "case.h"

#include "planner/questions/sensitivity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOB(scheduler, rest)                                                                                           \
    "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\nscheduler: {" scheduler "}\n" \
    "trial: {gpus: {min: 1, max: 4, sizes: [1, 2, 4]}, max_nodes: 1}\nrun: python t.py\n"                              \
    "resources: {infra: [aws/us-east-1], max_nodes: 3, spot: never}\n" rest
#define SHA "type: sha, num_trials: 8, min_resource: 1, max_resource: 4, eta: 2"

static const char prices[] = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                             "aws/us-east-1,four.big,T4,4,16,48,192,on_demand,14.4\n"
                             "aws/us-east-1,one.small,T4,1,16,48,192,on_demand,4.0\n";

// base_s and the means of queueing and initialisation are what is changed.
static void start(struct rb_case *c, const char *job, double base_s, double queue_s, double init_s)
{
    char profile[1024];
    snprintf(profile, sizeof profile,
             "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
             "  - accelerator: T4\n    base_s: %.1f\n    layouts:\n"
             "      - {gpus: 1, nodes: 1, speedup: 1.0}\n      - {gpus: 4, nodes: 1, speedup: 2.5}\n"
             "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
             "  within: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
             "startup_s: {distribution: lognormal, mean: 5.0, cv: 0.3}\ncheckpoint_s: 1.0\nprovisioning:\n"
             "  - {infra: aws, instance_type: \"*\", market: \"*\", queue_s: {distribution: lognormal, mean: %.1f, cv: 0.4},"
             " init_s: {distribution: empirical, values: [%.1f, %.1f]}, capacity_failure: 0.0, preemption_per_hour: 0.0}\n",
             base_s, queue_s, init_s, 3 * init_s);
    case_init(c, job, profile, prices);
}

static char *text_of(const struct rb_estimate *e)
{
    struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &text, false);
    rb_estimate_write(e, &j);
    return text.data;
}

static void times_are_those_of_a_profile_that_says_so(void **state)
{
    static const struct {
        const char *change;
        double base_s, queue_s, init_s;
    } cases[] = {
        {"training=+50%", 150, 8, 20}, {"training=-50%", 50, 8, 20}, {"provisioning=+100%", 100, 16, 40},
        {"provisioning=-50%,training=+100%", 200, 4, 10},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rb_case base, changed;
        struct rb_what_if_table table, written;
        struct rb_err err = {0};
        start(&base, JOB(SHA, "deadline: 40m\n"), 100, 8, 20);
        start(&changed, JOB(SHA, "deadline: 40m\n"), cases[i].base_s, cases[i].queue_s, cases[i].init_s);
        if (!rb_what_if_plan(&base.req, "optimal", &cases[i].change, 1, &base.arena, &table, &err) ||
            !rb_what_if_plan(&changed.req, "optimal", NULL, 0, &changed.arena, &written, &err))
            fail_msg("%s: %s", cases[i].change, err.message);
        char *a = text_of(&table.rows[0].estimate), *b = text_of(&written.base.estimate);
        assert_string_equal(a, b);
        assert_true(table.rows[0].feasible);
        free(a);
        free(b);
        case_finish(&base);
        case_finish(&changed);
    }
}

static void the_inputs_are_those_that_the_job_has(void **state)
{
    static const struct {
        const char *job;
        double wait_s;
        const char *inputs;
    } cases[] = {
        {JOB(SHA, "deadline: 40m\nbudget: 90\n"), 8, "price deadline budget num_trials provisioning training"},
        {JOB(SHA, "deadline: 40m\n"), 0, "price deadline num_trials training"},
        {JOB("type: hyperband, max_resource: 4, eta: 2", ""), 8, "price provisioning training"},
        {JOB("type: random, num_trials: 1, max_resource: 4", ""), 0, "price training"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rb_case c;
        struct rb_sensitivities s;
        struct rb_err err = {0};
        start(&c, cases[i].job, 100, cases[i].wait_s, cases[i].wait_s);
        if (!rb_sensitivity_plan(&c.req, "greedy", &c.arena, &s, &err))
            fail_msg("case %zu: %s", i, err.message);
        int n = 0;
        for (const char *p = cases[i].inputs; p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL, n++) {
            const size_t length = strcspn(p, " ");
            bool found = false;
            for (int k = 0; k < s.n; k++)
                found |= strlen(s.inputs[k].input) == length && strncmp(s.inputs[k].input, p, length) == 0;
            if (!found)
                fail_msg("case %zu: no %.*s", i, (int)length, p);
        }
        assert_int_equal(s.n, n);
        case_finish(&c);
    }
}

// By effect, what leaves no plan first; every scenario is one of its input, and its effect the largest change of cost.
static void check_order(const struct rb_sensitivities *s)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        const struct rb_sensitivity *input = &s->inputs[i];
        int64_t largest = 0;
        bool all_planned = true;
        assert_int_equal(input->first, n);
        for (int k = input->first; k < input->first + input->n; k++, n++) {
            const struct rb_what_if_row *row = &s->what_if.rows[k];
            const int64_t change = llabs(row->estimate.cost_uusd.mean - s->what_if.base.estimate.cost_uusd.mean);
            assert_string_equal(s->what_if.scenarios[k].changes[0].key, input->input);
            all_planned &= row->feasible;
            largest = change > largest ? change : largest;
        }
        assert_int_equal(input->has_effect, all_planned);
        if (all_planned)
            assert_int_equal(input->effect_uusd, largest);
        if (i > 0 && input->has_effect && input[-1].has_effect)
            assert_true(input->effect_uusd <= input[-1].effect_uusd);
        assert_true(i == 0 || input->has_effect >= input[-1].has_effect);
    }
    assert_int_equal(n, s->what_if.n);
}

static void the_largest_effect_comes_first(void **state)
{
    static const char *const jobs[] = {JOB(SHA, "deadline: 40m\nbudget: 90\n"), JOB(SHA, "deadline: 400s\n")};
    int n_without = 0;
    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        struct rb_case c;
        struct rb_sensitivities s;
        struct rb_err err = {0};
        start(&c, jobs[i], 100, 8, 20);
        if (!rb_sensitivity_plan(&c.req, "optimal", &c.arena, &s, &err))
            fail_msg("%s", err.message);
        check_order(&s);
        for (int k = 0; k < s.n; k++)
            n_without += s.what_if.base.feasible && !s.inputs[k].has_effect;
        case_finish(&c);
    }
    assert_true(n_without > 0); // else nothing showed where these stand
}

// A price moves the cost of a plan in proportion, and the optimum by no more.
static void prices_move_cost_in_proportion(void **state)
{
    struct rb_case c;
    struct rb_sensitivities s;
    struct rb_err err = {0};
    (void)state;
    start(&c, JOB(SHA, "deadline: 40m\n"), 100, 8, 20);
    if (!rb_sensitivity_plan(&c.req, "optimal", &c.arena, &s, &err))
        fail_msg("%s", err.message);
    for (int i = 0; i < s.n; i++) {
        if (strcmp(s.inputs[i].input, "price") != 0)
            continue;
        const double base = (double)s.what_if.base.estimate.cost_uusd.mean;
        const double ratio = (double)s.inputs[i].effect_uusd / base;
        assert_true(ratio > 0.1999 && ratio < 0.2001);
        case_finish(&c);
        return;
    }
    fail_msg("no price among the inputs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_those_of_a_profile_that_says_so),
        cmocka_unit_test(the_inputs_are_those_that_the_job_has),
        cmocka_unit_test(the_largest_effect_comes_first),
        cmocka_unit_test(prices_move_cost_in_proportion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
