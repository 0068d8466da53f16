// Requests and answers of slurmrestd in the versions of its API that a test here cannot start (newer than v0.0.38), and
// the answers that a healthy cluster never gives. The real thing is in slurm_run.py.
#include "providers/slurm/slurm_decode.h"
#include "providers/slurm/slurm_encode.h"
#include "providers/slurm/slurm_errors.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#define N_OF(a) (sizeof(a) / sizeof(a)[0])

static const struct rb_launch launch = {
    .token = "0123456789abcdef0123",
    .region = "gpu",
    .instance_type = "gpu:a100:4",
    .market = RB_MARKET_ON_DEMAND,
    .user_data = "#!/bin/sh\n",
    .max_lifetime_s = 3601,
    .tags = {.name = "rb-cifar-3", .run_id = "cifar-1", .launch_id = "abc", .owner = "ann@home x"},
};
static const struct rb_slurm_spec spec = {
    .shared_dir = "/shared", .account = "ml", .cpus_per_gpu = 8, .memory_per_gpu_bytes = INT64_C(1) << 30};

static void submissions_are_written_as_each_version_wants(void **state)
{
    (void)state;
    static const char common[] =
        "{\"script\":\"#!/bin/sh\\n\",\"job\":{\"name\":\"rb-cifar-3-0123456789ab\",\"comment\":\"rubberband "
        "owner=ann@home_x run=cifar-1 launch=abc token=0123456789abcdef0123 type=gpu:a100:4\",\"partition\":\"gpu\","
        "\"account\":\"ml\",";
    static const char *const rest[] = {
        "\"nodes\":1,\"tasks\":1,\"cpus_per_task\":32,\"memory_per_node\":4096,\"gres\":\"gpu:a100:4\",\"time_limit\":"
        "61,"
        "\"requeue\":false,\"current_working_directory\":\"/shared\",\"standard_output\":\"/shared/cifar-1/"
        "slurm-%j.out\","
        "\"environment\":{\"PATH\":\"/usr/local/bin:/usr/bin:/bin\"}}}",
        "\"minimum_nodes\":1,\"maximum_nodes\":1,\"tasks\":1,\"cpus_per_task\":32,\"memory_per_node\":{\"set\":true,"
        "\"infinite\":false,\"number\":4096},\"tres_per_node\":\"gres/gpu:a100:4\",\"time_limit\":{\"set\":true,"
        "\"infinite\":false,\"number\":61},\"requeue\":false,\"current_working_directory\":\"/shared\","
        "\"standard_output\":\"/shared/cifar-1/slurm-%j.out\",\"environment\":[\"PATH=/usr/local/bin:/usr/bin:/"
        "bin\"]}}",
    };
    static const int api[] = {38, 39};
    struct rb_slurm_shape shape;
    assert_true(rb_slurm_shape(launch.instance_type, &shape, NULL));
    for (size_t i = 0; i < N_OF(api); i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
        rb_slurm_write_submission(&launch, &shape, &spec, api[i], &out);
        assert_memory_equal(rb_buf_str(&out), common, strlen(common));
        assert_string_equal(rb_buf_str(&out) + strlen(common), rest[i]);
    }
}

static void a_job_without_gpus_asks_for_cpus_and_their_memory(void **state)
{
    (void)state;
    static const struct {
        struct rb_slurm_spec spec;
        const char *memory;
    } cases[] = {
        {{.shared_dir = "/shared", .memory_per_cpu_bytes = INT64_C(3) << 30}, "\"memory_per_node\":24576,"},
        {{.shared_dir = "/shared", .memory_per_gpu_bytes = INT64_C(1) << 30}, "\"memory_per_node\":8192,"},
        {{.shared_dir = "/shared"}, ""},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT, expected = RB_BUF_INIT;
        const struct rb_slurm_shape shape = {.units = 8};
        const struct rb_launch on_cpus = {
            .instance_type = "cpu:8", .token = "0123456789abcdef", .user_data = "#!/bin/sh"};
        rb_slurm_write_submission(&on_cpus, &shape, &cases[i].spec, 38, &out);
        rb_buf_printf(&expected, "\"tasks\":1,\"cpus_per_task\":8,%s\"requeue\"", cases[i].memory);
        if (!strstr(rb_buf_str(&out), rb_buf_str(&expected)))
            fail_msg("%s lacks %s", rb_buf_str(&out), rb_buf_str(&expected));
    }
}

static void instance_types_are_slurms_own_words(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        int units; // 0: refused
        bool gres;
    } cases[] = {
        {"gpu:1", 1, true},      {"gpu:a100_80:8", 8, true},
        {"cpu:16", 16, false},   {"gpu:0", 0, false},
        {"gpu", 0, false},       {"gpu:", 0, false},
        {"gpu:a100", 0, false},  {"cpu:big:4", 0, false},
        {"gpu:65", 0, false},    {"gpu:\"x:4", 0, false},
        {"g5.xlarge", 0, false}, {"", 0, false},
        {"gpu:-1", 0, false},    {"gpu:4,license:1", 0, false},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_slurm_shape shape = {0};
        struct rb_err err = {0};
        assert_int_equal(rb_slurm_shape(cases[i].type, &shape, &err), cases[i].units > 0);
        assert_int_equal(shape.units, cases[i].units);
        assert_int_equal(shape.gres != NULL, cases[i].gres);
        assert_int_equal(err.number, cases[i].units ? RB_E_NONE : RB_E_SLURM_TYPE);
    }
}

