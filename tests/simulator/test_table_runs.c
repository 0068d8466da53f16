// Runs from tables: a stage by itself draws what it draws within a plan, means are those of the evaluator, and what tables
// cannot show is refused.
#include "small_scenario.h"

#include "simulator/laws/trial_laws.h"
#include "simulator/sampler/table_runs.h"

#include <math.h>

enum { N = 4096, EVALUATED = 20000 };

static void make_noisy(struct small_scenario *s)
{
    small_scenario_make(s);
    s->p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.2);
    s->p.profile.within = small_dist(RB_DIST_LOGNORMAL, 1, 0.1);
    s->p.profile.startup_s = small_dist(RB_DIST_LOGNORMAL, 2, 0.3);
    s->provisioning.queue_s = small_dist(RB_DIST_LOGNORMAL, 5, 0.3);
    s->provisioning.init_s = small_dist(RB_DIST_LOGNORMAL, 10, 0.3);
}

// The first stage of the plan, and the plan of that stage only.
static void a_stage_draws_the_same_by_itself(void **state)
{
    static int64_t time_us[N], cost_uusd[N];
    static double stage_us[N], stage_uusd[N];
    const struct rb_table_runs runs = {.first = 7, .n = N, .threads = 1};
    struct small_scenario s;
    struct rb_err err = {0};
    (void)state;
    make_noisy(&s);
    small_scenario_one_stage(&s, 4, 3, 2);
    small_scenario_compile(&s, 1);
    struct rb_trial_laws *laws = rb_trial_laws_create();
    struct rb_sampler_tables *tables = rb_trial_laws_tables(laws);
    assert_true(rb_table_runs_apply(&s.scenario, s.p.stages, 1, 0, tables));
    assert_true(rb_table_runs_of_plan(&s.scenario, s.p.stages, 1, &runs, tables, time_us, cost_uusd, &err));
    assert_true(rb_table_runs_of_stage(&s.scenario, 0, s.p.stages, 0, &runs, tables, stage_us, stage_uusd, &err));
    for (int r = 0; r < N; r++) {
        assert_true(fabs(stage_us[r] - (double)time_us[r]) <= 1);
        assert_true(stage_uusd[r] <= (double)cost_uusd[r] + 1000); // bills round up by half a second on average
    }
    rb_trial_laws_destroy(laws);
    small_scenario_finish(&s);
}

// Of a part of the runs: the same as of all, wherever it begins and however many threads there are.
static void parts_are_those_of_the_whole(void **state)
{
    static int64_t time_us[N], cost_uusd[N], part_us[N], part_uusd[N];
    const struct rb_table_runs all = {.first = 0, .n = N, .threads = 2}, part = {.first = 1000, .n = 99, .threads = 1};
    struct small_scenario s;
    struct rb_err err = {0};
    (void)state;
    make_noisy(&s);
    small_scenario_compile(&s, 1);
    struct rb_trial_laws *laws = rb_trial_laws_create();
    struct rb_sampler_tables *tables = rb_trial_laws_tables(laws);
    const int n = s.p.plan.n_stages;
    assert_true(rb_table_runs_of_plan(&s.scenario, s.p.stages, n, &all, tables, time_us, cost_uusd, &err));
    assert_true(rb_table_runs_of_plan(&s.scenario, s.p.stages, n, &part, tables, part_us, part_uusd, &err));
    assert_memory_equal(part_us, time_us + 1000, 99 * sizeof *part_us);
    assert_memory_equal(part_uusd, cost_uusd + 1000, 99 * sizeof *part_uusd);
    rb_trial_laws_destroy(laws);
    small_scenario_finish(&s);
}

static void means_are_those_of_the_evaluator(void **state)
{
    static int64_t time_us[EVALUATED], cost_uusd[EVALUATED];
    struct rb_evaluate_options opt = rb_evaluate_defaults();
    struct small_scenario s;
    struct rb_estimate by_parts, by_tables;
    struct rb_err err = {0};
    (void)state;
    make_noisy(&s);
    small_scenario_compile(&s, 1);
    struct rb_trial_laws *laws = rb_trial_laws_create();
    const int n = s.p.plan.n_stages;
    opt.samples = EVALUATED;
    assert_true(rb_evaluate(&s.scenario, s.p.stages, n, &opt, &by_parts, NULL, &err));
    opt.tables = rb_trial_laws_tables(laws);
    assert_true(rb_table_runs_apply(&s.scenario, s.p.stages, n, 0, opt.tables));
    assert_true(rb_evaluate_runs(&s.scenario, s.p.stages, n, &opt, time_us, cost_uusd, &err));
    by_tables = rb_estimate_of_runs(time_us, cost_uusd, EVALUATED, -1, -1);
    assert_true(fabs((double)(by_parts.time_us.mean - by_tables.time_us.mean)) <=
                4 * hypot((double)by_parts.stderr_.time_mean_us, (double)by_tables.stderr_.time_mean_us));
    assert_true(fabs((double)(by_parts.cost_uusd.mean - by_tables.cost_uusd.mean)) <=
                4 * hypot((double)by_parts.stderr_.cost_mean_uusd, (double)by_tables.stderr_.cost_mean_uusd));
    rb_trial_laws_destroy(laws);
    small_scenario_finish(&s);
}

static bool applies(struct small_scenario *s)
{
    small_scenario_compile(s, 1);
    struct rb_trial_laws *laws = rb_trial_laws_create();
    const bool applies =
        rb_table_runs_apply(&s->scenario, s->p.stages, s->p.plan.n_stages, 0, rb_trial_laws_tables(laws));
    rb_trial_laws_destroy(laws);
    small_scenario_finish(s);
    return applies;
}

static void what_tables_cannot_show_is_refused(void **state)
{
    struct small_scenario s;
    (void)state;
    make_noisy(&s);
    assert_true(applies(&s));
    make_noisy(&s);
    s.p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 6); // a heavy tail: in parts
    assert_true(applies(&s));
    make_noisy(&s);
    s.p.profile.within = small_dist(RB_DIST_LOGNORMAL, 1, 6); // the sum of several has no table
    assert_false(applies(&s));
    make_noisy(&s);
    s.provisioning.preemption_per_hour = 1;
    assert_false(applies(&s));
    make_noisy(&s);
    s.p.training.relative_error = 0.1;
    assert_true(applies(&s));
    make_noisy(&s);
    static const double values[] = {0.9, 1.1};
    s.p.profile.between = (struct rb_dist){.kind = RB_DIST_EMPIRICAL, .values = values, .n_values = 2};
    assert_true(rb_dist_prepare(&s.p.profile.between, NULL));
    s.p.training.relative_error = 0.1;
    assert_false(applies(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stage_draws_the_same_by_itself),
        cmocka_unit_test(parts_are_those_of_the_whole),
        cmocka_unit_test(means_are_those_of_the_evaluator),
        cmocka_unit_test(what_tables_cannot_show_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
