#include "views/run/run_list.h"

#include "base/file.h"
#include "base/document/json.h"
#include "base/errors/log.h"
#include "executor/journal/run_dir.h"
#include "executor/journal/run_files.h"
#include "executor/report/report.h"
#include "views/tables/report_table.h"

#include <unistd.h>

static const struct rb_text_column list_columns[] = {
    {"run", false, 0}, {"outcome", false, 0}, {"time", true, 0}, {"cost", true, 0}, {"best", true, 1}};

struct listing {
    const char *state_dir;
    struct rb_text_table table;
    struct rb_json json;
    bool as_json;
    int n;
};

// r NULL: the run cannot be read, and `text` explains why; else text is its outcome.
static void list_member(struct listing *to, const char *run_id, const struct rb_report *r, const char *text)
{
    struct rb_json *j = &to->json;
    rb_json_begin_object(j);
    rb_json_kstring(j, "run", run_id);
    rb_json_kstring(j, "outcome", r ? text : "unreadable");
    if (r) {
        rb_json_kint(j, "time_us", r->time_us);
        rb_json_kint(j, "cost_uusd", r->cost_uusd);
    } else {
        rb_json_kstring(j, "time_us", NULL);
        rb_json_kstring(j, "cost_uusd", NULL);
    }
    rb_json_kstring(j, "error", r ? NULL : text);
    rb_json_end_object(j);
}

static void list_unreadable(struct listing *to, const char *run_id, const struct rb_err *why)
{
    if (to->as_json) {
        list_member(to, run_id, NULL, why->message);
        return;
    }
    rb_text_table_cell(&to->table, "%s", run_id);
    rb_text_table_cell(&to->table, "%s", rb_err_number(why) == RB_E_JOURNAL_DAMAGED ? "journal damaged" : "unreadable");
    for (int i = 0; i < 3; i++)
        rb_text_table_cell(&to->table, "-");
    rb_warn("%s", why->message);
}

static void list_row(struct listing *to, const struct rb_report *r, const char *outcome)
{
    char time[32], cost[32];
    rb_text_table_cell(&to->table, "%s", r->run_id);
    rb_text_table_cell(&to->table, "%s", rb_report_outcome_words(outcome));
    rb_text_table_cell(&to->table, "%s", rb_format_duration(r->time_us, time));
    rb_text_table_cell(&to->table, "%s", rb_format_money(r->cost_uusd, cost));
    if (r->best_trial >= 0)
        rb_text_table_cell(&to->table, "%.6g", r->best_metric);
    else
        rb_text_table_cell(&to->table, "-");
}

static void list_one(void *ctx, const char *run_id, const char *dir)
{
    struct listing *to = ctx;
    to->n++;
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    struct rb_journal *journal = NULL;
    struct rb_report r;
    struct rb_err err;
    char text[64];
    int pid;
    (void)dir;
    if (!rb_run_files_open(&f, to->state_dir, run_id, &err) || !rb_journal_open_reader(f.journal, &journal, &err) ||
        !rb_run_holder(f.journal, &pid, &err) || !rb_report_make(journal, &f.plan, &f.arena, &r, &err)) {
        rb_run_say_what_helps(&err);
        list_unreadable(to, run_id, &err);
        rb_journal_close(journal);
        return;
    }
    const char *outcome = rb_report_outcome(r.outcome, r.reason, pid != 0, text);
    if (to->as_json)
        list_member(to, r.run_id, &r, outcome);
    else
        list_row(to, &r, outcome);
    rb_journal_close(journal);
}

bool rb_run_list_print(const char *state_dir, bool json, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct listing to = {.state_dir = state_dir, .as_json = json};
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    char root[4096];
    if (!rb_run_dir_root(state_dir, root, sizeof root, err))
        return false;
    rb_text_table_init(&to.table, list_columns, 5);
    rb_json_init(&to.json, &out, false);
    if (to.as_json) {
        rb_json_begin_object(&to.json);
        rb_json_kstring(&to.json, "format", "rb-runs/1");
        rb_json_key(&to.json, "runs");
        rb_json_begin_array(&to.json);
    }
    const bool ok = rb_run_dir_each(root, list_one, &to, err);
    if (to.as_json) {
        rb_json_end_array(&to.json);
        rb_json_end_object(&to.json);
        rb_buf_putc(&out, '\n');
    } else {
        rb_text_table_write(&to.table, &style, &out);
    }
    rb_text_table_finish(&to.table);
    if (ok && !to.as_json && to.n == 0)
        rb_info("no run under %s yet; start one with `rbrun plan.json`", root);
    return ok && rb_print(&out, err);
}
