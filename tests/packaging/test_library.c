// librubberband through its public header alone: the same answers from files and from memory, plans and estimates that agree
// with each other, errors that say what and where, handles that threads share.
#include "include/rubberband.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BERT SOURCE_ROOT "/examples/bert/"
#define AWS  SOURCE_ROOT "/examples/prices/aws-us-east-1.csv"

struct asked {
    struct rubberband_job *job;
    struct rubberband_profile *profile;
    struct rubberband_prices *prices;
    struct rubberband_request *request;
    struct rubberband_error *error;
};

static char *read_all(const char *path, size_t *out_n)
{
    FILE *f = fopen(path, "rb");
    char *bytes = malloc(1 << 20);
    assert_non_null(f);
    assert_non_null(bytes);
    *out_n = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    return bytes;
}

static void ask(struct asked *a, const char *const *overrides, int n)
{
    a->error = rubberband_error_new();
    a->prices = rubberband_prices_new();
    if (rubberband_job_load(BERT "job.yaml", overrides, n, &a->job, a->error) != RUBBERBAND_OK ||
        rubberband_profile_load(BERT "profile.yaml", &a->profile, a->error) != RUBBERBAND_OK ||
        rubberband_prices_load(a->prices, AWS, a->error) != RUBBERBAND_OK)
        fail_msg("%s", rubberband_error_message(a->error));
    a->request = rubberband_request_new(a->job, a->profile, a->prices);
}

static void put_back(struct asked *a)
{
    rubberband_request_free(a->request);
    rubberband_prices_free(a->prices);
    rubberband_profile_free(a->profile);
    rubberband_job_free(a->job);
    rubberband_error_free(a->error);
}

static struct rubberband_plan *find(const struct asked *a)
{
    struct rubberband_plan *plan = NULL;
    if (rubberband_find_plan(a->request, &plan, a->error) != RUBBERBAND_OK)
        fail_msg("%s", rubberband_error_message(a->error));
    return plan;
}

static void memory_and_files_give_the_same_plan(void **state)
{
    (void)state;
    struct asked files, memory = {0};
    size_t n_job, n_profile, n_prices;
    char *job = read_all(BERT "job.yaml", &n_job), *profile = read_all(BERT "profile.yaml", &n_profile);
    char *prices = read_all(AWS, &n_prices);
    ask(&files, NULL, 0);
    memory.prices = rubberband_prices_new();
    assert_int_equal(rubberband_job_parse("job.yaml", job, n_job, NULL, 0, &memory.job, NULL), RUBBERBAND_OK);
    assert_int_equal(rubberband_profile_parse("bert.yaml", profile, n_profile, &memory.profile, NULL), RUBBERBAND_OK);
    assert_int_equal(rubberband_prices_parse(memory.prices, "aws.csv", prices, n_prices, NULL), RUBBERBAND_OK);
    free(job);
    free(profile);
    free(prices);
    memory.request = rubberband_request_new(memory.job, memory.profile, memory.prices);
    struct rubberband_plan *a = find(&files), *b = find(&memory);
    assert_string_equal(rubberband_estimate_json(rubberband_plan_estimate(a)),
                        rubberband_estimate_json(rubberband_plan_estimate(b)));
    assert_string_equal(rubberband_job_json(files.job), rubberband_job_json(memory.job));
    assert_non_null(strstr(rubberband_plan_json(a), BERT "job.yaml"));
    assert_non_null(strstr(rubberband_plan_json(b), "\"path\":\"\""));
    rubberband_plan_free(a);
    rubberband_plan_free(b);
    put_back(&files);
    put_back(&memory);
}

static void assert_near(int64_t a, int64_t b)
{
    assert_true(llabs((long long)(a - b)) <= 1 + a / 100000);
}

// Every figure of the whole and of each stage. A search may know some laws more finely than a single estimate asks for: means of
// dynamic schedules then differ by some millionths, far below what either says of its own error.
static void assert_same_estimates(const struct rubberband_estimate *a, const struct rubberband_estimate *b)
{
    assert_int_equal(rubberband_estimate_n_stages(a), rubberband_estimate_n_stages(b));
    assert_true(fabs(rubberband_estimate_p_both(a) - rubberband_estimate_p_both(b)) < 1e-6);
    for (int i = RUBBERBAND_MEAN; i <= RUBBERBAND_P99; i++) {
        const enum rubberband_figure f = (enum rubberband_figure)i;
        assert_near(rubberband_estimate_time_us(a, f), rubberband_estimate_time_us(b, f));
        assert_near(rubberband_estimate_cost_uusd(a, f), rubberband_estimate_cost_uusd(b, f));
        for (int s = 0; s < rubberband_estimate_n_stages(a); s++) {
            assert_near(rubberband_estimate_stage_time_us(a, s, f), rubberband_estimate_stage_time_us(b, s, f));
            assert_near(rubberband_estimate_stage_cost_uusd(a, s, f), rubberband_estimate_stage_cost_uusd(b, s, f));
        }
    }
}

