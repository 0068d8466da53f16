// Machines that are taken back before a trial ends: left out by name, and no more than that.
#include "case.h"

#include "planner/async/endless.h"
#include "planner/questions/pareto.h"
#include "planner/scores/stage_samples.h"

#include "base/errors/err.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Trials of 600 and 1800 s on one GPU, half as long on two.
static const char job_format[] =
    "name: tiny\nmetric: {name: acc, goal: maximize}\nparameters:\n  lr: {min: 0.1, max: 0.9}\n"
    "scheduler: {type: sha, num_trials: 3, min_resource: 1, max_resource: 4, eta: 3}\n"
    "trial:\n  gpus: {min: 1, max: 2, sizes: [1, 2]}\n"
    "resources: {infra: [aws/us-east-1], max_nodes: 3, spot: %s}\nconfidence: 0.9\nrun: python train.py\n";
static const char profile_format[] =
    "format: rb-profile/1\nname: tiny\nunit: epoch\nsource: test\ntraining:\n  - accelerator: T4\n    base_s: 600\n"
    "    layouts:\n      - {gpus: 1, nodes: 1, speedup: 1}\n      - {gpus: 2, nodes: 1, speedup: 2}\n"
    "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.1}\n  within: {distribution: constant, mean: 1.0}\n"
    "startup_s: {distribution: constant, mean: 0.0}\ncheckpoint_s: {distribution: constant, mean: 0.0}\n"
    "provisioning:\n  - infra: aws\n    instance_type: \"*\"\n    market: on_demand\n"
    "    queue_s: {distribution: constant, mean: 10}\n    init_s: {distribution: constant, mean: 20}\n"
    "    capacity_failure: 0.0\n    preemption_per_hour: 0.0\n"
    "  - infra: aws\n    instance_type: \"*\"\n    market: spot\n"
    "    queue_s: {distribution: constant, mean: 10}\n    init_s: {distribution: constant, mean: 20}\n"
    "    capacity_failure: 0.0\n    preemption_per_hour: %g\n";
static const char prices[] = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                             "aws/us-east-1,m.a,T4,2,16,4,16,on_demand,1.0\naws/us-east-1,m.a,T4,2,16,4,16,spot,0.3\n";

static void open_case(struct rb_case *c, const char *spot, double losses_per_hour)
{
    char job[1024], profile[2048];
    snprintf(job, sizeof job, job_format, spot);
    snprintf(profile, sizeof profile, profile_format, losses_per_hour);
    case_init(c, job, profile, prices);
}

static void open_search(struct rb_case *c, struct rb_scenario *scenario, struct rb_search *out)
{
    struct rb_offer *offers;
    struct rb_err err;
    int n;
    assert_true(rb_planner_offers(&c->job, &c->catalog, &c->arena, &offers, &n, &err));
    assert_true(rb_scenario_init(scenario, &c->job, &c->profile, offers, n, &c->catalog, 1, &err));
    assert_true(rb_search_init(out, &c->req, scenario, &err));
}

static bool plan(struct rb_case *c, struct rb_plan *out, struct rb_plan_result *out_result, struct rb_err *err)
{
    *err = (struct rb_err){0};
    return rb_make_plan(&c->req, "optimal", &c->arena, out, out_result, err);
}

static int warnings_with(const struct rb_plan *plan, const char *text)
{
    int n = 0;
    for (int i = 0; i < plan->n_warnings; i++)
        n += strstr(plan->warnings[i], text) != NULL;
    return n;
}

// exp(losses x time) starts: on one GPU 1800 s at 10 an hour are e^5, on two e^2.5.
static void a_trial_is_endless_where_it_starts_too_often(void **state)
{
    struct rb_case c;
    struct rb_scenario s;
    struct rb_search search;
    struct rb_offer *offers;
    struct rb_err err = {0};
    int n;
    (void)state;
    open_case(&c, "allow", 10);
    assert_true(rb_planner_offers(&c.job, &c.catalog, &c.arena, &offers, &n, &err));
    assert_int_equal(n, 2);
    assert_true(rb_scenario_init(&s, &c.job, &c.profile, offers, n, &c.catalog, 1, &err));
    assert_true(rb_search_init(&search, &c.req, &s, &err));
    for (int offer = 0; offer < n; offer++) {
        const bool spot = offers[offer].market == RB_MARKET_SPOT;
        assert_false(rb_is_endless(&search, 0, offer, 1));
        assert_int_equal(rb_is_endless(&search, 1, offer, 1), spot);
        assert_false(rb_is_endless(&search, 1, offer, 2));
        assert_int_equal(rb_endless_stage(&search, offer), -1);

        struct rb_candidate slow = {.n_stages = 2, .stages = {{offer, 1, 1}, {offer, 1, 1}}};
        assert_int_equal(rb_has_endless_stage(&search, &slow), spot);
        assert_true(rb_search_score(&search, &slow, 64, &err));
        assert_int_equal(rb_search_feasible(&search, &slow.estimate), !spot);
    }
    rb_search_finish(&search);
    rb_scenario_finish(&s);
    case_finish(&c);
}

