// The stage model against numbers worked out without it: by hand where nothing is random, by formula where it is.
#include "small_scenario.h"

#include "simulator/model/draws.h"
#include "simulator/world/world.h"

#include <math.h>

#define N      20000
#define SIGMAS 4.5 // beyond it once in 100000 checks; seeds are fixed

static void expect(struct small_scenario *s, double time_s, int64_t cost_uusd)
{
    const struct rb_world_options opt = {.deadline_us = -1, .budget_uusd = -1};
    struct rb_world_result world;
    struct rb_err err;
    small_scenario_compile(s, 1);
    const struct rb_replicate fast = small_scenario_run(s, 0);
    if (!rb_world_run(&s->scenario, &s->p.plan, &opt, &world, &err))
        fail_msg("%s", err.message);
    assert_int_equal(fast.time_us, llrint(time_s * 1e6));
    assert_int_equal(fast.cost_uusd, cost_uusd);
    assert_int_equal(world.time_us, fast.time_us);
    assert_int_equal(world.cost_uusd, fast.cost_uusd);
    small_scenario_finish(s);
}

// ---- nothing is random: by hand

static void three_stages(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    // Ready at 15; stage 0 ends at 15 + 2 + 10 + 1 = 28, stage 1 at 41, stage 2 (two units) at 64.
    // Node 0 runs from 5 to 64, node 1 from 5 to 28: both are billed the minimum of 60 s.
    expect(&s, 64, 2 * 60000);
}

static void two_waves(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 4, 3, 1);
    expect(&s, 15 + 2 * 33, 76 * 1000); // from 5 to 81
}

static void a_late_node_takes_over_part_of_the_second_wave(void **state)
{
    (void)state;
    struct small_scenario s;
    struct rb_provisioning rows[2];
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 5, 3, 1);
    rows[0] = rows[1] = s.provisioning;
    rows[0].market = "spot";
    rows[0].init_s = rb_dist_constant(70); // ready at 75, when three trials of the first node are under way
    s.p.profile.provisioning = rows;
    s.p.profile.n_provisioning = 2;
    s.p.nodes[0][1] = (struct rb_plan_nodes){.offer = SMALL_SPOT, .count = 1};
    s.p.stages[0].n_nodes = 2;
    // 0 and 1 start at 15, 2 and 3 at 48, 4 on the late node at 75.
    expect(&s, 75 + 33, 2 * 103 * 1000);
}

static void more_gpus_for_each(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 2, 1, 2);
    s.p.stages[0].gpus_per_trial = 2; // 10 s / 1.8, to the nearest microsecond
    expect(&s, 15 + 3 + 5.555556, 2 * 60000);
}

static void gangs_over_two_nodes(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 2, 1, 3); // 3 nodes hold one gang of 4 GPUs
    s.p.stages[0].gpus_per_trial = 4;
    expect(&s, 15 + 2 * (3 + 4), 3 * 60000);
}

static void a_new_type_means_waiting_again(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    s.p.nodes[1][0].offer = LARGE;
    s.p.nodes[2][0].offer = LARGE;
    // Stage 1 starts at 28: the large node runs at 33, is ready at 43; ends at 56; stage 2 at 79.
    expect(&s, 79, 3 * 60000);
}

static void early_nodes_are_there_at_the_barrier(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    s.p.nodes[1][0].offer = LARGE;
    s.p.nodes[2][0].offer = LARGE;
    s.p.early[0] = (struct rb_plan_early){.offer = LARGE, .count = 1, .at_us = 13 * RB_US_PER_S};
    s.p.stages[0].n_early = 1;
    // Requested at 13, runs at 18, ready at 28, exactly at the barrier.
    expect(&s, 64, 3 * 60000);
}

static void disk_and_data_are_billed(void **state)
{
    (void)state;
    struct small_scenario s;
    struct rb_disk_price disk = {.infra = "aws/us-east-1", .per_gb = {360}};
    struct rb_catalog catalog = {.disks = &disk, .n_disks = 1};
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 1, 10, 1);
    s.p.job.resources.disk_bytes = INT64_C(199500000000); // 200 GB begun
    s.p.job.data_bytes = INT64_C(150000000000);
    s.p.job.data_uusd_per_gb = 20000;
    s.p.plan.catalog = &catalog;
    // From 5 to 15 + 103 = 118: 113 s at 1000; 113 s x 200 GB x 0.1 a second; 150 GB x 20000 once.
    expect(&s, 118, 113 * 1000 + 113 * 20 + 150 * 20000);
}