static void the_estimate_of_a_plan_s_allocation_is_the_plan_s_own(void **state)
{
    (void)state;
    static const char *const planners[] = {"static", "naive", "greedy"}; // these request no node early
    static const char *const overrides[] = {"deadline=3h", "budget=100"};
    for (size_t p = 0; p < sizeof planners / sizeof planners[0]; p++) {
        struct asked a;
        struct rubberband_estimate *again = NULL;
        ask(&a, overrides, 2);
        assert_int_equal(rubberband_request_set_planner(a.request, planners[p]), RUBBERBAND_OK);
        struct rubberband_plan *plan = find(&a);
        assert_int_equal(rubberband_estimate_plan(a.request, rubberband_plan_allocation(plan), &again, a.error),
                         RUBBERBAND_OK);
        assert_same_estimates(rubberband_plan_estimate(plan), again);
        rubberband_estimate_free(again);
        rubberband_plan_free(plan);
        put_back(&a);
    }
}

static void results_can_be_read_stage_by_stage(void **state)
{
    (void)state;
    struct asked a;
    ask(&a, NULL, 0);
    struct rubberband_plan *plan = find(&a);
    const struct rubberband_estimate *e = rubberband_plan_estimate(plan);
    const struct rubberband_allocation *nodes = rubberband_plan_allocation(plan);
    const int n = rubberband_estimate_n_stages(e);
    assert_int_equal(n, 4); // 27 trials, eta 3, 1 to 27 units
    assert_int_equal(rubberband_allocation_n_stages(nodes), n);
    assert_int_equal(rubberband_estimate_stage_trials(e, 0), 27);
    assert_int_equal(rubberband_estimate_stage_resource_start(e, 0), 0);
    assert_int_equal(rubberband_estimate_stage_resource_end(e, n - 1), 27);
    for (int i = 0; i < n; i++) {
        assert_int_equal(strncmp(rubberband_allocation_infra(nodes, i), "aws/", 4), 0);
        assert_true(rubberband_allocation_nodes(nodes, i) >= 1 && rubberband_allocation_gpus_per_trial(nodes, i) >= 1);
        assert_true(rubberband_estimate_stage_time_us(e, i, RUBBERBAND_P50) <=
                    rubberband_estimate_stage_time_us(e, i, RUBBERBAND_P95));
    }
    assert_true(rubberband_estimate_time_us(e, RUBBERBAND_P5) < rubberband_estimate_time_us(e, RUBBERBAND_P99));
    assert_true(rubberband_estimate_p_both(e) >= 0.95);
    assert_true(rubberband_estimate_p_budget(e) >= 1); // none was asked for
    assert_true(rubberband_plan_bound_uusd(plan) > 0);
    assert_true(rubberband_plan_bound_uusd(plan) <= rubberband_estimate_cost_uusd(e, RUBBERBAND_MEAN));
    assert_true(rubberband_plan_n_warnings(plan) >= 1 && rubberband_plan_warning(plan, 0)[0]);
    rubberband_plan_free(plan);
    put_back(&a);
}

static void infeasible_requests_name_the_nearest(void **state)
{
    (void)state;
    static const char *const tight[] = {"deadline=10m"};
    char near[64];
    const char *const nearest[] = {near};
    struct asked a, b;
    struct rubberband_plan *plan = NULL;
    ask(&a, tight, 1);
    assert_int_equal(rubberband_find_plan(a.request, &plan, a.error), RUBBERBAND_INFEASIBLE);
    assert_null(plan);
    assert_int_equal(rubberband_error_status(a.error), RUBBERBAND_INFEASIBLE);
    assert_string_equal(rubberband_error_name(a.error), "infeasible");
    assert_int_equal(rubberband_error_number(a.error), 2001);
    assert_true(rubberband_error_nearest_deadline_us(a.error) > INT64_C(600000000));
    assert_int_equal(rubberband_error_nearest_budget_uusd(a.error), -1);
    // What it names does.
    snprintf(near, sizeof near, "deadline=%llds", (long long)rubberband_error_nearest_deadline_us(a.error) / 1000000);
    ask(&b, nearest, 1);
    rubberband_plan_free(find(&b));
    put_back(&a);
    put_back(&b);
}

