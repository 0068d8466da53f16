// How large a shared cluster should be.
#include "check.h"

#include "engine/sharing/autoscales.h"
#include "engine/sharing/size_deadlines.h"
#include "engine/sharing/size_speedup.h"

#include <math.h>
#include <string.h>

enum { GPUS = 4, MAX_NODES = 8 };

// Speed-up K^power, and nothing beyond eight GPUs.
static double scales(const void *arg, int nodes, int gpus)
{
    (void)nodes;
    return pow(gpus < 8 ? gpus : 8, *(const double *)arg);
}

// Only whole nodes beyond the first.
static double whole_nodes(const void *arg, int nodes, int gpus)
{
    (void)arg;
    return nodes == 1 || gpus % GPUS == 0 ? gpus : 0;
}

static struct rb_shared_job job(double (*rate)(const void *, int, int), const double *power, int64_t age_s)
{
    return (struct rb_shared_job){.min_gpus = 1,
                                  .max_gpus = 64,
                                  .rate = rate,
                                  .arg = power,
                                  .age_us = age_s * 1000000,
                                  .deadline_us = INT64_MAX,
                                  .weight = 1};
}

static void the_sum_is_that_of_the_best_division(void **state)
{
    (void)state;
    static const double linear = 1, root = 0.5;
    const struct rb_shared_job jobs[] = {job(scales, &linear, 0), job(scales, &root, 0)};
    const struct rb_autoscale_view view = {.jobs = jobs, .n_jobs = 2};
    double out[MAX_NODES + 1];
    rb_size_speedup(&view, MAX_NODES, GPUS, out);
    for (int n = 0; n <= MAX_NODES; n++) {
        double best = 0;
        for (int first = 0; first <= n * GPUS; first++) {
            const int rest = n * GPUS - first;
            best = fmax(best, (first ? scales(&linear, 1, first) : 0) + (rest ? scales(&root, 1, rest) : 0));
        }
        assert_true(fabs(out[n] - best) < 1e-9);
    }
}

static void steps_may_be_of_whole_nodes(void **state)
{
    (void)state;
    const struct rb_shared_job jobs[] = {job(whole_nodes, NULL, 0)};
    const struct rb_autoscale_view view = {.jobs = jobs, .n_jobs = 1};
    double out[4];
    rb_size_speedup(&view, 3, GPUS, out);
    assert_true(out[1] == 4 && out[2] == 8 && out[3] == 12);
}

static void without_a_model_a_job_scales_as_far_as_it_may_be_asked(void **state)
{
    (void)state;
    struct rb_shared_job jobs[] = {job(NULL, NULL, 0)};
    jobs[0].max_gpus = 6;
    const struct rb_autoscale_view view = {.jobs = jobs, .n_jobs = 1};
    double out[4];
    rb_size_speedup(&view, 3, GPUS, out);
    assert_true(out[1] == 4 && out[2] == 6 && out[3] == 6);
}

static int decide(const struct rb_autoscale *rule, double least_worth, const struct rb_shared_job *jobs, int n_jobs,
                  int n_owned)
{
    struct rb_err err;
    void *state;
    const struct rb_autoscale_options options = {.min_nodes = 1,
                                                 .max_nodes = MAX_NODES,
                                                 .gpus_per_node = GPUS,
                                                 .provision_us = 120000000,
                                                 .restart_us = 30000000,
                                                 .round_us = 60000000,
                                                 .least_worth = least_worth};
    assert_true(rule->create(&options, &state, &err));
    const struct rb_autoscale_view view = {.n_owned = n_owned, .jobs = jobs, .n_jobs = n_jobs};
    const int nodes = rule->decide(state, 0, &view);
    rule->destroy(state);
    return nodes;
}

