// Traces as files: order, optional columns, and what is refused.
#include "small_apps.h"

#include "check.h"

static void jobs_come_by_submission_and_then_by_row(void **state)
{
    (void)state;
    struct small_apps s;
    small_apps_write(&s);
    small_apps_load(&s, "late,9.5,toy,1,10\nb,3,toy,2,20\na,3,toy,4,40\n");
    assert_int_equal(s.trace.n, 3);
    assert_string_equal(s.trace.jobs[0].name, "b");
    assert_string_equal(s.trace.jobs[1].name, "a");
    assert_string_equal(s.trace.jobs[2].name, "late");
    assert_int_equal(s.trace.jobs[2].submitted_us, 9500000);
    assert_int_equal(s.trace.jobs[1].gpus, 4);
    assert_true(s.trace.jobs[1].deadline_us == INT64_MAX && s.trace.jobs[1].weight >= 1);
    small_apps_finish(&s);
}

static bool read(struct small_apps *s, const char *text, struct rb_trace *out, struct rb_err *err)
{
    return rb_trace_read(out, small_apps_put(s, "trace.csv", text), &s->apps, err);
}

static void a_job_may_have_a_deadline_and_a_weight(void **state)
{
    (void)state;
    struct small_apps s;
    struct rb_trace t;
    struct rb_err err;
    small_apps_write(&s);
    small_apps_load(&s, "a,0,toy,1,10\n");
    if (!read(
            &s,
            "name,time,application,num_replicas,batch_size,weight,deadline_s\na,0,toy,1,10,2.5,600\nb,0,toy,1,10,1,\n",
            &t, &err))
        fail_msg("%s", err.message);
    assert_int_equal(t.jobs[0].deadline_us, 600 * RB_US_PER_S);
    assert_float_equal(t.jobs[0].weight, 2.5, 0);
    assert_true(t.jobs[1].deadline_us == INT64_MAX);
    rb_trace_finish(&t);
    small_apps_finish(&s);
}

static void what_cannot_be_run_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *row, *says;
    } cases[] = {
        {"a,0,tpy,1,10", "expected an application of --apps (toy), got \"tpy\""},
        {",0,toy,1,10", "the job's name"},
        {"a,-1,toy,1,10", "time"},
        {"a,0,toy,0,10", "num_replicas"},
        {"a,0,toy,65,10", "num_replicas"},
        {"a,0,toy,1,9", "batch_size"},
        {"a,0,toy,1,41", "batch_size"},
        {"a,0,toy,20,10", "at least 20, num_replicas times the 1"},
        {"a,0,toy,1", "expected 5 cells"},
        {"a,0,toy,1,10\na,1,toy,1,10", "RB5004 two jobs are called \"a\""},
    };
    struct small_apps s;
    small_apps_write(&s);
    small_apps_load(&s, "a,0,toy,1,10\n");
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_trace t;
        struct rb_err err = {0};
        assert_false(
            read(&s, rb_arena_printf(&s.arena, "name,time,application,num_replicas,batch_size\n%s\n", cases[i].row), &t,
                 &err));
        assert_says(&err, cases[i].says);
    }
    small_apps_finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_come_by_submission_and_then_by_row),
        cmocka_unit_test(a_job_may_have_a_deadline_and_a_weight),
        cmocka_unit_test(what_cannot_be_run_is_refused_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