static void errors_say_what_and_where(void **state)
{
    (void)state;
    struct rubberband_error *error = rubberband_error_new();
    struct rubberband_job *job = NULL;
    struct rubberband_prices *prices = rubberband_prices_new();
    static const char text[] = "name: a\nmetric: {name: x, goal: maximise}\n", csv[] = "infra,instance_type\naws/a,b\n";
    assert_int_equal(rubberband_error_status(error), RUBBERBAND_OK);
    assert_string_equal(rubberband_error_message(error), "");
    assert_int_equal(rubberband_error_number(error), 0);
    assert_string_equal(rubberband_error_remedy(error), "");
    assert_int_equal(rubberband_job_parse("inline", text, strlen(text), NULL, 0, &job, error), RUBBERBAND_INVALID);
    assert_null(job);
    assert_string_equal(rubberband_error_file(error), "inline");
    assert_int_equal(rubberband_error_line(error), 2);
    assert_true(rubberband_error_column(error) > 1);
    assert_string_equal(rubberband_error_key(error), "metric.goal");
    assert_non_null(strstr(rubberband_error_message(error), "maximize"));
    assert_non_null(strstr(rubberband_error_remedy(error), "."));
    assert_int_equal(rubberband_job_load("/nowhere/job.yaml", NULL, 0, &job, error), RUBBERBAND_FAILED);
    assert_non_null(strstr(rubberband_error_message(error), "/nowhere/job.yaml"));
    assert_int_equal(rubberband_prices_parse(prices, "p.csv", csv, strlen(csv), error), RUBBERBAND_INVALID);
    assert_int_equal(rubberband_prices_count(prices), 0);
    assert_int_equal(rubberband_job_load(BERT "job.yaml", (const char *const[]){"scheduler.etta=4"}, 1, &job, NULL),
                     RUBBERBAND_INVALID); // without asking why
    rubberband_prices_free(prices);
    rubberband_error_free(error);
}

static void check_refused(const struct asked *a, int n, const char *type, int nodes, int gpus, const char *expected)
{
    struct rubberband_allocation *allocation = rubberband_allocation_new();
    struct rubberband_estimate *e = NULL;
    for (int i = 0; i < n; i++)
        assert_int_equal(rubberband_allocation_add(allocation, "aws/us-east-1", type, "on_demand", nodes, gpus),
                         RUBBERBAND_OK);
    assert_int_equal(rubberband_estimate_plan(a->request, allocation, &e, a->error), RUBBERBAND_INVALID);
    assert_null(e);
    if (!strstr(rubberband_error_message(a->error), expected))
        fail_msg("expected \"%s\" in \"%s\"", expected, rubberband_error_message(a->error));
    rubberband_allocation_free(allocation);
}

static void allocations_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct asked a;
    ask(&a, NULL, 0);
    check_refused(&a, 3, "g4dn.xlarge", 4, 1, "expected 4 stages");
    check_refused(&a, 4, "g4dn.nothing", 4, 1, "g4dn.nothing");
    check_refused(&a, 4, "g4dn.xlarge", 4, 3, "3 GPUs per trial");
    check_refused(&a, 4, "g4dn.xlarge", 5000, 1, "got 5000");
    struct rubberband_allocation *allocation = rubberband_allocation_new();
    assert_int_equal(rubberband_allocation_add(allocation, "aws/us-east-1", "g4dn.xlarge", "on-demand", 1, 1),
                     RUBBERBAND_INVALID);
    assert_int_equal(rubberband_allocation_add(allocation, "aws/us-east-1", "g4dn.xlarge", "spot", 0, 1),
                     RUBBERBAND_INVALID);
    assert_int_equal(rubberband_allocation_n_stages(allocation), 0);
    rubberband_allocation_free(allocation);
    put_back(&a);
}

static void settings_have_ranges(void **state)
{
    (void)state;
    struct asked a;
    ask(&a, NULL, 0);
    assert_int_equal(rubberband_request_set_samples(a.request, 31), RUBBERBAND_INVALID);
    assert_int_equal(rubberband_request_set_threads(a.request, 0), RUBBERBAND_INVALID);
    assert_int_equal(rubberband_request_set_planner(a.request, "best"), RUBBERBAND_INVALID);
    assert_int_equal(rubberband_request_set_time_limit_us(a.request, -1), RUBBERBAND_INVALID);
    assert_int_equal(rubberband_request_set_node_limit(a.request, -1), RUBBERBAND_INVALID);
    assert_int_equal(rubberband_request_set_samples(a.request, 256), RUBBERBAND_OK);
    assert_int_equal(rubberband_request_set_time_limit_us(a.request, 20000000), RUBBERBAND_OK);
    struct rubberband_plan *plan = find(&a);
    assert_non_null(strstr(rubberband_estimate_json(rubberband_plan_estimate(plan)), "\"samples\":256"));
    rubberband_plan_free(plan);
    put_back(&a);
}