static bool decode(const char *text, struct rb_arena *arena, struct rb_slurm_jobs *out, struct rb_err *err)
{
    struct rb_doc doc = {0};
    assert_true(rb_doc_parse_json(&doc, "answer", text, strlen(text), NULL));
    const bool ok = rb_slurm_decode_jobs(doc.root, "ann", arena, out, err);
    rb_doc_finish(&doc);
    return ok;
}

static void states_of_both_spellings(void **state)
{
    (void)state;
    static const struct {
        const char *job_state, *more;
        int is;
        int64_t running_s, ended_s;
    } cases[] = {
        {"\"PENDING\"", "", RB_INSTANCE_PENDING, -1, -1}, // its start time is a forecast
        {"[\"RUNNING\"]", "", RB_INSTANCE_RUNNING, 100, -1},
        {"[\"RUNNING\",\"CONFIGURING\"]", "", RB_INSTANCE_PENDING, -1, -1},
        {"\"CONFIGURING\"", "", RB_INSTANCE_PENDING, -1, -1},
        {"\"COMPLETING\"", "", RB_INSTANCE_STOPPING, 100, -1},
        {"[\"CANCELLED\",\"COMPLETING\"]", "", RB_INSTANCE_STOPPING, 100, -1},
        {"\"SUSPENDED\"", "", RB_INSTANCE_STOPPED, 100, -1},
        {"[\"PENDING\",\"REQUEUED\"]", "", RB_INSTANCE_STOPPED, 100, -1},
        {"\"PENDING\"", ",\"restart_cnt\":1", RB_INSTANCE_STOPPED, 100, -1},
        {"[\"RUNNING\"]", ",\"restart_cnt\":1", RB_INSTANCE_STOPPED, 100, -1}, // Slurm's own second try
        {"\"NODE_FAIL\"", "", RB_INSTANCE_TERMINATED, 100, 200},
        {"[\"TIMEOUT\"]", "", RB_INSTANCE_TERMINATED, 100, 200},
        {"[\"NODE_FAIL\"]", ",\"restart_cnt\":1", RB_INSTANCE_TERMINATED, 100, 200},
    };
    static const char *const times[] = {
        "\"start_time\":100,\"end_time\":200",
        "\"start_time\":{\"set\":true,\"infinite\":false,\"number\":100},"
        "\"end_time\":{\"set\":true,\"infinite\":false,\"number\":200}",
    };
    for (size_t i = 0; i < N_OF(cases) * N_OF(times); i++) {
        const size_t k = i / N_OF(times);
        RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
        RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
        struct rb_slurm_jobs jobs;
        rb_buf_printf(&text,
                      "{\"jobs\":[{\"job_id\":7,\"user_name\":\"ann\",\"comment\":\"rubberband run=r token=t\","
                      "\"nodes\":\"n1\",\"partition\":\"gpu\",\"state_reason\":\"None\",\"job_state\":%s,%s%s}]}",
                      cases[k].job_state, times[i % N_OF(times)], cases[k].more);
        assert_true(decode(rb_buf_str(&text), &arena, &jobs, NULL));
        assert_int_equal(jobs.n, 1);
        const struct rb_instance *job = &jobs.instances[0];
        assert_int_equal(job->state, cases[k].is);
        assert_int_equal(job->running_at_us, cases[k].running_s < 0 ? -1 : cases[k].running_s * 1000000);
        assert_int_equal(job->terminated_at_us, cases[k].ended_s < 0 ? -1 : cases[k].ended_s * 1000000);
        assert_string_equal(job->id, "7");
        assert_string_equal(job->run_id, "r");
        assert_string_equal(job->token, "t");
        assert_null(job->owner);
        assert_int_equal(job->address != NULL, cases[k].is == RB_INSTANCE_RUNNING);
    }
}

static void a_job_that_was_cancelled_while_it_waited_never_ran(void **state)
{
    (void)state;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_slurm_jobs jobs;
    assert_true(decode("{\"jobs\":[{\"job_id\":7,\"user_name\":\"ann\",\"comment\":\"rubberband run=r\","
                       "\"job_state\":[\"CANCELLED\"],\"start_time\":200,\"end_time\":200}]}",
                       &arena, &jobs, NULL));
    assert_int_equal(jobs.instances[0].running_at_us, -1);
    assert_int_equal(jobs.instances[0].terminated_at_us, INT64_C(200000000));
}

