#include "profiles/store/found.h"

#include "profiles/job/job_names.h"
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

// ---- writing

// config: {"lr":0.01,..}. A null unit_s is not known. An older program ignores these tables.
static const char tables[] =
    "CREATE TABLE IF NOT EXISTS search(id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, job TEXT NOT NULL,"
    " space TEXT NOT NULL, ended_at_us INTEGER NOT NULL) STRICT;"
    "CREATE INDEX IF NOT EXISTS search_space ON search(space);"
    "CREATE TABLE IF NOT EXISTS found(search INTEGER NOT NULL REFERENCES search(id) ON DELETE CASCADE,"
    " trial INTEGER NOT NULL, resource INTEGER NOT NULL CHECK(resource >= 1), config TEXT NOT NULL,"
    " quantile REAL NOT NULL CHECK(quantile > 0 AND quantile < 1), unit_s REAL CHECK(unit_s > 0),"
    " PRIMARY KEY(search, trial, resource)) STRICT, WITHOUT ROWID";

static bool make_tables(struct rb_store *s, struct rb_err *err)
{
    return sqlite3_exec(s->db, tables, NULL, NULL, NULL) == SQLITE_OK || rb_store_sql_error(s, err);
}

static bool insert(struct rb_store *s, const struct rb_found *f, struct rb_err *err)
{
    if (!rb_store_run(s, err, "DELETE FROM search WHERE run = ?", "s", f->run) ||
        !rb_store_run(s, err, "INSERT INTO search(run, job, space, ended_at_us) VALUES(?,?,?,?)", "sssI", f->run,
                      f->job, f->space, f->ended_at_us))
        return false;
    const int64_t id = sqlite3_last_insert_rowid(s->db);
    for (int i = 0; i < f->n; i++) {
        const struct rb_found_result *r = &f->results[i];
        if (!rb_store_run(s, err,
                          "INSERT INTO found(search, trial, resource, config, quantile, unit_s) VALUES(?,?,?,?,?,?)",
                          "IiIsdd", id, r->trial, r->resource, r->config_json, r->quantile, r->unit_s))
            return false;
    }
    return true;
}

bool rb_store_put_found(struct rb_store *s, const struct rb_found *found, struct rb_err *err)
{
    if (!rb_store_run(s, err, "SAVEPOINT one_search", ""))
        return false;
    const bool ok = make_tables(s, err) && insert(s, found, err);
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

// The file is not trusted.
static bool read_result(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    const struct rb_found_result r = {
        .trial = sqlite3_column_int(row, 0),
        .resource = sqlite3_column_int64(row, 1),
        .config_json = rb_store_text(row, 2, arena),
        .quantile = sqlite3_column_double(row, 3),
        .unit_s = sqlite3_column_type(row, 4) == SQLITE_NULL ? NAN : sqlite3_column_double(row, 4)};
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

bool rb_store_found(struct rb_store *s, const char *space, int most, struct rb_arena *arena, struct rb_found **out,
                    int *out_n, struct rb_err *err)
{
    void *rows;
    int n;
    *out_n = 0;
    if (!rb_store_select(s, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'found'", NULL, read_nothing,
                         1, arena, &rows, &n, err))
        return false;
    if (n == 0)
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