static void a_request_withdrawn_costs_nothing(void **state)
{
    (void)state;
    struct small_scenario s;
    struct rb_provisioning rows[2];
    small_scenario_make(&s);
    rows[0] = rows[1] = s.provisioning;
    rows[0].instance_type = "large";
    rows[0].queue_s = rb_dist_constant(1000);
    s.p.profile.provisioning = rows;
    s.p.profile.n_provisioning = 2;
    s.p.early[0] = (struct rb_plan_early){.offer = LARGE, .count = 2, .at_us = 20 * RB_US_PER_S};
    s.p.stages[0].n_early = 1;
    expect(&s, 64, 2 * 60000);
}

// ---- one random thing at a time: by formula

struct moments {
    double mean, variance;
};

static struct moments time_moments(struct small_scenario *s)
{
    double sum = 0, squares = 0;
    for (uint32_t r = 0; r < N; r++) {
        const double t = (double)small_scenario_run(s, r).time_us / 1e6;
        sum += t;
        squares += t * t;
    }
    const double mean = sum / N;
    return (struct moments){mean, squares / N - mean * mean};
}

static void assert_mean(struct moments got, double mean)
{
    const double se = sqrt(got.variance / N);
    if (fabs(got.mean - mean) > SIGMAS * se)
        fail_msg("mean %.4f, expected %.4f (standard error %.4f)", got.mean, mean, se);
}

static void the_time_of_one_trial(void **state)
{
    (void)state;
    struct small_scenario s;
    const double units = 20, base = 10;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 1, (int64_t)units, 1);
    s.p.profile.startup_s = small_dist(RB_DIST_GAMMA, 8, 0.5);
    s.p.profile.checkpoint_s = small_dist(RB_DIST_EXPONENTIAL, 4, 1);
    s.p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.2);
    s.p.profile.within = small_dist(RB_DIST_WEIBULL, 1, 0.3);
    small_scenario_compile(&s, 7);
    const struct moments got = time_moments(&s);
    // Var(B W) = E[B^2] E[W^2] - (E B E W)^2 with W the sum of the units.
    const double between_square = 1 + 0.2 * 0.2, units_square = units * 0.3 * 0.3 + units * units;
    const double variance = 16 + 16 + base * base * (between_square * units_square - units * units);
    assert_mean(got, 15 + 8 + base * units + 4);
    assert_true(fabs(got.variance / variance - 1) < 0.05);
    small_scenario_finish(&s);
}

// All k trials start at once: P(stage <= t) = F(t)^k.
static void a_barrier_over_equal_trials(void **state)
{
    (void)state;
    static const double levels[] = {0.05, 0.5, 0.95};
    for (int k = 1; k <= 16; k *= 2) {
        struct small_scenario s;
        int below[N_OF(levels)] = {0};
        small_scenario_make(&s);
        small_scenario_one_stage(&s, k, 1, (k + 1) / 2);
        s.p.job.resources.max_nodes = 16;
        s.p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.4);
        small_scenario_compile(&s, (uint64_t)k);
        for (uint32_t r = 0; r < N; r++) {
            const double factor = ((double)small_scenario_run(&s, r).time_us / 1e6 - 18) / 10;
            for (size_t i = 0; i < N_OF(levels); i++)
                below[i] += factor <= rb_dist_quantile(&s.p.profile.between, pow(levels[i], 1.0 / k));
        }
        for (size_t i = 0; i < N_OF(levels); i++) {
            const double se = sqrt(levels[i] * (1 - levels[i]) / N);
            if (fabs((double)below[i] / N - levels[i]) > SIGMAS * se)
                fail_msg("%d trials: P = %.4f, expected %.2f", k, (double)below[i] / N, levels[i]);
        }
        small_scenario_finish(&s);
    }
}

// The number of requests is geometric: each costs one queueing delay.
static void refused_requests_are_geometric(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 1, 1, 1);
    s.provisioning.capacity_failure = 0.4;
    small_scenario_compile(&s, 3);
    const struct moments got = time_moments(&s);
    assert_mean(got, 5 / (1 - 0.4) + 10 + 13);
    assert_true(fabs(got.variance / (25 * 0.4 / (0.6 * 0.6)) - 1) < 0.05);
    small_scenario_finish(&s);
}

