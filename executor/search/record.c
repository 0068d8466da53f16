#include "executor/search/record.h"

#include "base/document/csv.h"
#include "base/document/doc.h"
#include "executor/launcher/trial_env.h"
#include "profiles/job/job_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct trial {
    const struct rb_value *suggested;
    double *metrics;       // [max_resource], NULL: it has not reported
    int64_t resource;      // of its last report that counts
    int64_t reported_us;   // of the last report of its present start, -1: none
    int64_t last_resource; // that of it
    double seconds;
    int n_units; // that were timed: from one report of a start to its next one
};

struct reading {
    struct rb_record *record;
    const struct rb_job *job;
    struct trial *trials; // by number, [n_trials]
    int n_trials;
};

static struct trial *trial_at(struct reading *r, int number)
{
    if (number >= r->n_trials) {
        const int n = 2 * number + 16;
        r->trials = rb_xrealloc(r->trials, (size_t)n, sizeof *r->trials);
        for (; r->n_trials < n; r->n_trials++)
            r->trials[r->n_trials] = (struct trial){.reported_us = -1};
    }
    return &r->trials[number];
}

// ---- events

static void take_suggestion(struct reading *r, const struct rb_event *e)
{
    struct rb_value *values = rb_arena_array(&r->record->arena, (size_t)r->job->space.n_params + 1, sizeof *values);
    if (e->n_values == 0)
        return;
    rb_event_values(e, &r->job->space, values);
    trial_at(r, e->trial)->suggested = rb_values_copy(&r->job->space, values, &r->record->arena);
}

// The first report of a resource counts, as in the run: later ones come from a start that trained it once more.
static void take_report(struct reading *r, const struct rb_event *e)
{
    struct trial *t = trial_at(r, e->trial);
    const int64_t R = r->job->scheduler.max_resource;
    if (t->reported_us >= 0 && e->resource > t->last_resource) {
        t->seconds += (double)(e->time_us - t->reported_us) / 1e6;
        t->n_units += (int)(e->resource - t->last_resource);
    }
    t->reported_us = e->time_us;
    t->last_resource = e->resource;
    if (e->resource <= t->resource || e->resource > R)
        return;
    if (!t->metrics) {
        t->metrics = rb_arena_array(&r->record->arena, (size_t)R, sizeof *t->metrics);
        for (int64_t k = 0; k < R; k++)
            t->metrics[k] = NAN;
    }
    t->metrics[e->resource - 1] = isfinite(e->metric) ? e->metric : NAN;
    t->resource = e->resource;
}

static bool take_line(struct reading *r, const char *name, const char *line, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_event e;
    if (!rb_doc_parse_json(&doc, name, line, n, err) || !rb_event_read(doc.root, &arena, &e, err))
        return false;
    if (e.kind == RB_EVENT_SUGGESTED)
        take_suggestion(r, &e);
    else if (e.kind == RB_EVENT_REPORT)
        take_report(r, &e);
    else if (e.kind == RB_EVENT_TRIAL_ENDED)
        trial_at(r, e.trial)->reported_us = -1;
    return true;
}

// ---- rows

// A curve is whole if it has every point up to R, or up to where it diverged.
static bool is_whole(const struct trial *t, int64_t R)
{
    const bool diverged = t->resource > 0 && isnan(t->metrics[t->resource - 1]);
    if (t->resource < R && !diverged)
        return false;
    for (int64_t k = 0, end = false; k < t->resource; k++) {
        if (end && !isnan(t->metrics[k]))
            return false;
        end = end || isnan(t->metrics[k]);
    }
    return t->resource == R || diverged;
}

static void add_rows(struct reading *r)
{
    struct rb_record *out = r->record;
    for (int i = 0; i < r->n_trials; i++) {
        const struct trial *t = &r->trials[i];
        if (!t->metrics)
            continue;
        if (!is_whole(t, r->job->scheduler.max_resource)) {
            out->n_left_out++;
            continue;
        }
        out->rows = rb_grow(out->rows, out->n_rows, sizeof *out->rows);
        out->rows[out->n_rows++] = (struct rb_record_row){
            .values =
                rb_values_copy(&r->job->space, rb_trial_values(r->job, i, t->suggested, &out->arena), &out->arena),
            .metrics = t->metrics,
            .unit_s = t->n_units > 0 && t->seconds > 0 ? t->seconds / t->n_units : NAN,
        };
    }
}

// ---- one run

