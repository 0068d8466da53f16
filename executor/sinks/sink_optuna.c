// Optuna: a study in a relational storage (sqlite), by plain SQL. Everything between two flushes is one transaction, and every
// statement may be repeated, so that readers see whole states and a repetition changes nothing.
#include "executor/sinks/optuna_schema.h"
#include "executor/sinks/sink.h"
#include "executor/sinks/sink_file.h"

#include "base/document/json.h"
#include "base/text/units.h"

#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct optuna_trial {
    int64_t id; // in the file; 0: not started
    double last;
};

struct optuna {
    const struct rb_sink_run *run;
    const char *path, *head;
    sqlite3 *db;
    bool in_transaction;
    int64_t study;
    struct optuna_trial *trials;
    int n;
};

// --- statements

static bool sql_error(struct optuna *o, struct rb_err *err)
{
    const int code = sqlite3_errcode(o->db);
    return code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_CANTOPEN || code == SQLITE_READONLY
               ? rb_err_set(err, RB_E_SINK_FILE, "cannot write %s: %s", o->path, sqlite3_errmsg(o->db))
               : rb_err_set(err, RB_E_SINK_STORAGE, "%s: %s", o->path, sqlite3_errmsg(o->db));
}

static bool exec(struct optuna *o, const char *sql, struct rb_err *err)
{
    return sqlite3_exec(o->db, sql, NULL, NULL, NULL) == SQLITE_OK || sql_error(o, err);
}

// types: 'i' int64_t, 't' text (NULL: NULL), 'd' double (not finite: NULL). out NULL: no row is wanted; else the first
// column of the first row, untouched where there is none.
static bool run_sql(struct optuna *o, int64_t *out, struct rb_err *err, const char *sql, const char *types, ...)
{
    sqlite3_stmt *st = NULL;
    bool ok = sqlite3_prepare_v2(o->db, sql, -1, &st, NULL) == SQLITE_OK;
    va_list ap;
    va_start(ap, types);
    for (int i = 0; ok && types[i]; i++) {
        if (types[i] == 'i') {
            ok = sqlite3_bind_int64(st, i + 1, va_arg(ap, int64_t)) == SQLITE_OK;
        } else if (types[i] == 'd') {
            const double v = va_arg(ap, double);
            ok = (isfinite(v) ? sqlite3_bind_double(st, i + 1, v) : sqlite3_bind_null(st, i + 1)) == SQLITE_OK;
        } else {
            ok = sqlite3_bind_text(st, i + 1, va_arg(ap, const char *), -1, SQLITE_TRANSIENT) == SQLITE_OK;
        }
    }
    va_end(ap);
    const int rc = ok ? sqlite3_step(st) : SQLITE_ERROR;
    if (rc == SQLITE_ROW && out)
        *out = sqlite3_column_int64(st, 0);
    ok = ok && (rc == SQLITE_ROW || rc == SQLITE_DONE);
    if (!ok)
        sql_error(o, err);
    sqlite3_finalize(st);
    return ok;
}

static bool begin(struct optuna *o, struct rb_err *err)
{
    if (o->in_transaction)
        return true;
    if (!exec(o, "BEGIN IMMEDIATE", err))
        return false;
    o->in_transaction = true;
    return true;
}

// --- the file

static bool create_schema(struct optuna *o, struct rb_err *err)
{
    const bool with_index = strcmp(o->head, RB_OPTUNA_HEAD_32) == 0;
    return exec(o, rb_optuna_schema, err) && (!with_index || exec(o, rb_optuna_schema_32, err)) &&
           run_sql(o, NULL, err, "INSERT INTO version_info VALUES (1, 12, ?)", "t", with_index ? "3.2.0" : "3.0.0") &&
           run_sql(o, NULL, err, "INSERT INTO alembic_version VALUES (?)", "t", o->head);
}