// A node lives X ~ Exp(rate) from running; the trial is through when X > a = initialisation + its time. Every life that is
// too short costs E[X | X < a] and another queueing delay.
static void preemption_repeats_the_stage(void **state)
{
    (void)state;
    struct small_scenario s;
    const double a = 10 + 3 + 10 * 6, rate = 30.0 / 3600;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 1, 6, 1);
    s.provisioning.preemption_per_hour = 30;
    small_scenario_compile(&s, 5);
    const double p = exp(-rate * a), short_life = 1 / rate - a * p / (1 - p);
    assert_mean(time_moments(&s), 5 + a + (1 / p - 1) * (short_life + 5));
    small_scenario_finish(&s);
}

// The same where the losses an hour depend on age: the chance to live to a is exp(-H), and the mean life below a follows
// from the area under the chance to live on.
static void preemption_by_age_repeats_the_stage(void **state)
{
    (void)state;
    static const struct rb_hazard_step later[] = {{20, 15}, {50, 30}};
    static const double to_s[] = {20, 50, 73}, per_hour[] = {60, 15, 30};
    const struct rb_spells spells = {.hazard = {.per_hour = 60, .later = later, .n_later = 2}};
    struct small_scenario s;
    double kept = 1, area = 0, from_s = 0;
    for (int i = 0; i < 3; i++) {
        const double rate = per_hour[i] / 3600, through = exp(-rate * (to_s[i] - from_s));
        area += kept * (1 - through) / rate;
        kept *= through;
        from_s = to_s[i];
    }
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 1, 6, 1);
    s.provisioning.spells = &spells;
    small_scenario_compile(&s, 5);
    assert_mean(time_moments(&s), 5 + 73 + (1 / kept - 1) * ((area - 73 * kept) / (1 - kept) + 5));
    small_scenario_finish(&s);
}

// With saves after the second and the fourth of six units a loss repeats two units. A life ends a new node's stretch if it is
// shorter than x[1] (initialisation, start-up, two units, a save), the next if shorter than x[2], and so on: t[n] is the mean
// time from a request on with n stretches to go.
static void preemption_with_saves_repeats_a_stretch(void **state)
{
    (void)state;
    static const double x[] = {0, 10 + 2 + 20 + 1, 33 + 21, 54 + 21};
    struct small_scenario s;
    const double rate = 60.0 / 3600;
    double t[4] = {0};
    for (int n = 1; n <= 3; n++) {
        t[n] = 5 + (1 - exp(-rate * x[n])) / rate;
        for (int j = 1; j < n; j++)
            t[n] += (exp(-rate * x[j]) - exp(-rate * x[j + 1])) * t[n - j];
        t[n] /= exp(-rate * x[1]);
    }
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 1, 6, 1);
    s.provisioning.preemption_per_hour = 60;
    s.p.job.checkpoint_every_us = 20 * RB_US_PER_S;
    small_scenario_compile(&s, 5);
    assert_mean(time_moments(&s), t[3]);
    small_scenario_finish(&s);
}

// Four nodes that always go together are lost like one: all are new at once, and so are all that replace them.
static void nodes_that_go_together_are_lost_like_one(void **state)
{
    (void)state;
    const struct rb_spells spells = {.together = 1, .hazard = {.per_hour = 30}};
    struct small_scenario s;
    const double a = 10 + 3 + 10 * 6, rate = 30.0 / 3600;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 8, 6, 4);
    s.provisioning.spells = &spells;
    small_scenario_compile(&s, 5);
    const double p = exp(-rate * a), short_life = 1 / rate - a * p / (1 - p);
    assert_mean(time_moments(&s), 5 + a + (1 / p - 1) * (short_life + 5));
    small_scenario_finish(&s);
}

static void a_measured_mean_may_be_off(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 4, 10, 2);
    s.p.training.relative_error = 0.1;
    small_scenario_compile(&s, 11);
    const struct moments got = time_moments(&s);
    assert_mean(got, 18 + 100); // one factor for all four trials: no maximum of several
    assert_true(fabs(got.variance / 100 - 1) < 0.05);
    small_scenario_finish(&s);
}