static bool check(const struct rb_record *r, const struct rb_job *job, const char *name, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf first = RB_BUF_INIT, mine = RB_BUF_INIT;
    struct rb_json a = {.out = &first}, b = {.out = &mine};
    rb_space_write(&r->job->space, &a);
    rb_space_write(&job->space, &b);
    const char *differs = strcmp(rb_buf_str(&first), rb_buf_str(&mine)) != 0 ? "parameters"
                          : strcmp(r->job->metric_name, job->metric_name) != 0 || r->job->goal != job->goal ? "metric"
                          : r->job->scheduler.max_resource != job->scheduler.max_resource ? "scheduler.max_resource"
                                                                                          : NULL;
    return !differs ||
           rb_err_set(err, RB_E_BLACKBOX_JOB,
                      "%s: its %s is not that of the first run: record it into a table of its own", name, differs);
}

// Only these policies give a trial what its plan's stage says.
static bool is_timed(const struct rb_plan *plan)
{
    if (strcmp(plan->policy, "elastic") != 0 && strcmp(plan->policy, "static") != 0)
        return false;
    for (int i = 0; i < plan->n_stages; i++)
        if (plan->stages[i].gpus_per_trial != 1 || plan->stages[i].trials_per_gpu != 1)
            return false;
    return true;
}

bool rb_record_add(struct rb_record *r, const struct rb_plan *plan, const char *name, const char *events, size_t n,
                   struct rb_err *err)
{
    struct reading reading = {.record = r, .job = plan->job};
    bool ok = true;
    if (!r->job)
        r->job = plan->job;
    else if (!check(r, plan->job, name, err))
        return false;
    for (const char *at = events, *end; ok && (end = memchr(at, '\n', n - (size_t)(at - events))); at = end + 1)
        ok = take_line(&reading, name, at, (size_t)(end - at), err);
    if (ok)
        add_rows(&reading);
    r->untimed = r->untimed || !is_timed(plan);
    free(reading.trials);
    return ok;
}

void rb_record_finish(struct rb_record *r)
{
    free(r->rows);
    rb_arena_finish(&r->arena);
}

// ---- the files

void rb_record_write_family(const struct rb_record *r, struct rb_buf *out)
{
    struct rb_json j;
    rb_buf_printf(out, "# Recorded from runs of %s.\n", r->job->name);
    rb_json_init(&j, out, true);
    rb_json_begin_object(&j);
    rb_json_key(&j, "metric");
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "name", r->job->metric_name);
    rb_json_kstring(&j, "goal", rb_goal_names[r->job->goal]);
    rb_json_end_object(&j);
    rb_json_kstring(&j, "unit", r->job->scheduler.unit);
    rb_json_kint(&j, "max_resource", r->job->scheduler.max_resource);
    rb_json_kbool(&j, "resumable", !r->job->starts_over);
    rb_json_key(&j, "parameters");
    rb_space_write(&r->job->space, &j);
    rb_json_kstring(&j, "kind", "measured");
    rb_json_end_object(&j);
    rb_buf_printf(out, "\n");
}

// Read by programs, which want the text as it is.
static void write_cell(const char *text, struct rb_buf *out)
{
    if (strpbrk(text, ",\"\r\n"))
        rb_csv_put_text(text, false, out);
    else
        rb_buf_puts(out, text);
}

static bool has_seconds(const struct rb_record *r)
{
    bool all = !r->untimed;
    for (int i = 0; i < r->n_rows; i++)
        all = all && r->rows[i].unit_s > 0;
    return all;
}

static void write_row(const struct rb_record *r, const struct rb_record_row *row, bool seconds, struct rb_buf *out)
{
    for (int i = 0; i < r->job->space.n_params; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
        if (row->values[i].kind != RB_VALUE_ABSENT)
            rb_value_text(&row->values[i], &text);
        rb_buf_printf(out, "%s", i > 0 ? "," : "");
        write_cell(rb_buf_str(&text), out);
    }
    if (seconds)
        rb_buf_printf(out, ",%.6g", row->unit_s);
    for (int64_t k = 0; k < r->job->scheduler.max_resource; k++) {
        rb_buf_printf(out, ",");
        if (!isnan(row->metrics[k]))
            rb_value_text(&(struct rb_value){.kind = RB_VALUE_FLOAT, .number = row->metrics[k]}, out);
    }
    rb_buf_printf(out, "\n");
}

void rb_record_write_rows(const struct rb_record *r, struct rb_buf *out)
{
    const bool seconds = has_seconds(r);
    for (int i = 0; i < r->job->space.n_params; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT;
        rb_buf_printf(&name, "p.%s", r->job->space.params[i].name);
        rb_buf_printf(out, "%s", i > 0 ? "," : "");
        write_cell(rb_buf_str(&name), out);
    }
    rb_buf_printf(out, "%s", seconds ? ",unit_s" : "");
    for (int64_t k = 1; k <= r->job->scheduler.max_resource; k++)
        rb_buf_printf(out, ",%lld", (long long)k);
    rb_buf_printf(out, "\n");
    for (int i = 0; i < r->n_rows; i++)
        write_row(r, &r->rows[i], seconds, out);
}
