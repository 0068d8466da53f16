// What a profile remembers of how and of what it was measured: kept in the store, fitted, and compared with a job as it is now.
#include "tests/profiles/store_world.h"

#include "profiles/job/job.h"
#include "profiles/store/measured.h"

#define JOB(parameters, run)                                                      \
    "name: x\nmetric: {name: loss, goal: minimize}\nparameters: " parameters "\n" \
    "scheduler: {type: sha, num_trials: 4, max_resource: 4}\nsetup: sh prepare.sh\nrun: " run "\n"

// No cryptography here: a digest that differs where the bytes do, as far as these tests go.
static void digest(const void *bytes, size_t n, char out_hex[65])
{
    uint64_t sum = 1469598103934665603u;
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    snprintf(out_hex, 65, "%016llx%016llx%016llx%016llx", (unsigned long long)sum, (unsigned long long)sum,
             (unsigned long long)sum, (unsigned long long)sum);
}

static struct rb_measured_of of_job(struct world *w, const char *yaml)
{
    struct rb_doc doc;
    struct rb_job job;
    struct rb_measured_of of;
    assert_ok(rb_doc_parse_yaml(&doc, "job.yaml", yaml, strlen(yaml), &w->err), &w->err);
    assert_ok(rb_job_read(doc.root, NULL, 0, &w->arena, &job, &w->err), &w->err);
    rb_measured_of_job(&job, w->dir, digest, &w->arena, &of);
    rb_doc_finish(&doc);
    return of;
}

static void write_script(struct world *w, const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", w->dir, name);
    write_text(path, text);
}

static void what_changed_is_named(void **state)
{
    struct world *w = *state;
    const char *changes[RB_MEASURED_FILES + 2];
    static const char job[] =
        JOB("{lr: {min: 0.1, max: 1}}", "python3 ./train.py --data=/etc/passwd ../outside $RB_ARGS");
    write_script(w, "train.py", "print(1)");
    write_script(w, "prepare.sh", "true");
    const struct rb_measured_of then = of_job(w, job);
    assert_int_equal(then.n_files, 2); // nothing outside of the work directory
    assert_string_equal(then.files[0].path, "prepare.sh");
    assert_string_equal(then.files[1].path, "train.py");
    struct rb_measured_of now = of_job(w, job);
    assert_int_equal(rb_measured_changes(&then, &now, changes), 0);

    now = of_job(w, JOB("{lr: {min: 0.1, max: 100}}", "python3 ./train.py --fast $RB_ARGS"));
    assert_int_equal(rb_measured_changes(&then, &now, changes), 2);
    assert_string_equal(changes[0], "the command");
    assert_string_equal(changes[1], "parameters");

    write_script(w, "train.py", "print(2)");
    now = of_job(w, job);
    assert_int_equal(rb_measured_changes(&then, &now, changes), 1);
    assert_string_equal(changes[0], "train.py");

    const struct rb_measured_of nothing = {0}; // a profile that was written by hand
    assert_int_equal(rb_measured_changes(&nothing, &now, changes), 0);
}

static struct rb_run_sample measured_run(const struct rb_measured_of *of, const char *config, double load,
                                         int64_t at_us)
{
    static const double units[] = {3, 3.2, 2.9};
    struct rb_run_sample run = make_run(1, 1, config, units, 3);
    run.load = load;
    run.cpus = 2;
    run.of = *of;
    run.measured_at_us = at_us;
    return run;
}

static void the_store_keeps_it_and_the_fit_says_it(void **state)
{
    struct world *w = *state;
    struct rb_profile p;
    write_script(w, "train.py", "print(1)");
    const struct rb_measured_of of = of_job(w, JOB("{lr: {min: 0.1, max: 1}}", "python3 train.py"));
    struct rb_store *s = open_store(w, false);
    const struct rb_run_sample runs[] = {measured_run(&of, "{\"lr\":0.1}", 4, 1000000),
                                         measured_run(&of, "{\"lr\":0.2}", 9, 3000000),
                                         measured_run(&of, "{\"lr\":0.1}", 5, 2000000)};
    for (int i = 0; i < 3; i++) {
        struct rb_run_sample run = runs[i];
        run.restarts = i == 1;
        assert_ok(rb_store_add_run(s, "p", &run, &w->err), &w->err);
    }
    assert_ok(rb_store_profile(s, "p", &w->arena, &p, &w->err), &w->err);
    assert_true(p.has_measured);
    assert_int_equal(p.measured.configurations, 2);
    assert_int_equal(p.measured.units, 9);
    assert_close(p.measured.load, 5, 0);
    assert_int_equal(p.measured.cpus, 2);
    assert_int_equal(p.measured.at_us, 3000000);
    assert_true(p.restarts); // as the last run did
    assert_string_equal(p.measured.of.files[0].path, "train.py");
    struct rb_buf text = RB_BUF_INIT;
    rb_measured_text(&p.measured, &text);
    assert_string_equal(rb_buf_str(&text), "2 configurations, 9 units, load 5.0 on 2 processors");
    rb_buf_finish(&text);

    assert_ok(rb_store_forget_runs(s, "p", &w->err), &w->err);
    assert_false(rb_store_profile(s, "p", &w->arena, &p, &w->err));
    struct rb_run_sample elsewhere = runs[0];
    elsewhere.cpus = 0;
    elsewhere.of = (struct rb_measured_of){0};
    assert_ok(rb_store_add_run(s, "p", &elsewhere, &w->err), &w->err);
    assert_ok(rb_store_profile(s, "p", &w->arena, &p, &w->err), &w->err);
    assert_true(p.measured.load < 0);
    assert_null(p.measured.of.command);
    assert_false(p.restarts);
    rb_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_changed_is_named, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(the_store_keeps_it_and_the_fit_says_it, world_setup, world_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
