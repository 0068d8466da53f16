// CSV: reports.csv grows by a line for each report; trials.csv says how each trial stands, and is replaced.
// As rbrun report --csv has them (views/tables/report_csv.h): CRLF, and nothing that a spreadsheet takes for a formula.
#include "executor/sinks/sink.h"
#include "executor/sinks/sink_file.h"

#include "base/document/csv.h"
#include "base/document/json.h"
#include "base/text/units.h"
#include "executor/launcher/trial_env.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct csv {
    const struct rb_sink_run *run;
    const char *dir;
    struct rb_sink_file *reports;
};

// nan and inf are what most readers take for such; a number that is not known is an empty cell.
static void put_number(double v, struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    if (isfinite(v))
        rb_json_double(&j, v);
    else
        rb_buf_puts(out, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

static void put_value(const struct rb_value *v, struct rb_buf *out)
{
    if (v->kind == RB_VALUE_STRING)
        rb_csv_put_text(v->string, true, out);
    else
        rb_value_text(v, out);
}

static bool open_reports(struct csv *c, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, header = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/reports.csv", c->dir);
    rb_buf_puts(&header, "trial,resource,metric,time\r\n");
    return rb_sink_file_open(rb_buf_str(&path), &c->reports, err) &&
           rb_sink_file_put(c->reports, header.data, header.len, err);
}

static void csv_close(void *sink)
{
    struct csv *c = sink;
    rb_sink_file_close(c->reports);
    free(c);
}

static bool csv_open(const struct rb_sink_run *run, const struct rb_sink_target *target, void **out, struct rb_err *err)
{
    struct csv *c = rb_xcalloc(1, sizeof *c);
    c->run = run;
    c->dir = target->path;
    if (!open_reports(c, err)) {
        csv_close(c);
        return false;
    }
    *out = c;
    return true;
}

static bool csv_reported(void *sink, const struct rb_sink_report *r, struct rb_err *err)
{
    struct csv *c = sink;
    char time[32];
    RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
    rb_buf_printf(&line, "%d,%" PRId64 ",", r->trial, r->resource);
    put_number(r->metric, &line);
    rb_buf_printf(&line, ",%s\r\n", rb_format_instant(r->unix_us, time));
    return rb_sink_file_put(c->reports, line.data, line.len, err);
}

static void put_trial(const struct rb_report_trial *t, const struct rb_job *job, struct rb_buf *out)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const struct rb_value *values = rb_trial_values(job, t->trial, t->suggested, &arena);
    rb_buf_printf(out, "%d,\"%s\",%" PRId64 ",", t->trial, t->state, t->resource);
    if (!isnan(t->metric))
        put_number(t->metric, out);
    rb_buf_printf(out, ",%d", t->restarts);
    for (int i = 0; i < job->space.n_params; i++) {
        rb_buf_putc(out, ',');
        if (values[i].kind != RB_VALUE_ABSENT)
            put_value(&values[i], out);
    }
    rb_buf_puts(out, "\r\n");
}

// The columns of rbrun report --csv trials.
static bool write_trials(const struct csv *c, const struct rb_report *r, struct rb_err *err)
{
    const struct rb_job *job = c->run->plan->job;
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, text = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/trials.csv", c->dir);
    rb_buf_puts(&text, "trial,state,resource,metric,restarts");
    for (int i = 0; i < job->space.n_params; i++)
        rb_buf_printf(&text, ",params.%s", job->space.params[i].name);
    rb_buf_puts(&text, "\r\n");
    for (int i = 0; i < r->n_trials; i++)
        put_trial(&r->trials[i], job, &text);
    return rb_sink_replace(rb_buf_str(&path), text.data, text.len, 0600, err);
}

static bool csv_flush(void *sink, const struct rb_sink_now *now, struct rb_err *err)
{
    const struct csv *c = sink;
    return rb_sink_file_flush(c->reports, err) && write_trials(c, now->report, err);
}

const struct rb_sink_ops rb_sink_csv = {
    .name = "csv",
    .open = csv_open,
    .reported = csv_reported,
    .flush = csv_flush,
    .close = csv_close,
};