static bool check_head(struct optuna *o, struct rb_err *err)
{
    int64_t same = 0;
    const char *other = strcmp(o->head, RB_OPTUNA_HEAD_32) == 0 ? RB_OPTUNA_HEAD_30 : RB_OPTUNA_HEAD_32;
    int64_t is_other = 0;
    if (!run_sql(o, &same, err, "SELECT count(*) FROM alembic_version WHERE version_num = ?", "t", o->head) ||
        !run_sql(o, &is_other, err, "SELECT count(*) FROM alembic_version WHERE version_num = ?", "t", other))
        return false;
    if (is_other)
        return rb_err_set(err, RB_E_SINK_STORAGE,
                          "%s: it has the schema %s, not %s; say --schema %s, or name another file", o->path, other,
                          o->head, strcmp(other, RB_OPTUNA_HEAD_30) == 0 ? "3.0" : "3.2");
    return same || rb_err_set(err, RB_E_SINK_STORAGE,
                              "%s: it has a schema of another version of Optuna; name another file", o->path);
}

static bool open_file(struct optuna *o, struct rb_err *err)
{
    int64_t n_tables = 0;
    if (!rb_sink_make_dirs(o->path, false, err))
        return false;
    if (sqlite3_open_v2(o->path, &o->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
        return rb_err_set(err, RB_E_SINK_FILE, "cannot write %s: %s", o->path,
                          o->db ? sqlite3_errmsg(o->db) : "out of memory");
    sqlite3_busy_timeout(o->db, 10000); // Optuna's own readers lock it for a moment
    if (!begin(o, err) || !run_sql(o, &n_tables, err, "SELECT count(*) FROM sqlite_master", ""))
        return false;
    return n_tables == 0 ? create_schema(o, err) : check_head(o, err);
}

// --- the study

static bool set_attribute(struct optuna *o, const char *key, const char *json, struct rb_err *err)
{
    return run_sql(o, NULL, err,
                   "INSERT INTO study_user_attributes(study_id, \"key\", value_json) VALUES (?, ?, ?) "
                   "ON CONFLICT(study_id, \"key\") DO UPDATE SET value_json = excluded.value_json",
                   "itt", o->study, key, json);
}

static bool set_text(struct optuna *o, const char *key, const char *text, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf json = RB_BUF_INIT;
    struct rb_json j = {.out = &json};
    rb_json_string(&j, text);
    return set_attribute(o, key, rb_buf_str(&json), err);
}

static bool make_study(struct optuna *o, struct rb_err *err)
{
    const struct rb_job *job = o->run->plan->job;
    if (!run_sql(o, NULL, err, "INSERT INTO studies(study_name) VALUES (?)", "t", o->run->run_id))
        return false;
    o->study = sqlite3_last_insert_rowid(o->db);
    return run_sql(o, NULL, err, "INSERT INTO study_directions(direction, study_id, objective) VALUES (?, ?, 0)", "ti",
                   job->goal == RB_GOAL_MAXIMIZE ? "MAXIMIZE" : "MINIMIZE", o->study) &&
           set_text(o, "rubberband:run", o->run->run_id, err) &&
           set_text(o, "rubberband:plan_sha256", o->run->plan_sha256, err) &&
           set_text(o, "rubberband:metric", job->metric_name, err);
}

static bool find_study(struct optuna *o, struct rb_err *err)
{
    int64_t ours = 0;
    if (!run_sql(o, &o->study, err, "SELECT study_id FROM studies WHERE study_name = ?", "t", o->run->run_id))
        return false;
    if (o->study == 0)
        return make_study(o, err);
    if (!run_sql(o, &ours, err,
                 "SELECT count(*) FROM study_user_attributes WHERE study_id = ? AND \"key\" = 'rubberband:run'", "i",
                 o->study))
        return false;
    return ours || rb_err_set(err, RB_E_SINK_OTHERS_FILE,
                              "%s has a study %s that is not of this run; name another file", o->path, o->run->run_id);
}

static void optuna_close(void *sink)
{
    struct optuna *o = sink;
    sqlite3_close(o->db); // an open transaction is rolled back
    free(o->trials);
    free(o);
}

static bool optuna_open(const struct rb_sink_run *run, const struct rb_sink_target *target, void **out,
                        struct rb_err *err)
{
    struct optuna *o = rb_xcalloc(1, sizeof *o);
    o->run = run;
    o->path = target->path;
    o->head = target->spec->schema && strcmp(target->spec->schema, "3.0") == 0 ? RB_OPTUNA_HEAD_30 : RB_OPTUNA_HEAD_32;
    if (!open_file(o, err) || !find_study(o, err)) {
        optuna_close(o);
        return false;
    }
    *out = o;
    return true;
}

// --- parameters

static void write_bounds(struct rb_json *j, const char *name, double low, double high, bool log)
{
    rb_json_put(j, "{name: %s, attributes: {step: ", name);
    rb_json_null(j);
    rb_json_put(j, "low: %g, high: %g, log: %i}}", low, high, (int)log);
}

// The last value that the steps reach.
static double last_step(const struct rb_param *p)
{
    return p->min + floor((p->max - p->min) / p->q + 1e-9) * p->q;
}

static void write_steps(struct rb_json *j, const struct rb_param *p, bool whole)
{
    const double step = p->kind == RB_PARAM_Q_UNIFORM ? p->q : 1;
    const double high = p->kind == RB_PARAM_Q_UNIFORM ? last_step(p) : p->max;
    if (whole)
        rb_json_put(j, "{name: 'IntDistribution', attributes: {log: false, step: %jd, low: %jd, high: %jd}}",
                    (int64_t)step, (int64_t)p->min, (int64_t)high);
    else
        rb_json_put(j, "{name: 'FloatDistribution', attributes: {step: %g, low: %g, high: %g, log: false}}", step,
                    p->min, high);
}

static void write_choices(struct rb_json *j, const struct rb_param *p)
{
    rb_json_put(j, "{name: 'CategoricalDistribution', attributes: {choices: [");
    for (int i = 0; i < p->n_values; i++)
        rb_value_json(&p->values[i], j);
    rb_json_put(j, "]}}");
}

// Optuna has no normal distributions: ten standard deviations each way hold every draw.
static void write_distribution(const struct rb_param *p, struct rb_json *j)
{
    const double low = p->mu - 10 * p->sigma, high = p->mu + 10 * p->sigma;
    switch (p->kind) {
    case RB_PARAM_CONSTANT:
    case RB_PARAM_CHOICE:
        write_choices(j, p);
        break;
    case RB_PARAM_UNIFORM:
    case RB_PARAM_LOG_UNIFORM:
        write_bounds(j, "FloatDistribution", p->min, p->max, p->kind == RB_PARAM_LOG_UNIFORM);
        break;
    case RB_PARAM_NORMAL:
        write_bounds(j, "FloatDistribution", low, high, false);
        break;
    case RB_PARAM_LOG_NORMAL:
        write_bounds(j, "FloatDistribution", fmax(exp(low), 1e-300), fmin(exp(high), 1e300), true);
        break;
    case RB_PARAM_INT_UNIFORM:
        write_steps(j, p, true);
        break;
    case RB_PARAM_Q_UNIFORM:
        write_steps(j, p, p->whole);
        break;
    }
}

// Of a choice its place in the list.
static double internal_value(const struct rb_param *p, const struct rb_value *v)
{
    for (int i = 0; i < p->n_values; i++)
        if (rb_value_equal(&p->values[i], v))
            return i;
    return v->kind == RB_VALUE_INT ? (double)v->integer : v->kind == RB_VALUE_BOOL ? v->boolean : v->number;
}

static bool put_params(struct optuna *o, const struct rb_sink_trial *t, int64_t id, struct rb_err *err)
{
    const struct rb_space *space = &o->run->plan->job->space;
    for (int i = 0; i < space->n_params; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf json = RB_BUF_INIT;
        struct rb_json j = {.out = &json};
        if (t->values[i].kind == RB_VALUE_ABSENT)
            continue;
        write_distribution(&space->params[i], &j);
        if (!run_sql(
                o, NULL, err,
                "INSERT INTO trial_params(trial_id, param_name, param_value, distribution_json) VALUES (?, ?, ?, ?) "
                "ON CONFLICT(trial_id, param_name) DO NOTHING",
                "itdt", id, space->params[i].name, internal_value(&space->params[i], &t->values[i]), rb_buf_str(&json)))
            return false;
    }
    return true;
}

// --- trials

static void instant(int64_t unix_us, char out[static 40])
{
    const time_t s = (time_t)(unix_us / RB_US_PER_S);
    struct tm tm;
    gmtime_r(&s, &tm);
    const size_t n = strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(out + n, 40 - n, ".%06d", (int)(unix_us % RB_US_PER_S));
}

static struct optuna_trial *room_for(struct optuna *o, int trial)
{
    if (trial >= o->n) {
        o->trials = rb_xrealloc(o->trials, (size_t)trial + 1, sizeof *o->trials);
        memset(&o->trials[o->n], 0, (size_t)(trial + 1 - o->n) * sizeof *o->trials);
        o->n = trial + 1;
    }
    return &o->trials[trial];
}

static bool optuna_trial_started(void *sink, const struct rb_sink_trial *t, struct rb_err *err)
{
    struct optuna *o = sink;
    struct optuna_trial *known = room_for(o, t->trial);
    char at[40];
    known->last = NAN;
    instant(t->unix_us, at);
    if (!begin(o, err) || !run_sql(o, &known->id, err, "SELECT trial_id FROM trials WHERE study_id = ? AND number = ?",
                                   "ii", o->study, (int64_t)t->trial))
        return false;
    if (known->id)
        return true;
    if (!run_sql(o, NULL, err,
                 "INSERT INTO trials(number, study_id, state, datetime_start) VALUES (?, ?, 'RUNNING', ?)", "iit",
                 (int64_t)t->trial, o->study, at))
        return false;
    known->id = sqlite3_last_insert_rowid(o->db);
    return put_params(o, t, known->id, err);
}

static const char *type_of(double v, const char *nan)
{
    return isfinite(v) ? "FINITE" : isnan(v) ? nan : v > 0 ? "INF_POS" : "INF_NEG";
}

// A step that was trained a second time, after a loss, counts as it was trained last.
static bool optuna_reported(void *sink, const struct rb_sink_report *r, struct rb_err *err)
{
    struct optuna *o = sink;
    if (r->trial >= o->n || o->trials[r->trial].id == 0)
        return true;
    o->trials[r->trial].last = r->metric;
    return begin(o, err) &&
           run_sql(o, NULL, err,
                   "INSERT INTO trial_intermediate_values(trial_id, step, intermediate_value, intermediate_value_type) "
                   "VALUES (?, ?, ?, ?) ON CONFLICT(trial_id, step) DO UPDATE SET intermediate_value = "
                   "excluded.intermediate_value, intermediate_value_type = excluded.intermediate_value_type",
                   "iidt", o->trials[r->trial].id, r->resource, r->metric, type_of(r->metric, "NAN"));
}

static bool set_value(struct optuna *o, const struct optuna_trial *t, bool has, struct rb_err *err)
{
    if (!run_sql(o, NULL, err, "DELETE FROM trial_values WHERE trial_id = ?", "i", t->id))
        return false;
    return !has ||
           run_sql(o, NULL, err, "INSERT INTO trial_values(trial_id, objective, value, value_type) VALUES (?, 0, ?, ?)",
                   "idt", t->id, t->last, type_of(t->last, ""));
}

// Optuna calls a trial whose value is no number failed, and so do we.
static bool optuna_trial_ended(void *sink, int trial, enum rb_sink_state state, int64_t unix_us, struct rb_err *err)
{
    static const char *const names[] = {"RUNNING", "COMPLETE", "PRUNED", "FAIL"};
    struct optuna *o = sink;
    char at[40];
    if (trial >= o->n || o->trials[trial].id == 0)
        return true;
    const struct optuna_trial *t = &o->trials[trial];
    const bool has_value = !isnan(t->last) && (state == RB_SINK_COMPLETED || state == RB_SINK_STOPPED);
    const char *name = state == RB_SINK_COMPLETED && !has_value ? "FAIL" : names[state];
    instant(unix_us, at);
    return begin(o, err) &&
           run_sql(o, NULL, err, "UPDATE trials SET state = ?, datetime_complete = ? WHERE trial_id = ?", "tti", name,
                   state == RB_SINK_RUNNING ? NULL : at, t->id) &&
           set_value(o, t, has_value, err);
}

static bool optuna_flush(void *sink, const struct rb_sink_now *now, struct rb_err *err)
{
    struct optuna *o = sink;
    char cost[40];
    snprintf(cost, sizeof cost, "%.6f", (double)now->report->cost_uusd / 1e6);
    if (!begin(o, err) || !set_attribute(o, "rubberband:cost_dollars", cost, err) || !exec(o, "COMMIT", err))
        return false;
    o->in_transaction = false;
    return true;
}

const struct rb_sink_ops rb_sink_optuna = {
    .name = "optuna",
    .open = optuna_open,
    .trial_started = optuna_trial_started,
    .reported = optuna_reported,
    .trial_ended = optuna_trial_ended,
    .flush = optuna_flush,
    .close = optuna_close,
};