static void a_guess_replaces_a_profile(void **state)
{
    (void)state;
    static const char *const guess[] = {"guess={unit: 4m, on: A10G}", "deadline=12h"};
    struct asked with, without;
    struct rubberband_profile *guessed = NULL;
    ask(&with, guess, 2);
    ask(&without, NULL, 0);
    assert_int_equal(rubberband_profile_guess(without.job, without.prices, &guessed, without.error), RUBBERBAND_FAILED);
    assert_int_equal(rubberband_error_number(without.error), 1301);
    assert_null(guessed);
    assert_int_equal(rubberband_profile_guess(with.job, with.prices, &guessed, with.error), RUBBERBAND_OK);
    struct rubberband_request *request = rubberband_request_new(with.job, guessed, with.prices);
    struct rubberband_plan *plan = NULL;
    if (rubberband_find_plan(request, &plan, with.error) != RUBBERBAND_OK)
        fail_msg("%s", rubberband_error_message(with.error));
    assert_non_null(strstr(rubberband_plan_json(plan), "\"from\":\"a feeling\""));
    assert_non_null(strstr(rubberband_plan_json(plan), "\"proved\":false"));
    rubberband_plan_free(plan);
    rubberband_request_free(request);
    rubberband_profile_free(guessed);
    put_back(&with);
    put_back(&without);
}

static void *plan_on_a_thread(void *ctx)
{
    const struct asked *shared = ctx;
    struct rubberband_request *own = rubberband_request_new(shared->job, shared->profile, shared->prices);
    struct rubberband_plan *plan = NULL;
    char *json = NULL;
    rubberband_request_set_threads(own, 2);
    if (rubberband_find_plan(own, &plan, NULL) == RUBBERBAND_OK)
        json = strdup(rubberband_plan_json(plan));
    rubberband_plan_free(plan);
    rubberband_request_free(own);
    return json;
}

static void threads_share_inputs(void **state)
{
    (void)state;
    struct asked a;
    pthread_t threads[4];
    void *json[4];
    ask(&a, NULL, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, plan_on_a_thread, &a), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], &json[i]), 0);
    struct rubberband_plan *plan = find(&a);
    for (int i = 0; i < 4; i++) {
        assert_non_null(json[i]);
        assert_string_equal(json[i], rubberband_plan_json(plan));
        free(json[i]);
    }
    rubberband_plan_free(plan);
    put_back(&a);
}

static void this_machine_is_free(void **state)
{
    (void)state;
    struct rubberband_prices *prices = rubberband_prices_new();
    assert_int_equal(rubberband_prices_add_local(prices, "CPU", 0), RUBBERBAND_INVALID);
    assert_int_equal(rubberband_prices_add_local(prices, "CPU", 4), RUBBERBAND_OK);
    assert_int_equal(rubberband_prices_add_local(prices, "CPU", 8), RUBBERBAND_OK); // what is there stays
    assert_int_equal(rubberband_prices_count(prices), 1);
    assert_string_equal(rubberband_version(), EXPECTED_VERSION);
    rubberband_prices_free(prices);
    rubberband_job_free(NULL);
    rubberband_profile_free(NULL);
    rubberband_prices_free(NULL);
    rubberband_request_free(NULL);
    rubberband_allocation_free(NULL);
    rubberband_estimate_free(NULL);
    rubberband_plan_free(NULL);
    rubberband_error_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_and_files_give_the_same_plan),
        cmocka_unit_test(the_estimate_of_a_plan_s_allocation_is_the_plan_s_own),
        cmocka_unit_test(results_can_be_read_stage_by_stage),
        cmocka_unit_test(infeasible_requests_name_the_nearest),
        cmocka_unit_test(errors_say_what_and_where),
        cmocka_unit_test(allocations_that_cannot_be_are_refused),
        cmocka_unit_test(settings_have_ranges),
        cmocka_unit_test(a_guess_replaces_a_profile),
        cmocka_unit_test(threads_share_inputs),
        cmocka_unit_test(this_machine_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
