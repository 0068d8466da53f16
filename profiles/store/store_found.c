#include "profiles/store/found.h"

#include "profiles/job/job_names.h"
#include "profiles/store/measured.h"
#include "profiles/store/store_sql.h"

#include <math.h>

#define TEXT_OF(number)     #number
#define NUMBER_TEXT(number) TEXT_OF(number)

void rb_found_space(const struct rb_job *job, rb_digest_fn *digest, char out_hex[65])
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j = {.out = &text};
    rb_json_begin_object(&j);
    rb_json_key(&j, "parameters");
    rb_space_write(&job->space, &j);
    rb_json_kstring(&j, "metric", job->metric_name);
    rb_json_kstring(&j, "goal", rb_goal_names[job->goal]);
    rb_json_end_object(&j);
    digest(text.data, text.len, out_hex);
}

void rb_found_training(const struct rb_job *job, rb_digest_fn *digest, char out_hex[65])
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_measured_of of;
    struct rb_json j = {.out = &text};
    char space[65];
    rb_measured_of_job(job, NULL, digest, &arena, &of);
    rb_found_space(job, digest, space);
    rb_json_put(&j, "{space: %s command: %s unit: %s max_resource: %jd}", space, of.command, job->scheduler.unit,
                job->scheduler.max_resource);
    digest(text.data, text.len, out_hex);
}

// ---- writing

static bool insert(struct rb_store *s, const struct rb_found *f, struct rb_err *err)
{
    if (!rb_store_run(s, err, "DELETE FROM search WHERE run = ?", "s", f->run) ||
        !rb_store_run(s, err, "INSERT INTO search(run, job, space, training, ended_at_us) VALUES(?,?,?,?,?)", "ssssI",
                      f->run, f->job, f->space, f->training, f->ended_at_us))
        return false;
    const int64_t id = sqlite3_last_insert_rowid(s->db);
    for (int i = 0; i < f->n; i++) {
        const struct rb_found_result *r = &f->results[i];
        if (!rb_store_run(s, err,
                          "INSERT INTO found(search, trial, resource, config, quantile, unit_s, metric, drawn)"
                          " VALUES(?,?,?,?,?,?,?,?)",
                          "IiIsdddi", id, r->trial, r->resource, r->config_json, r->quantile, r->unit_s,
                          f->training ? r->metric : NAN, f->training && r->drawn))
            return false;
    }
    return true;
}

bool rb_store_put_found(struct rb_store *s, const struct rb_found *found, struct rb_err *err)
{
    if (!rb_store_run(s, err, "SAVEPOINT one_search", ""))
        return false;
    const bool ok = insert(s, found, err);
    const bool closed = (ok || rb_store_run(s, NULL, "ROLLBACK TO one_search", "")) &&
                        rb_store_run(s, ok ? err : NULL, "RELEASE one_search", "");
    return ok && closed;
}

// ---- reading

static bool read_nothing(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    (void)row, (void)arena, (void)out, (void)err;
    return true;
}

static bool read_run(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    (void)err;
    *(struct rb_found *)out = (struct rb_found){.run = rb_store_text(row, 0, arena),
                                                .job = rb_store_text(row, 1, arena),
                                                .space = rb_store_text(row, 2, arena),
                                                .ended_at_us = sqlite3_column_int64(row, 3)};
    return true;
}

static double number(sqlite3_stmt *row, int column) // NAN: null
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN : sqlite3_column_double(row, column);
}

// The file is not trusted.
static bool read_result(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    const struct rb_found_result r = {
        .trial = sqlite3_column_int(row, 0),
        .resource = sqlite3_column_int64(row, 1),
        .config_json = rb_store_text(row, 2, arena),
        .quantile = sqlite3_column_double(row, 3),
        .unit_s = number(row, 4),
        .metric = NAN};
    if (r.resource < 1 || !(r.quantile > 0 && r.quantile < 1) ||
        (!isnan(r.unit_s) && !(r.unit_s > 0 && isfinite(r.unit_s))))
        return rb_err_set(
            err, RB_E_STORE_DAMAGED,
            "the profile store is damaged: a result of trial %d has a resource, rank or time out of its range: "
            "restore a copy, or name another file",
            r.trial);
    *(struct rb_found_result *)out = r;
    return true;
}

// An older store may lack it, if it was not opened to be written.
static bool has_column(struct rb_store *s, const char *name, struct rb_arena *arena, bool *out, struct rb_err *err)
{
    void *rows;
    int n;
    if (!rb_store_select(s, "SELECT 1 FROM pragma_table_info('found') WHERE name = ?1", name, read_nothing, 1, arena,
                         &rows, &n, err))
        return false;
    *out = n > 0;
    return true;
}

bool rb_store_found(struct rb_store *s, const char *space, int most, struct rb_arena *arena, struct rb_found **out,
                    int *out_n, struct rb_err *err)
{
    void *rows;
    int n;
    bool has;
    *out_n = 0;
    if (!has_column(s, "quantile", arena, &has, err))
        return false;
    if (!has)
        return true;
    if (!rb_store_select(
            s, "SELECT run, job, space, ended_at_us FROM search WHERE space = ?1 ORDER BY ended_at_us DESC, run", space,
            read_run, sizeof(struct rb_found), arena, &rows, &n, err))
        return false;
    struct rb_found *found = rows;
    n = n < most ? n : most;
    for (int i = 0; i < n; i++) {
        if (!rb_store_select(
                s,
                "SELECT trial, resource, config, quantile, unit_s FROM found JOIN search ON search.id ="
                " found.search WHERE run = ?1 ORDER BY resource DESC, trial LIMIT " NUMBER_TEXT(RB_FOUND_RESULTS),
                found[i].run, read_result, sizeof(struct rb_found_result), arena, &rows, &found[i].n, err))
            return false;
        found[i].results = rows;
    }
    *out = found;
    *out_n = n;
    return true;
}

// ---- metrics

static bool read_metric(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    const struct rb_found_metric r = {.config_json = rb_store_text(row, 0, arena),
                                      .resource = sqlite3_column_int64(row, 1),
                                      .metric = number(row, 2)};
    if (r.resource < 1 || isinf(r.metric))
        return rb_err_set(err, RB_E_STORE_DAMAGED,
                          "the profile store is damaged: a result of %s has a resource or metric out of its range: "
                          "restore a copy, or name another file",
                          r.config_json);
    *(struct rb_found_metric *)out = r;
    return true;
}

bool rb_store_found_metrics(struct rb_store *s, const char *training, struct rb_arena *arena,
                            struct rb_found_metrics *out, struct rb_err *err)
{
    void *rows, *ignored;
    int n, n_runs;
    bool has;
    *out = (struct rb_found_metrics){0};
    if (!has_column(s, "metric", arena, &has, err))
        return false;
    if (!has)
        return true;
    // of each group sqlite takes the row with the maximum
    if (!rb_store_select(s,
                         "SELECT config, resource, metric, max(ended_at_us) FROM found JOIN search ON search.id ="
                         " found.search WHERE training = ?1 AND drawn GROUP BY config, resource ORDER BY config, resource",
                         training, read_metric, sizeof(struct rb_found_metric), arena, &rows, &n, err) ||
        !rb_store_select(s,
                         "SELECT DISTINCT search FROM found JOIN search ON search.id = found.search WHERE training = ?1"
                         " AND drawn",
                         training, read_nothing, 1, arena, &ignored, &n_runs, err))
        return false;
    *out = (struct rb_found_metrics){.results = rows, .n = n, .n_runs = n_runs};
    return true;
}