// 10 an hour for 10 minutes and 1 afterwards: 1800 s from an age of 20 s on gather 10 * 580 / 3600 + 1220 / 3600, so that
// a trial starts seven times and not 148.
static void losses_of_new_nodes_are_not_those_of_old_ones(void **state)
{
    static const struct rb_hazard_step falls = {600, 1}, stays = {600, 10};
    struct rb_spells spells = {.hazard = {.per_hour = 10, .later = &falls, .n_later = 1}};
    struct rb_case c;
    struct rb_scenario s;
    struct rb_search search;
    (void)state;
    open_case(&c, "only", 10);
    ((struct rb_provisioning *)c.profile.provisioning)[1].spells = &spells;
    open_search(&c, &s, &search);
    assert_false(rb_is_endless(&search, 1, 0, 1));
    spells.hazard.later = &stays;
    assert_true(rb_is_endless(&search, 1, 0, 1));
    rb_search_finish(&search);
    rb_scenario_finish(&s);
    case_finish(&c);
}

// 60 an hour end a stage of 1800 s as good as always; with a save after each of its three units of 600 s a trial starts
// e^10 times, at 20 an hour e^3.3.
static void a_trial_that_saves_needs_less_time_without_a_break(void **state)
{
    static const struct {
        double per_hour;
        int64_t every_us;
        bool endless;
    } rows[] = {{20, 0, true},
                {20, RB_CHECKPOINT_EVERY_UNSAID, true},
                {20, RB_CHECKPOINT_EVERY_AUTO, false},
                {20, 600 * RB_US_PER_S, false},
                {20, 601 * RB_US_PER_S, true},
                {60, RB_CHECKPOINT_EVERY_AUTO, true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rb_case c;
        struct rb_scenario s;
        struct rb_search search;
        open_case(&c, "only", rows[i].per_hour);
        c.job.checkpoint_every_us = rows[i].every_us;
        open_search(&c, &s, &search);
        assert_int_equal(rb_is_endless(&search, 1, 0, 1), rows[i].endless);
        rb_search_finish(&search);
        rb_scenario_finish(&s);
        case_finish(&c);
    }
}

// What only a simulation finds out: more nodes than one run may request.
static void a_stage_that_does_not_end_is_sampled_as_never(void **state)
{
    struct rb_case c;
    struct rb_scenario s;
    struct rb_search search;
    struct rb_err err = {0};
    (void)state;
    open_case(&c, "only", 60);
    open_search(&c, &s, &search);
    struct rb_stage_samples *samples = rb_stage_samples_create(&search, 4, 4);
    const struct rb_choice choice = {0, 1, 1};
    const struct rb_stage_sample *sample = rb_stage_samples_get(samples, 1, &choice, 0, &err);
    assert_non_null(sample);
    assert_true(sample->time_mean_us >= (double)rb_endless_estimate(1).time_us.mean);
    rb_stage_samples_destroy(samples);
    rb_search_finish(&search);
    rb_scenario_finish(&s);
    case_finish(&c);
}

// A stage on nodes that are lost is played until it is over, or only so long; one that is late too often ends nowhere.
static void what_is_late_is_not_played_to_the_end(void **state)
{
    enum { N = 64 };
    struct rb_case c;
    struct rb_scenario s;
    struct rb_search search;
    struct rb_err err = {0};
    (void)state;
    open_case(&c, "only", 1);
    open_search(&c, &s, &search);
    const struct rb_choice choice = {0, 1, 1};
    struct rb_stage_samples *to_the_end = rb_stage_samples_create(&search, N, N);
    const struct rb_stage_sample *all = rb_stage_samples_get(to_the_end, 1, &choice, 0, &err);
    double least_us = INFINITY, most_us = 0;
    for (int r = 0; r < N; r++) {
        least_us = fmin(least_us, all->time_us[r]);
        most_us = fmax(most_us, all->time_us[r]);
    }
    assert_true(most_us > 1.2 * least_us); // some lose a node
    const double until_us = floor((least_us + most_us) / 2);
    struct rb_stage_samples *until = rb_stage_samples_create(&search, N, N);
    rb_stage_samples_limit(until, (int64_t)most_us, 0.95, (int64_t)until_us);
    const struct rb_stage_sample *cut = rb_stage_samples_get(until, 1, &choice, 0, &err);
    for (int r = 0; r < N; r++) {
        const double expected_us = fmin(all->time_us[r], until_us);
        assert_true(fabs(cut->time_us[r] - expected_us) < 0.5);
        assert_true(cut->cost_uusd[r] <= all->cost_uusd[r] + 0.5);
    }
    struct rb_stage_samples *in_time = rb_stage_samples_create(&search, N, N);
    rb_stage_samples_limit(in_time, (int64_t)least_us, 0.95, (int64_t)most_us);
    const struct rb_stage_sample *late = rb_stage_samples_get(in_time, 1, &choice, 0, &err);
    assert_true(late->time_mean_us >= (double)rb_endless_estimate(1).time_us.mean);
    rb_stage_samples_destroy(to_the_end);
    rb_stage_samples_destroy(until);
    rb_stage_samples_destroy(in_time);
    rb_search_finish(&search);
    rb_scenario_finish(&s);
    case_finish(&c);
}

static void other_machines_are_planned_on(void **state)
{
    struct rb_case c;
    struct rb_plan plan_, without;
    struct rb_plan_result result;
    struct rb_err err;
    (void)state;
    open_case(&c, "never", 60);
    assert_true(plan(&c, &without, &result, &err));
    case_finish(&c);
    open_case(&c, "allow", 60);
    if (!plan(&c, &plan_, &result, &err))
        fail_msg("%s", err.message);
    assert_int_equal(
        warnings_with(&plan_, "m.a (spot) was not considered from stage 0 on: its market takes nodes back (60"), 1);
    for (int i = 0; i < plan_.n_stages; i++)
        assert_int_equal(plan_.offers[plan_.stages[i].nodes[0].offer].market, RB_MARKET_ON_DEMAND);
    case_finish(&c);
}

// Units of 300 s on two GPUs; a save costs nothing here.
static void a_plan_says_how_often_it_saves(void **state)
{
    static const struct {
        int64_t every_us;
        const char *said; // NULL: nothing
    } rows[] = {{RB_CHECKPOINT_EVERY_UNSAID, NULL},
                {0, NULL},
                {300 * RB_US_PER_S, "m.a (spot) save every 5 m 0 s, which takes 0 s: a lost machine costs its trials up to "},
                {3000 * RB_US_PER_S, "m.a (spot) would save every 50 m 0 s, and none trains that long in one stage: a lost "}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rb_case c;
        struct rb_plan plan_;
        struct rb_plan_result result;
        struct rb_err err;
        open_case(&c, "only", 1);
        c.job.checkpoint_every_us = rows[i].every_us;
        if (!plan(&c, &plan_, &result, &err))
            fail_msg("%s", err.message);
        assert_int_equal(warnings_with(&plan_, " save every "), rows[i].said != NULL);
        assert_true(!rows[i].said || warnings_with(&plan_, rows[i].said) == 1);
        assert_int_equal(warnings_with(&plan_, "until they go on"), rows[i].said != NULL);
        case_finish(&c);
    }
}

static void where_nothing_ends_it_is_infeasible(void **state)
{
    struct rb_case c;
    struct rb_plan plan_;
    struct rb_plan_result result;
    struct rb_pareto pareto;
    struct rb_err err;
    (void)state;
    open_case(&c, "only", 60);
    assert_false(plan(&c, &plan_, &result, &err));
    assert_int_equal(rb_err_number(&err), RB_E_NO_END);
    assert_non_null(strstr(err.message,
                           "no plan comes to an end: a trial of stage 0 takes 5 m 0 s without a break, even on "
                           "m.a (spot)"));
    assert_false(result.feasible);
    assert_int_equal(result.nearest_deadline_us, -1);
    assert_int_equal(result.nearest_budget_uusd, -1);
    assert_true(isnan(result.nearest_confidence));

    err = (struct rb_err){0};
    assert_false(rb_pareto_find(&c.req, &c.arena, &pareto, &err));
    assert_int_equal(err.code, RB_ERR_INFEASIBLE);
    case_finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_is_endless_where_it_starts_too_often),
        cmocka_unit_test(losses_of_new_nodes_are_not_those_of_old_ones),
        cmocka_unit_test(a_trial_that_saves_needs_less_time_without_a_break),
        cmocka_unit_test(a_stage_that_does_not_end_is_sampled_as_never),
        cmocka_unit_test(what_is_late_is_not_played_to_the_end),
        cmocka_unit_test(a_plan_says_how_often_it_saves),
        cmocka_unit_test(other_machines_are_planned_on),
        cmocka_unit_test(where_nothing_ends_it_is_infeasible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