static void a_measured_start_up_may_be_off(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 4, 10, 2);
    s.p.profile.startup_s.relative_error = 0.5; // of 2 s: a standard deviation of 1 s
    s.p.profile.checkpoint_s.relative_error = 0.3;
    s.provisioning.init_s.relative_error = 0.1; // of 10 s
    small_scenario_compile(&s, 11);
    const struct moments got = time_moments(&s);
    assert_mean(got, 18 + 100);
    assert_true(fabs(got.variance / (1 + 0.09 + 1) - 1) < 0.08);
    small_scenario_finish(&s);
}

static void a_script_that_does_not_resume_trains_everything_again(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    s.p.plan.n_stages = 2;
    small_scenario_compile(&s, 3);
    const int64_t resumed_us = small_scenario_run(&s, 0).time_us;
    small_scenario_finish(&s);
    s.p.profile.restarts = true;
    small_scenario_compile(&s, 3);
    const struct rb_plan_stage *second = &s.p.stages[1];
    double unit_s;
    assert_true(rb_scenario_unit_s(&s.scenario, second->nodes[0].offer, second->gpus_per_trial, &unit_s, NULL));
    assert_true(second->resource_start > 0);
    const int64_t again_us = rb_us_from_seconds((double)second->resource_start * unit_s);
    assert_int_equal(small_scenario_run(&s, 0).time_us, resumed_us + second->waves * again_us);
    small_scenario_finish(&s);
}

static void new_nodes_read_the_data_and_are_paid_for_it(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 2, 10, 2);
    s.p.job.data_bytes = INT64_C(5000000000000);
    small_scenario_compile(&s, 3);
    const struct rb_replicate free_of_time = small_scenario_run(&s, 0);
    small_scenario_finish(&s);
    s.p.job.data_bytes_per_s = 1000000000;
    small_scenario_compile(&s, 3);
    const struct rb_replicate read = small_scenario_run(&s, 0);
    assert_int_equal(read.time_us - free_of_time.time_us, 5000 * RB_US_PER_S);
    assert_true(read.cost_uusd > free_of_time.cost_uusd);
    small_scenario_finish(&s);
}

// Likewise where earlier runs have measured how long: for this command, on these machines.
static void measured_readings_are_paid_for(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 2, 10, 2);
    small_scenario_compile(&s, 3);
    const struct rb_replicate without = small_scenario_run(&s, 0);
    small_scenario_finish(&s);
    const struct rb_offer *o = &s.p.offers[s.p.nodes[0][0].offer];
    struct rb_reading reading = {.fetch = "sync", .infra = o->infra, .instance_type = o->instance_type,
                                 .bytes = 1000, .read_s = rb_dist_constant(40), .nodes = 3};
    s.p.profile.readings = &reading;
    s.p.profile.n_readings = 1;
    s.p.job.data_bytes = 2000;
    s.p.job.data_fetch = "sync";
    for (int i = 0; i < 2; i++) {
        small_scenario_compile(&s, 3);
        const struct rb_replicate read = small_scenario_run(&s, 0);
        assert_int_equal(read.time_us - without.time_us, (i == 0 ? 80 : 0) * RB_US_PER_S);
        small_scenario_finish(&s);
        s.p.job.data_fetch = "sync --all"; // of which nothing is known
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_readings_are_paid_for),
        cmocka_unit_test(three_stages),
        cmocka_unit_test(two_waves),
        cmocka_unit_test(a_late_node_takes_over_part_of_the_second_wave),
        cmocka_unit_test(more_gpus_for_each),
        cmocka_unit_test(gangs_over_two_nodes),
        cmocka_unit_test(a_new_type_means_waiting_again),
        cmocka_unit_test(early_nodes_are_there_at_the_barrier),
        cmocka_unit_test(disk_and_data_are_billed),
        cmocka_unit_test(a_request_withdrawn_costs_nothing),
        cmocka_unit_test(the_time_of_one_trial),
        cmocka_unit_test(a_barrier_over_equal_trials),
        cmocka_unit_test(refused_requests_are_geometric),
        cmocka_unit_test(preemption_repeats_the_stage),
        cmocka_unit_test(preemption_by_age_repeats_the_stage),
        cmocka_unit_test(preemption_with_saves_repeats_a_stretch),
        cmocka_unit_test(nodes_that_go_together_are_lost_like_one),
        cmocka_unit_test(a_measured_mean_may_be_off),
        cmocka_unit_test(a_measured_start_up_may_be_off),
        cmocka_unit_test(a_script_that_does_not_resume_trains_everything_again),
        cmocka_unit_test(new_nodes_read_the_data_and_are_paid_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
