#include "simulator/cluster/trace.h"

#include "base/text/buf.h"
#include "base/document/csv.h"
#include "base/limits.h"
#include "base/text/units.h"

#include <stdlib.h>
#include <string.h>

enum column { NAME, TIME, APPLICATION, GPUS, BATCH, DEADLINE, WEIGHT, VALUE, N_COLUMNS };
static const char *const columns[N_COLUMNS] = {"name",       "time",       "application", "num_replicas",
                                               "batch_size", "deadline_s", "weight",      "usd_per_hour_sooner"};
static const bool required[N_COLUMNS] = {true, true, true, true, true, false, false, false};

struct reading {
    struct rb_csv csv;
    const struct rb_apps *apps;
    int at[N_COLUMNS]; // -1: not there
    struct rb_err *err;
};

static void finish_reading(struct reading *r)
{
    rb_csv_finish(&r->csv);
}

static bool unknown_application(const struct reading *r, int row)
{
    RB_AUTO(rb_buf_finish) struct rb_buf known = RB_BUF_INIT;
    for (int i = 0; i < r->apps->n; i++)
        rb_buf_printf(&known, "%s%s", i == 0 ? "" : i + 1 < r->apps->n ? ", " : " or ", r->apps->apps[i].name);
    return rb_csv_error(&r->csv, row, r->at[APPLICATION], r->err,
                        "expected an application of --apps (%s), got \"%.60s\"", rb_buf_str(&known),
                        r->csv.cells[row][r->at[APPLICATION]]);
}

static bool read_size(const struct reading *r, int row, struct rb_trace_job *job)
{
    const struct rb_app *app = job->app;
    int64_t gpus, batch;
    if (!rb_csv_int(&r->csv, row, r->at[GPUS], 1, RB_APP_MAX_GPUS, &gpus, r->err) ||
        !rb_csv_int(&r->csv, row, r->at[BATCH], app->init_batch, app->max_batch, &batch, r->err))
        return false;
    job->gpus = (int)gpus;
    job->batch = (int)batch;
    return batch >= gpus * app->min_local_batch ||
           rb_csv_error(&r->csv, row, r->at[BATCH], r->err,
                        "expected at least %lld, num_replicas times the %d that %s trains at least on a GPU",
                        (long long)(gpus * app->min_local_batch), app->min_local_batch, app->name);
}

static bool read_wishes(const struct reading *r, int row, struct rb_trace_job *job)
{
    double deadline_s;
    job->deadline_us = INT64_MAX;
    job->weight = 1;
    if (r->at[DEADLINE] >= 0 && r->csv.cells[row][r->at[DEADLINE]][0] != '\0') {
        if (!rb_csv_double(&r->csv, row, r->at[DEADLINE], 1, RB_LIMIT_DURATION_S, &deadline_s, r->err))
            return false;
        job->deadline_us = rb_us_from_seconds(deadline_s);
    }
    return r->at[WEIGHT] < 0 || rb_csv_double(&r->csv, row, r->at[WEIGHT], 1e-3, 1e3, &job->weight, r->err);
}

// A field that is present in some rows only is an error: a missing value is not 0.
static bool read_value(const struct reading *r, int row, struct rb_trace_job *job)
{
    struct rb_err why;
    job->has_value = r->at[VALUE] >= 0;
    if (!job->has_value || rb_parse_rate(r->csv.cells[row][r->at[VALUE]], true, &job->value, &why))
        return true;
    return rb_csv_error(&r->csv, row, r->at[VALUE], r->err,
                        "expected USD, as in every row of this column or in none (leave the column out): %s",
                        why.message);
}

