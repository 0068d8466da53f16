// The store's file: who may open it, what it keeps, and that nothing half-done stays in it.
#include "tests/profiles/store_world.h"

#include "profiles/store/ended.h"
#include "profiles/store/found.h"

#include <sqlite3.h>

static const double unit_s[] = {30, 31, 29};

static void execute(const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void assert_refused(struct world *w, bool read_only, enum rb_err_code code, const char *words)
{
    struct rb_store *s = (struct rb_store *)w; // must stay untouched
    assert_false(rb_store_open(w->db, read_only, &s, &w->err));
    assert_ptr_equal(s, w);
    assert_int_equal(w->err.code, code);
    assert_string_equal(w->err.file, w->db);
    assert_says(&w->err, words);
}

static int count_names(struct world *w, struct rb_store *s)
{
    struct rb_profile_name *names;
    int n;
    assert_ok(rb_store_list(s, &w->arena, &names, &n, &w->err), &w->err);
    return n;
}

static void a_new_store_is_private(void **state)
{
    struct world *w = *state;
    struct stat st;
    const mode_t before = umask(0);
    rb_store_close(open_store(w, false));
    umask(before);
    assert_int_equal(stat(w->db, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void the_default_place_is_made_private_too(void **state)
{
    struct world *w = *state;
    struct rb_store *s;
    struct stat st;
    const char *data = rb_arena_printf(&w->arena, "%s/data", w->dir);
    const char *dir = rb_arena_printf(&w->arena, "%s/rubberband", data);
    unsetenv("RB_DB");
    setenv("XDG_DATA_HOME", data, 1);
    assert_ok(rb_store_open(NULL, false, &s, &w->err), &w->err);
    assert_string_equal(rb_store_path(s), rb_arena_printf(&w->arena, "%s/profiles.db", dir));
    rb_store_close(s);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    setenv("RB_DB", w->db, 1);
    assert_ok(rb_store_open(NULL, false, &s, &w->err), &w->err);
    assert_string_equal(rb_store_path(s), w->db);
    rb_store_close(s);
    unsetenv("RB_DB");
}

static void reading_what_is_not_there(void **state)
{
    struct world *w = *state;
    assert_refused(w, true, RB_ERR_NOT_FOUND, "rbprofile train");
    assert_int_not_equal(access(w->db, F_OK), 0); // and it was not created
    write_text(w->db, "");
    assert_refused(w, true, RB_ERR_NOT_FOUND, "empty");
}

static void a_missing_directory_is_named(void **state)
{
    struct world *w = *state;
    strcpy(w->db, "/tmp/rb-no-such-directory/p.db");
    assert_refused(w, false, RB_ERR_IO, "cannot create");
}

static void names_that_sqlite_would_take_for_commands(void **state)
{
    struct world *w = *state;
    struct rb_store *s;
    assert_int_equal(chdir(w->dir), 0);
    assert_ok(rb_store_open(":memory:", false, &s, &w->err), &w->err);
    rb_store_close(s);
    assert_ok(rb_store_open("file:x?mode=memory", false, &s, &w->err), &w->err);
    rb_store_close(s);
    assert_int_equal(access(":memory:", F_OK), 0);
    assert_int_equal(access("file:x?mode=memory", F_OK), 0);
    assert_false(rb_store_open("", false, &s, &w->err));
    assert_int_equal(chdir("/"), 0);
}

static void a_newer_version_is_refused(void **state)
{
    struct world *w = *state;
    rb_store_close(open_store(w, false));
    execute(w->db, "PRAGMA user_version=7; UPDATE writer SET version = '9.0.1'");
    assert_refused(w, false, RB_ERR_INVALID, "written by rubberband 9.0.1 (schema 7, this program, " RB_VERSION ", reads up to 6)");
    execute(w->db, "UPDATE writer SET version = '9 ways to \x1b[31m mislead'");
    assert_refused(w, true, RB_ERR_INVALID, "written by a newer version (schema 7");
    execute(w->db, "DROP TABLE writer");
    assert_refused(w, true, RB_ERR_INVALID, "written by a newer version (schema 7");
}

// What a program before "what a run said about its steps" wrote: read as it is, and brought up to date by a writer.
static void put_ended(struct world *w, struct rb_store *s, const char *run, bool complete, int64_t time_us, int kept)
{
    const struct rb_ended e = {.run = run,
                               .profile = "cifar",
                               .job = "cifar",
                               .is_complete = complete,
                               .time_us = {90, 100, 110, time_us},
                               .cost_uusd = {.was = 0}, // nothing costs anything
                               .on_time = {0.9, kept},
                               .in_budget = {NAN, -1}};
    assert_ok(rb_store_put_ended(s, &e, &w->err), &w->err);
}

static void predictions_are_judged_by_what_they_promised(void **state)
{
    struct world *w = *state;
    struct rb_record r;
    struct rb_store *s = open_store(w, false);
    assert_ok(rb_store_record(s, "cifar", &r, &w->err), &w->err);
    assert_int_equal(r.n_runs, 0);
    assert_true(isnan(r.time.mean_log) && isnan(r.on_time.promised));
    put_ended(w, s, "a", true, 100, 1);
    put_ended(w, s, "b", true, 200, 0);
    put_ended(w, s, "c", false, 150, 0);  // ended by a limit: already longer than p95
    put_ended(w, s, "d", false, 100, 0);  // may have come out within them
    put_ended(w, s, "a", true, 1000, 0);  // resumed: what it showed first counts
    assert_ok(rb_store_record(s, "cifar", &r, &w->err), &w->err);
    assert_int_equal(r.n_runs, 4);
    assert_int_equal(r.n_complete, 2);
    assert_int_equal(r.time.n, 3);
    assert_int_equal(r.time.n_within, 1);
    assert_int_equal(r.time.n_log, 2);
    assert_close(r.time.mean_log, log(2) / 2, 1e-12);
    assert_int_equal(r.cost.n + r.cost.n_log, 0);
    assert_int_equal(r.on_time.n, 4);
    assert_int_equal(r.on_time.n_kept, 1);
    assert_close(r.on_time.promised, 0.9, 1e-12);
    assert_int_equal(r.in_budget.n, 0);
    rb_store_close(s);
}

static struct rb_fit_report fit_of(struct world *w, struct rb_store *s)
{
    struct rb_fit_report report;
    assert_ok(rb_store_fit(s, "cifar", &w->arena, &report, &w->err), &w->err);
    return report;
}

// Units of an ended run count beside measured ones, once, and make no profile of their own.
static void units_of_runs_count_beside_measured_ones(void **state)
{
    struct world *w = *state;
    struct rb_fit_report report;
    struct rb_store *s = open_store(w, false);
    struct rb_run_sample learned = make_run(1, 1, "{\"lr\":0.5}", unit_s, 3);
    learned.of_run = "run-1";
    assert_ok(rb_store_add_run(s, "cifar", &learned, &w->err), &w->err);
    assert_false(rb_store_fit(s, "cifar", &w->arena, &report, &w->err));
    assert_int_equal(w->err.code, RB_ERR_NOT_FOUND);
    for (int i = 0; i < 3; i++) {
        const double times[] = {27.0 + 2 * i, 28.0 + 2 * i, 29.0 + 2 * i};
        const char *const configs[] = {"{\"lr\":1}", "{\"lr\":2}", "{\"lr\":3}"};
        const struct rb_run_sample measured = make_run(1, 1, configs[i], times, 3);
        assert_ok(rb_store_add_run(s, "cifar", &measured, &w->err), &w->err);
    }
    const struct rb_fit_report before = fit_of(w, s);
    assert_int_equal(before.n_learned, 1);
    for (int i = 0; i < 9; i++)
        assert_ok(rb_store_add_run(s, "cifar", &learned, &w->err), &w->err);
    const struct rb_fit_report same = fit_of(w, s);
    assert_ok(rb_store_forget_ended(s, "run-1", "cifar", &w->err), &w->err);
    const struct rb_fit_report without = fit_of(w, s);
    assert_int_equal(same.n_learned_from, 1);
    assert_int_equal(same.n_learned, 10);
    assert_int_equal(same.startup.n, 3);
    assert_int_equal(without.cells[0].n_runs, 3);
    assert_true(before.profile.training[0].relative_error < without.profile.training[0].relative_error);
    rb_store_close(s);
}

// What schemas 4 to 6 added.
#define NO_ENDED "ALTER TABLE provision DROP COLUMN pull_s; DROP TABLE reading; DROP TABLE ended; DROP INDEX run_of_run; ALTER TABLE run DROP COLUMN of_run;"

static void an_older_store_is_read_and_brought_up_to_date(void **state)
{
    struct world *w = *state;
    struct rb_fit_report report;
    struct rb_store *s = open_store(w, false);
    struct rb_run_sample run = make_run(1, 1, "{}", unit_s, 3);
    assert_ok(rb_store_add_run(s, "cifar", &run, &w->err), &w->err);
    rb_store_close(s);
    execute(w->db, NO_ENDED "DROP TABLE step; DROP TABLE found; DROP TABLE search; PRAGMA user_version=1");
    s = open_store(w, true);
    assert_ok(rb_store_fit(s, "cifar", &w->arena, &report, &w->err), &w->err);
    assert_false(report.profile.training[0].has_goodput);
    rb_store_close(s);
    s = open_store(w, false);
    run.initial_batch = 32;
    run.batch.per_gpu = 32;
    run.steps.step_s = 0.5;
    assert_ok(rb_store_add_run(s, "cifar", &run, &w->err), &w->err);
    assert_ok(rb_store_fit(s, "cifar", &w->arena, &report, &w->err), &w->err);
    assert_true(report.profile.training[0].has_goodput);
    rb_store_close(s);
}

// ---- what ended runs found

static void put_found(struct world *w, struct rb_store *s, const char *run, int64_t ended_at_us, double quantile)
{
    const struct rb_found_result results[] = {
        {.trial = 0, .resource = 1, .config_json = "{\"lr\":0.5}", .quantile = quantile, .unit_s = 2.5,
         .metric = (double)ended_at_us + 0.5, .drawn = true},
        {.trial = 0, .resource = 9, .config_json = "{\"lr\":0.5}", .quantile = 0.5, .unit_s = NAN, .metric = NAN,
         .drawn = true},
        {.trial = 7, .resource = 1, .config_json = "{\"lr\":0.25}", .quantile = 1 - quantile, .unit_s = 1, .metric = 2},
    };
    const struct rb_found found = {
        .run = run, .job = "j", .space = "abc", .training = "t", .ended_at_us = ended_at_us, .results = results, .n = 3};
    assert_ok(rb_store_put_found(s, &found, &w->err), &w->err);
}

static void results_of_ended_runs_are_kept_the_newest_first(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    struct rb_found *found;
    int n;
    put_found(w, s, "first", 10, 0.75);
    put_found(w, s, "second", 20, 0.75);
    put_found(w, s, "first", 30, 0.25); // it was resumed, and ended once more
    assert_ok(rb_store_found(s, "abc", 8, &w->arena, &found, &n, &w->err), &w->err);
    assert_int_equal(n, 2);
    assert_string_equal(found[0].run, "first");
    assert_string_equal(found[1].run, "second");
    assert_int_equal(found[0].n, 3);
    assert_int_equal(found[0].results[0].resource, 9); // the highest resource first
    assert_true(isnan(found[0].results[0].unit_s));
    assert_true(found[0].results[1].quantile == 0.25 && found[0].results[1].unit_s == 2.5);
    assert_int_equal(found[0].results[2].trial, 7);
    assert_string_equal(found[0].results[2].config_json, "{\"lr\":0.25}");
    assert_ok(rb_store_found(s, "abc", 1, &w->arena, &found, &n, &w->err), &w->err);
    assert_int_equal(n, 1);
    assert_ok(rb_store_found(s, "other", 8, &w->arena, &found, &n, &w->err), &w->err);
    assert_int_equal(n, 0);
    rb_store_close(s);
}

// The tables are newer than the first stores: without them there are no results, and a writer makes them.
static void an_older_store_has_no_results_and_takes_them(void **state)
{
    struct world *w = *state;
    struct rb_found *found;
    struct rb_found_metrics metrics;
    int n = -1;
    rb_store_close(open_store(w, false));
    execute(w->db, NO_ENDED "DROP TABLE step; DROP TABLE found; DROP TABLE search; PRAGMA user_version=1");
    struct rb_store *s = open_store(w, true);
    assert_ok(rb_store_found(s, "abc", 8, &w->arena, &found, &n, &w->err), &w->err);
    assert_int_equal(n, 0);
    assert_ok(rb_store_found_metrics(s, "t", &w->arena, &metrics, &w->err), &w->err);
    assert_int_equal(metrics.n, 0);
    rb_store_close(s);
    s = open_store(w, false);
    put_found(w, s, "first", 10, 0.75);
    assert_ok(rb_store_found(s, "abc", 8, &w->arena, &found, &n, &w->err), &w->err);
    assert_int_equal(n, 1);
    rb_store_close(s);
}

// What programs of schema 2 left has ranks and no metrics; a run that ends later adds its own.
static void results_of_schema_2_are_kept_without_metrics(void **state)
{
    struct world *w = *state;
    struct rb_found *found;
    struct rb_found_metrics metrics;
    int n;
    struct rb_store *s = open_store(w, false);
    put_found(w, s, "old", 10, 0.75);
    rb_store_close(s);
    execute(w->db, NO_ENDED "DROP INDEX search_training; ALTER TABLE search DROP COLUMN training; ALTER TABLE found DROP COLUMN metric;"
                   "ALTER TABLE found DROP COLUMN drawn; PRAGMA user_version=2");
    for (int writes = 0; writes < 2; writes++) {
        s = open_store(w, !writes);
        assert_ok(rb_store_found(s, "abc", 8, &w->arena, &found, &n, &w->err), &w->err);
        assert_int_equal(found[0].n, 3);
        assert_ok(rb_store_found_metrics(s, "t", &w->arena, &metrics, &w->err), &w->err);
        assert_int_equal(metrics.n + metrics.n_runs, 0);
        rb_store_close(s);
    }
    s = open_store(w, false);
    put_found(w, s, "new", 20, 0.75);
    assert_ok(rb_store_found_metrics(s, "t", &w->arena, &metrics, &w->err), &w->err);
    assert_int_equal(metrics.n_runs, 1);
    rb_store_close(s);
}

// Only of what was drawn, of the same training; a configuration that two runs trained counts once, as the newer run saw it.
static void metrics_are_of_drawn_configurations_and_none_counts_twice(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    struct rb_found_metrics m;
    put_found(w, s, "newer", 20, 0.75);
    put_found(w, s, "older", 10, 0.75); // the same configurations with other metrics
    assert_ok(rb_store_found_metrics(s, "t", &w->arena, &m, &w->err), &w->err);
    assert_int_equal(m.n_runs, 2);
    assert_int_equal(m.n, 2); // one was not drawn
    assert_string_equal(m.results[0].config_json, "{\"lr\":0.5}");
    assert_int_equal(m.results[0].resource, 1);
    assert_true(m.results[0].metric == 20.5);
    assert_int_equal(m.results[1].resource, 9);
    assert_true(isnan(m.results[1].metric));
    assert_ok(rb_store_found_metrics(s, "other", &w->arena, &m, &w->err), &w->err);
    assert_int_equal(m.n + m.n_runs, 0);
    rb_store_close(s);
    execute(w->db, "UPDATE found SET metric = 9e999 WHERE metric > 0");
    s = open_store(w, true);
    assert_false(rb_store_found_metrics(s, "t", &w->arena, &m, &w->err));
    assert_says(&w->err, "a resource or metric out of its range");
    rb_store_close(s);
}

// No cryptography here: a digest that differs where the bytes do, as far as this test goes.
static void digest(const void *bytes, size_t n, char out_hex[65])
{
    uint64_t h = 14695981039346656037u; // FNV-1a
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    snprintf(out_hex, 65, "%064llx", (unsigned long long)h);
}

static struct rb_job job_of(const char *run, const char *metric, enum rb_goal goal, int64_t max_resource)
{
    return (struct rb_job){.run = run, .metric_name = metric, .goal = goal,
                           .scheduler = {.unit = "epoch", .max_resource = max_resource}};
}

// Metrics are compared where the space, the metric, its goal, the commands, the unit and R are the same.
static void a_training_is_the_space_the_command_and_how_far(void **state)
{
    struct rb_job jobs[] = {job_of("train", "loss", RB_GOAL_MINIMIZE, 9), job_of("train --big", "loss", RB_GOAL_MINIMIZE, 9),
                            job_of("train", "error", RB_GOAL_MINIMIZE, 9), job_of("train", "loss", RB_GOAL_MAXIMIZE, 9),
                            job_of("train", "loss", RB_GOAL_MINIMIZE, 27), job_of("train", "loss", RB_GOAL_MINIMIZE, 9)};
    char texts[7][65];
    const size_t n = sizeof jobs / sizeof jobs[0];
    (void)state;
    jobs[n - 1].scheduler.unit = "step";
    for (size_t i = 0; i < n; i++) {
        rb_found_training(&jobs[i], digest, texts[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(texts[i], texts[k]);
    }
    jobs[0].seed = 12;
    jobs[0].scheduler.num_trials = 40;
    rb_found_training(&jobs[0], digest, texts[n]);
    assert_string_equal(texts[n], texts[0]);
}

static void results_out_of_their_range_are_refused(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    struct rb_found *found;
    int n;
    put_found(w, s, "first", 10, 0.75);
    rb_store_close(s);
    execute(w->db, "PRAGMA ignore_check_constraints=ON; UPDATE found SET quantile = 3 WHERE trial = 7");
    s = open_store(w, true);
    assert_false(rb_store_found(s, "abc", 8, &w->arena, &found, &n, &w->err));
    assert_says(&w->err, "a result of trial 7");
    rb_store_close(s);
}

static void files_of_others_are_refused_and_left_alone(void **state)
{
    struct world *w = *state;
    char *bytes;
    size_t n;
    const char *text =
        "a letter to my aunt, long enough to be more than a header of one hundred bytes in all, I hope so";
    write_text(w->db, text);
    assert_refused(w, false, RB_ERR_INVALID, "not a sqlite database");
    assert_ok(rb_read_file(w->db, 1 << 20, &bytes, &n, &w->err), &w->err);
    assert_string_equal(bytes, text);
    free(bytes);
    unlink(w->db);
    execute(w->db, "CREATE TABLE recipe(name TEXT)");
    assert_refused(w, false, RB_ERR_INVALID, "another program");
    execute(w->db, "PRAGMA application_id=12345");
    assert_refused(w, false, RB_ERR_INVALID, "another program");
}

static void a_store_with_missing_tables_is_refused(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    struct rb_profile_name *names;
    int n;
    rb_store_close(s);
    execute(w->db, "DROP TABLE run");
    s = open_store(w, true);
    assert_false(rb_store_list(s, &w->arena, &names, &n, &w->err));
    assert_int_equal(w->err.code, RB_ERR_INVALID);
    assert_says(&w->err, "not a profile store of schema 6");
    rb_store_close(s);
}

// Overwrites the file from its second page on; whatever sqlite finds there, the answer is an error or a fit, no crash.
static void a_damaged_store_is_an_error(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    const struct rb_run_sample run = make_run(1, 1, "{}", unit_s, 3);
    assert_ok(rb_store_add_run(s, "cifar", &run, &w->err), &w->err);
    rb_store_close(s);
    struct stat st;
    assert_int_equal(stat(w->db, &st), 0);
    FILE *f = fopen(w->db, "r+");
    fseek(f, 4096, SEEK_SET);
    for (long i = 4096; i < st.st_size; i++) {
        fputc((int)(i * 7 % 251), f);
    }
    fclose(f);
    s = NULL;
    struct rb_fit_report report;
    assert_false(rb_store_open(w->db, true, &s, &w->err) && rb_store_fit(s, "cifar", &w->arena, &report, &w->err));
    assert_int_equal(w->err.code, RB_ERR_INVALID);
    assert_says(&w->err, "damaged");
    rb_store_close(s);
}

static void rolled_back_means_unchanged(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    const struct rb_run_sample run = make_run(1, 1, "{}", unit_s, 3);
    assert_ok(rb_store_begin(s, &w->err), &w->err);
    assert_ok(rb_store_add_run(s, "cifar", &run, &w->err), &w->err);
    assert_int_equal(count_names(w, s), 1);
    rb_store_rollback(s);
    assert_int_equal(count_names(w, s), 0);
    assert_ok(rb_store_begin(s, &w->err), &w->err);
    assert_ok(rb_store_add_run(s, "cifar", &run, &w->err), &w->err);
    assert_ok(rb_store_commit(s, &w->err), &w->err);
    rb_store_close(s);
    s = open_store(w, true);
    assert_int_equal(count_names(w, s), 1);
    rb_store_close(s);
}

static void a_bad_run_leaves_nothing(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    const double bad[] = {30, NAN, 31}, negative[] = {-1}, endless[] = {INFINITY};
    const struct rb_run_sample runs[] = {make_run(1, 1, "{}", bad, 3),     make_run(1, 1, "{}", negative, 1),
                                         make_run(1, 1, "{}", endless, 1), make_run(0, 1, "{}", unit_s, 3),
                                         make_run(1, 2, "{}", unit_s, 3),  make_run(1, 1, "{}", unit_s, 0)};
    for (int i = 0; i < N_OF(runs); i++) {
        assert_false(rb_store_add_run(s, "cifar", &runs[i], &w->err));
        assert_int_equal(w->err.code, RB_ERR_INVALID);
    }
    assert_int_equal(count_names(w, s), 0);
    rb_store_close(s);
}

static void a_read_only_store_cannot_be_written(void **state)
{
    struct world *w = *state;
    rb_store_close(open_store(w, false));
    struct rb_store *s = open_store(w, true);
    const struct rb_run_sample run = make_run(1, 1, "{}", unit_s, 3);
    assert_false(rb_store_add_run(s, "cifar", &run, &w->err));
    rb_store_close(s);
}

static void names_list_what_they_rest_on(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    struct rb_run_sample run = make_run(1, 1, "{}", unit_s, 3);
    const struct rb_throughput_sample iteration = {1, 1, 8, 0.2, 0.01};
    struct rb_profile_name *names;
    int n;
    assert_ok(rb_store_add_run(s, "b", &run, &w->err), &w->err);
    run.measured_at_us += 5;
    assert_ok(rb_store_add_run(s, "b", &run, &w->err), &w->err);
    rb_store_stamp(s, 77, "x.csv");
    assert_ok(rb_store_add_throughput(s, "a", "T4", 8, 100, &iteration, &w->err), &w->err);
    assert_ok(rb_store_list(s, &w->arena, &names, &n, &w->err), &w->err);
    assert_int_equal(n, 2);
    assert_string_equal(names[0].name, "a");
    assert_int_equal(names[0].n_throughput, 1);
    assert_int_equal(names[0].changed_at_us, 77);
    assert_string_equal(names[1].name, "b");
    assert_int_equal(names[1].n_runs, 2);
    assert_int_equal(names[1].n_units, 6);
    assert_int_equal(names[1].changed_at_us, run.measured_at_us);
    assert_false(names[1].imported);
    rb_store_close(s);
}

static void prices_replace_the_same_machine_and_market(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    struct rb_offer offers[] = {{.infra = "aws/us-west-2",
                                 .instance_type = "g5.xlarge",
                                 .accelerator = "A10G",
                                 .gpus = 1,
                                 .gpu_memory_gb = 24,
                                 .vcpus = 4,
                                 .memory_gb = 16,
                                 .market = RB_MARKET_SPOT,
                                 .rate = {400000},
                                 .source = "x",
                                 .fetched_at_us = -1},
                                {.infra = "aws/us-east-1",
                                 .instance_type = "g5.xlarge",
                                 .accelerator = "A10G",
                                 .gpus = 1,
                                 .gpu_memory_gb = 24,
                                 .vcpus = 4,
                                 .memory_gb = 16,
                                 .market = RB_MARKET_ON_DEMAND,
                                 .rate = {1006000},
                                 .source = "x",
                                 .fetched_at_us = 5}};
    struct rb_disk_price disk = {"aws/us-east-1", {110}};
    const struct rb_catalog catalog = {offers, 2, &disk, 1};
    struct rb_catalog read;
    assert_ok(rb_store_put_prices(s, &catalog, &w->err), &w->err);
    offers[0].rate.uusd_per_hour = 500000;
    assert_ok(rb_store_put_prices(s, &catalog, &w->err), &w->err);
    assert_ok(rb_store_prices(s, &w->arena, &read, &w->err), &w->err);
    assert_int_equal(read.n_offers, 2);
    assert_string_equal(read.offers[0].infra, "aws/us-east-1"); // canonical order
    assert_int_equal(read.offers[0].rate.uusd_per_hour, 1006000);
    assert_int_equal(read.offers[0].fetched_at_us, 5);
    assert_int_equal(read.offers[1].rate.uusd_per_hour, 500000);
    assert_int_equal(read.offers[1].market, RB_MARKET_SPOT);
    assert_int_equal(read.n_disks, 1);
    assert_int_equal(read.disks[0].per_gb.uusd_per_hour, 110);
    rb_store_close(s);
}

static void a_price_of_zero_is_an_error(void **state)
{
    struct world *w = *state;
    rb_store_close(open_store(w, false));
    execute(w->db, "INSERT INTO price VALUES('aws/us-east-1','g5.xlarge','spot','A10G',1,24,4,16,0,0,'x',-1)");
    struct rb_store *s = open_store(w, true);
    struct rb_catalog read;
    assert_false(rb_store_prices(s, &w->arena, &read, &w->err));
    assert_int_equal(rb_err_number(&w->err), RB_E_PRICE_ABSURD);
    rb_store_close(s);
}

static void another_writer_does_not_stop_readers(void **state)
{
    struct world *w = *state;
    rb_store_close(open_store(w, false));
    sqlite3 *other;
    assert_int_equal(sqlite3_open(w->db, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    struct rb_store *s = open_store(w, false);
    assert_int_equal(count_names(w, s), 0); // readers are not stopped
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_ok(rb_store_begin(s, &w->err), &w->err);
    rb_store_rollback(s);
    sqlite3_close(other);
    rb_store_close(s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_new_store_is_private),
        TEST(the_default_place_is_made_private_too),
        TEST(reading_what_is_not_there),
        TEST(a_missing_directory_is_named),
        TEST(names_that_sqlite_would_take_for_commands),
        TEST(a_newer_version_is_refused),
        TEST(results_of_ended_runs_are_kept_the_newest_first),
        TEST(an_older_store_has_no_results_and_takes_them),
        TEST(results_of_schema_2_are_kept_without_metrics),
        TEST(metrics_are_of_drawn_configurations_and_none_counts_twice),
        TEST(a_training_is_the_space_the_command_and_how_far),
        TEST(results_out_of_their_range_are_refused),
        TEST(predictions_are_judged_by_what_they_promised),
        TEST(units_of_runs_count_beside_measured_ones),
        TEST(an_older_store_is_read_and_brought_up_to_date),
        TEST(files_of_others_are_refused_and_left_alone),
        TEST(a_store_with_missing_tables_is_refused),
        TEST(a_damaged_store_is_an_error),
        TEST(rolled_back_means_unchanged),
        TEST(a_bad_run_leaves_nothing),
        TEST(a_read_only_store_cannot_be_written),
        TEST(names_list_what_they_rest_on),
        TEST(prices_replace_the_same_machine_and_market),
        TEST(a_price_of_zero_is_an_error),
        TEST(another_writer_does_not_stop_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