// Linear up to eight GPUs: two nodes are worth 1, four 1/2, five 0.4.
static void the_published_rule_grows_to_where_a_gpu_is_worth_half(void **state)
{
    (void)state;
    static const double linear = 1;
    const struct rb_shared_job jobs[] = {job(scales, &linear, 0)};
    assert_int_equal(decide(&rb_autoscale_utility, 0.5, jobs, 1, 1), 4);
    assert_int_equal(decide(&rb_autoscale_utility, 0.5, jobs, 1, 3), 3); // 2/3: neither grows nor shrinks
    assert_int_equal(decide(&rb_autoscale_utility, 0.5, jobs, 1, 8), 4);
    assert_int_equal(decide(&rb_autoscale_utility, 0.5, jobs, 0, 8), 1);
}

// The third node would add nothing, however well the three of them look together.
static void ours_stops_where_the_last_node_adds_nothing(void **state)
{
    (void)state;
    static const double linear = 1;
    const struct rb_shared_job jobs[] = {job(scales, &linear, 3600)};
    for (int owned = 1; owned <= MAX_NODES; owned++)
        assert_int_equal(decide(&rb_autoscale_marginal, 0.25, jobs, 1, owned), 2);
    assert_int_equal(decide(&rb_autoscale_marginal, 0.25, jobs, 0, 8), 1);
}

// What a job has not been there for it is not expected to stay for.
static void ours_does_not_move_jobs_for_a_little_more(void **state)
{
    (void)state;
    static const double flat = 0.35;
    const struct rb_shared_job young[] = {job(scales, &flat, 0)}, old[] = {job(scales, &flat, 36000)};
    assert_int_equal(decide(&rb_autoscale_marginal, 0.05, young, 1, 1), 1);
    assert_int_equal(decide(&rb_autoscale_marginal, 0.05, old, 1, 1), 2);
}

// 3,600 units in an hour take a GPU without a boot; with two minutes of it, and half a minute of being moved, more.
static void deadlines_come_first(void **state)
{
    (void)state;
    static const double linear = 1;
    struct rb_shared_job jobs[] = {job(scales, &linear, 0), job(scales, &linear, 0)};
    struct rb_autoscale_options options = {.min_nodes = 1, .max_nodes = MAX_NODES, .gpus_per_node = GPUS};
    const struct rb_autoscale_view view = {.jobs = jobs, .n_jobs = 2, .n_owned = 1};
    jobs[0].deadline_us = jobs[1].deadline_us = INT64_MAX;
    assert_int_equal(rb_size_for_deadlines(&view, &options), 0);
    jobs[0].deadline_us = INT64_C(3600) * 1000000;
    jobs[0].left = 3600 * 3;
    assert_int_equal(rb_size_for_deadlines(&view, &options), 1); // three GPUs, and one for the other job
    options.late_provision_us = 120000000;
    options.restart_us = 30000000;
    assert_int_equal(rb_size_for_deadlines(&view, &options), 2); // four, and one
    jobs[0].left = 3600 * 9; // more than eight GPUs come to: eight, and one
    assert_int_equal(rb_size_for_deadlines(&view, &options), 3);
    jobs[0].age_us = jobs[0].deadline_us - 100000000;
    assert_int_equal(rb_size_for_deadlines(&view, &options), 0); // a node would come too late
    jobs[0].age_us = 0;
    jobs[0].left = 3600 * 3;
    assert_int_equal(decide(&rb_autoscale_marginal, 0.9, jobs, 2, 1), 2);
}

static void rules_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(rb_autoscale_find("utility"), &rb_autoscale_utility);
    assert_null(rb_autoscale_find("largest"));
    for (int i = 1; rb_autoscales[i]; i++)
        assert_true(strcmp(rb_autoscales[i - 1]->name, rb_autoscales[i]->name) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sum_is_that_of_the_best_division),
        cmocka_unit_test(steps_may_be_of_whole_nodes),
        cmocka_unit_test(without_a_model_a_job_scales_as_far_as_it_may_be_asked),
        cmocka_unit_test(the_published_rule_grows_to_where_a_gpu_is_worth_half),
        cmocka_unit_test(ours_stops_where_the_last_node_adds_nothing),
        cmocka_unit_test(ours_does_not_move_jobs_for_a_little_more),
        cmocka_unit_test(deadlines_come_first),
        cmocka_unit_test(rules_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