static bool read_job(const struct reading *r, int row, struct rb_arena *arena, struct rb_trace_job *job)
{
    const char *name = r->csv.cells[row][r->at[NAME]];
    double time_s;
    if (!*name)
        return rb_csv_error(&r->csv, row, r->at[NAME], r->err, "expected the job's name");
    job->row = row;
    job->name = rb_arena_strdup(arena, name);
    job->app = rb_apps_find(r->apps, r->csv.cells[row][r->at[APPLICATION]]);
    if (!job->app)
        return unknown_application(r, row);
    if (!rb_csv_double(&r->csv, row, r->at[TIME], 0, RB_LIMIT_DURATION_S, &time_s, r->err))
        return false;
    job->submitted_us = rb_us_from_seconds(time_s);
    return read_size(r, row, job) && read_wishes(r, row, job) && read_value(r, row, job);
}

static int by_submission(const void *pa, const void *pb)
{
    const struct rb_trace_job *a = pa, *b = pb;
    if (a->submitted_us != b->submitted_us)
        return a->submitted_us < b->submitted_us ? -1 : 1;
    return a->row - b->row;
}

static int by_name(const void *pa, const void *pb)
{
    const char *const *a = pa, *const *b = pb;
    return strcmp(*a, *b);
}

static bool check_names(const struct rb_trace_job *jobs, int n, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) const char **names = rb_xcalloc((size_t)n, sizeof *names);
    for (int i = 0; i < n; i++)
        names[i] = jobs[i].name;
    qsort(names, (size_t)n, sizeof *names, by_name);
    for (int i = 1; i < n; i++) {
        if (strcmp(names[i - 1], names[i]) == 0)
            return rb_err_set_at(err, RB_E_TRACE_JOBS, (struct rb_place){.file = path}, "name",
                                 "two jobs are called \"%.60s\": results are listed by name, rename one", names[i]);
    }
    return true;
}

static bool read_jobs(struct reading *r, const char *path, struct rb_trace *out)
{
    if (!rb_csv_check_columns(&r->csv, columns, required, N_COLUMNS, r->err))
        return false;
    for (int c = 0; c < N_COLUMNS; c++)
        r->at[c] = rb_csv_column(&r->csv, columns[c]);
    if (r->csv.n_rows == 0 || r->csv.n_rows > RB_LIMIT_TRIALS)
        return rb_err_set_at(r->err, RB_E_TRACE_JOBS, (struct rb_place){path, r->csv.header_line, 0}, NULL,
                             "expected 1..%d jobs, got %d", RB_LIMIT_TRIALS, r->csv.n_rows);
    struct rb_trace_job *jobs = rb_arena_array(&out->arena, (size_t)r->csv.n_rows, sizeof *jobs);
    for (int row = 0; row < r->csv.n_rows; row++) {
        if (!read_job(r, row, &out->arena, &jobs[row]))
            return false;
    }
    qsort(jobs, (size_t)r->csv.n_rows, sizeof *jobs, by_submission);
    out->jobs = jobs;
    out->n = r->csv.n_rows;
    return check_names(jobs, out->n, path, r->err);
}

static bool keep_jobs(struct reading *r, struct rb_trace *out)
{
    struct rb_trace trace = {.apps = r->apps};
    rb_arena_init(&trace.arena);
    const bool ok = read_jobs(r, r->csv.file, &trace);
    if (ok)
        *out = trace;
    else
        rb_trace_finish(&trace);
    return ok;
}

bool rb_trace_read(struct rb_trace *out, const char *path, const struct rb_apps *apps, struct rb_err *err)
{
    RB_AUTO(finish_reading) struct reading r = {.apps = apps, .err = err};
    return rb_csv_read(&r.csv, path, err) && keep_jobs(&r, out);
}

bool rb_trace_parse(struct rb_trace *out, const char *name, const char *bytes, size_t n, const struct rb_apps *apps,
                    struct rb_err *err)
{
    RB_AUTO(finish_reading) struct reading r = {.apps = apps, .err = err};
    return rb_csv_parse(&r.csv, name, bytes, n, err) && keep_jobs(&r, out);
}

void rb_trace_finish(struct rb_trace *trace)
{
    rb_arena_finish(&trace->arena);
    *trace = (struct rb_trace){0};
}