static void jobs_of_others_are_not_ours(void **state)
{
    (void)state;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_slurm_jobs jobs;
    assert_true(
        decode("{\"jobs\":["
               "{\"job_id\":1,\"user_name\":\"bob\",\"comment\":\"rubberband run=r token=t\",\"job_state\":\"X\"},"
               "{\"job_id\":2,\"user_name\":\"ann\",\"comment\":\"\",\"job_state\":\"X\"},"
               "{\"job_id\":3,\"user_name\":\"ann\",\"comment\":\"rubberbands\",\"job_state\":\"X\"}]}",
               &arena, &jobs, NULL));
    assert_int_equal(jobs.n, 0);
}

static void answers_that_cannot_be_believed_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{}", "jobs"},
        {"{\"jobs\":{}}", "jobs"},
        {"{\"jobs\":[{\"user_name\":\"ann\",\"comment\":\"rubberband \",\"job_state\":\"RUNNING\"}]}", "job_id"},
        {"{\"jobs\":[{\"job_id\":1,\"user_name\":\"ann\",\"comment\":\"rubberband \",\"job_state\":\"FLYING\"}]}",
         "FLYING"},
        {"{\"jobs\":[{\"job_id\":1,\"user_name\":\"ann\",\"comment\":\"rubberband \",\"job_state\":[]}]}", "job_state"},
        {"{\"jobs\":[{\"job_id\":1,\"user_name\":\"ann\",\"comment\":\"rubberband \",\"job_state\":\"RUNNING\","
         "\"nodes\":\"-oProxyCommand=x\"}]}",
         "nodes"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
        struct rb_slurm_jobs jobs;
        struct rb_err err = {0};
        assert_false(decode(cases[i].text, &arena, &jobs, &err));
        assert_int_equal(err.code, RB_ERR_IO);
        assert_non_null(strstr(err.message, cases[i].says));
    }
}

static void a_submission_may_fail_and_queue_a_job_all_the_same(void **state)
{
    (void)state;
    static const char text[] = "{\"errors\":[{\"error_code\":2015,\"error\":\"not now\"}],\"job_id\":3}";
    struct rb_doc doc = {0};
    int64_t id = 0;
    int number = 0;
    enum rb_api_reaction reaction;
    struct rb_err err = {0};
    assert_true(rb_doc_parse_json(&doc, "answer", text, strlen(text), NULL));
    assert_true(rb_slurm_first_error(doc.root, &number, &reaction, &err));
    assert_true(rb_slurm_decode_submission(doc.root, &id, NULL));
    rb_doc_finish(&doc);
    assert_int_equal(id, 3);
    assert_int_equal(number, 2015);
    assert_int_equal(err.code, RB_ERR_CAPACITY);
}

static void refusals_by_number(void **state)
{
    (void)state;
    static const struct {
        long status;
        const char *body;
        enum rb_err_number number;
        enum rb_api_reaction reaction;
    } cases[] = {
        {401, "Authentication failure", RB_E_SLURM_TOKEN, RB_API_REFRESH},
        {404, "Unable find requested URL.", RB_E_CLOUD_NOT_FOUND, RB_API_FAIL},
        {502, "<html>bad gateway</html>", RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
        {500, "{\"errors\":[{\"error_number\":-1,\"error\":\"Unspecified error\"}]}", RB_E_OUTCOME_UNKNOWN,
         RB_API_RETRY},
        {500, "{\"errors\":[{\"error_number\":2017}]}", RB_E_CLOUD_NOT_FOUND, RB_API_FAIL},
        {500, "{\"errors\":[{\"error_code\":2014}]}", RB_E_REFUSED, RB_API_FAIL},
        {500, "{\"errors\":[{\"error_number\":2045}]}", RB_E_PERMISSION, RB_API_FAIL},
        {500, "{\"errors\":[{\"error_number\":5005}]}", RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
        {500, "{\"errors\":[{\"error_number\":1800}]}", RB_E_CLOUD_STATE, RB_API_RETRY},
        {400, "{\"errors\":[{\"description\":\"Unknown key\"},{\"error_code\":9001}]}", RB_E_REFUSED, RB_API_FAIL},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_err err = {0};
        assert_int_equal(rb_slurm_judge(cases[i].status, cases[i].body, strlen(cases[i].body), &err),
                         cases[i].reaction);
        assert_int_equal(err.number, cases[i].number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submissions_are_written_as_each_version_wants),
        cmocka_unit_test(a_job_without_gpus_asks_for_cpus_and_their_memory),
        cmocka_unit_test(instance_types_are_slurms_own_words),
        cmocka_unit_test(states_of_both_spellings),
        cmocka_unit_test(a_job_that_was_cancelled_while_it_waited_never_ran),
        cmocka_unit_test(jobs_of_others_are_not_ours),
        cmocka_unit_test(answers_that_cannot_be_believed_are_errors),
        cmocka_unit_test(a_submission_may_fail_and_queue_a_job_all_the_same),
        cmocka_unit_test(refusals_by_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
