#include "views/run/run_list.h"

#include "base/errors/log.h"
#include "base/file.h"
#include "executor/journal/run_dir.h"
#include "views/tables/report_table.h"
#include "views/tables/runs_table.h"

#include <unistd.h>

static const struct rb_text_column list_columns[] = {
    {"run", false, 0}, {"outcome", false, 0}, {"time", true, 0}, {"cost", true, 0}, {"best", true, 1},
    {"controller", false, 0}};

static void list_row(struct rb_text_table *t, const struct rb_run_row *row, bool with_controller)
{
    char text[32];
    rb_text_table_cell(t, "%s", row->run);
    rb_text_table_cell(t, "%s", rb_runs_outcome_words(row));
    rb_text_table_cell(t, "%s", row->time_us >= 0 ? rb_format_duration(row->time_us, text) : "-");
    rb_text_table_cell(t, "%s", rb_runs_cost(row, row->cost_uusd, text));
    if (row->best_trial >= 0)
        rb_text_table_cell(t, "%.6g", row->best_metric);
    else
        rb_text_table_cell(t, "-");
    if (with_controller)
        rb_text_table_cell(t, "%s", row->controller ? row->controller : "-");
    if (row->error)
        rb_warn("%s", row->error);
}

static void write_text(const struct rb_run_list *list, struct rb_buf *out)
{
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    struct rb_text_table t;
    bool with_controller = false;
    for (int i = 0; i < list->n; i++)
        with_controller = with_controller || list->rows[i].controller;
    rb_text_table_init(&t, list_columns, (int)(sizeof list_columns / sizeof *list_columns) - !with_controller);
    for (int i = 0; i < list->n; i++)
        list_row(&t, &list->rows[i], with_controller);
    rb_text_table_write(&t, &style, out);
    rb_text_table_finish(&t);
}

static bool say_none(const char *state_dir, struct rb_err *err)
{
    char root[4096];
    if (!rb_run_dir_root(state_dir, root, sizeof root, err))
        return false;
    rb_info("no run under %s yet; start one with `rbrun plan.json`", root);
    return true;
}

bool rb_run_list_print(const struct rb_run_sources *sources, bool json, struct rb_err *err)
{
    RB_AUTO(rb_run_list_finish) struct rb_run_list list = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_json j;
    if (!rb_run_list_read(sources, NULL, &list, err) || (!json && list.n == 0 && !say_none(sources->state_dir, err)))
        return false;
    rb_json_init(&j, &out, false);
    if (json)
        rb_run_list_write(&list, &j);
    else
        write_text(&list, &out);
    if (json)
        rb_buf_putc(&out, '\n');
    return rb_print(&out, err);
}
