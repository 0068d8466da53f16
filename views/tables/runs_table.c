#include "views/tables/runs_table.h"

#include "base/text/units.h"
#include "views/tables/report_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *rb_runs_outcome_words(const struct rb_run_row *row)
{
    return row->is_damaged ? "journal damaged" : rb_report_outcome_words(row->outcome);
}

char *rb_runs_cost(const struct rb_run_row *row, int64_t uusd, char out[static 32])
{
    if (uusd < 0)
        snprintf(out, 32, "-");
    else if (uusd == 0 && row->is_free)
        snprintf(out, 32, "free");
    else if (row->is_lent)
        snprintf(out, 32, "by the pool");
    else
        rb_format_money(uusd, out);
    return out;
}

static void duration_cell(struct rb_text_table *t, int64_t us)
{
    char text[32];
    rb_text_table_cell(t, "%s", us >= 0 ? rb_format_duration(us, text) : "-");
}

static void number_cell(struct rb_text_table *t, double value)
{
    if (isfinite(value))
        rb_text_table_cell(t, "%.6g", value);
    else
        rb_text_table_cell(t, "-");
}

static void outcome_cell(struct rb_text_table *t, const struct rb_run_row *row)
{
    rb_text_table_cell(t, "%s", rb_runs_outcome_words(row));
    if (row->error || rb_report_outcome_is_failure(row->outcome))
        rb_text_table_mark_failed(t);
}

// "2026-11-28 13:54", UTC.
static void started_cell(struct rb_text_table *t, int64_t unix_us)
{
    char text[32];
    if (unix_us < 0) {
        rb_text_table_cell(t, "-");
        return;
    }
    rb_format_instant(unix_us / RB_US_PER_S * RB_US_PER_S, text); // 2026-11-28T13:54:37Z
    text[10] = ' ';
    rb_text_table_cell(t, "%.16s", text);
}

static void trials_cell(struct rb_text_table *t, const struct rb_run_row *row)
{
    if (row->trials < 0)
        rb_text_table_cell(t, "-");
    else if (row->trials_failed > 0)
        rb_text_table_cell(t, "%d (%d failed)", row->trials, row->trials_failed);
    else
        rb_text_table_cell(t, "%d", row->trials);
}

static void promise_cells(struct rb_text_table *t, const struct rb_run_row *row)
{
    static const char *const words[] = {"-", "open", "kept", "missed"};
    char text[32];
    rb_text_table_cell(t, "%s", isfinite(row->p_on_time) ? rb_format_probability(row->p_on_time, text) : "-");
    rb_text_table_cell(t, "%s", words[row->on_time]);
    if (row->on_time == RB_RUN_PROMISE_BROKEN)
        rb_text_table_mark_failed(t);
}

static void infras_cell(struct rb_text_table *t, const struct rb_run_row *row)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    for (int i = 0; i < row->n_infras; i++)
        rb_buf_printf(&text, "%s%s", i ? ", " : "", row->infras[i]);
    rb_text_table_cell(t, "%s", text.len ? rb_buf_str(&text) : "-");
}

static void fill_row(struct rb_text_table *t, const struct rb_run_row *row, bool with_from)
{
    char text[32];
    rb_text_table_cell(t, "%s", row->run);
    outcome_cell(t, row);
    started_cell(t, row->started_at_us);
    rb_text_table_cell(t, "%s", rb_runs_cost(row, row->cost_uusd, text));
    rb_text_table_cell(t, "%s", rb_runs_cost(row, row->cost_predicted_uusd, text));
    duration_cell(t, row->time_us);
    duration_cell(t, row->time_predicted_us);
    promise_cells(t, row);
    trials_cell(t, row);
    number_cell(t, row->best_trial >= 0 ? row->best_metric : NAN);
    rb_text_table_cell(t, "%s", row->metric_name ? row->metric_name : "-");
    infras_cell(t, row);
    if (with_from)
        rb_text_table_cell(t, "%s", row->from ? row->from : "this machine");
}

void rb_runs_table(const struct rb_run_row *rows, int n, bool with_from, struct rb_text_table *out)
{
    static const struct rb_text_column columns[] = {
        {"run", false, 0},     {"state", false, 0}, {"started (UTC)", false, 0}, {"cost", true, 0},
        {"expected", true, 0}, {"time", true, 0},   {"expected", true, 0},       {"P(on time)", true, 0},
        {"on time", false, 0}, {"trials", true, 0}, {"best", true, 0},           {"metric", false, 0},
        {"where", false, 0},   {"from", false, 0},
    };
    rb_text_table_init(out, columns, (int)(sizeof columns / sizeof *columns) - !with_from);
    for (int i = 0; i < n; i++)
        fill_row(out, &rows[i], with_from);
}
