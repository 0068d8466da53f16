// rbrun report: shows what a run did and cost, as text, JSON, CSV, a page or a picture.
#include "base/file.h"
#include "base/errors/log.h"
#include "commands/rbrun/rbrun.h"
#include "executor/report/report.h"
#include "executor/run/learn.h"
#include "executor/sinks/sink_cursor.h"
#include "views/run/run_document.h"
#include "views/tables/report_csv.h"

static const struct rb_option report_options[] = {
    {"csv", 0, RB_OPT_STRING, false, "TABLE", "print " RB_REPORT_CSV_TABLES " as CSV", 0, 0},
    {"html", 0, RB_OPT_STRING, false, "FILE.html", "write the whole report as one page for a browser", 0, 0},
    {"gantt", 0, RB_OPT_STRING, false, "FILE.svg", "write what ran where and when as a picture", 0, 0},
    {"learn", 0, RB_OPT_FLAG, false, NULL, "first leave in the profile store what the run could not leave there when it ended", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

typedef bool save_fn(struct rb_journal *j, const struct rb_plan *plan, bool at_work, const char *path,
                     struct rb_err *err);

static bool save(save_fn *fn, struct rb_journal *j, const struct rb_plan *plan, bool at_work, const char *path,
                 struct rb_err *err)
{
    if (!path)
        return true;
    if (!fn(j, plan, at_work, path, err))
        return false;
    rb_info("wrote %s", path);
    return true;
}

static bool print_csv(struct rb_journal *j, const struct rb_plan *plan, bool at_work, const char *table,
                      struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf csv = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_report_json(j, plan, at_work, false, &text, err) &&
           rb_doc_parse_json(&doc, "report", rb_buf_str(&text), text.len, err) &&
           rb_report_csv_write(doc.root, table, &csv, err) && rb_print(&csv, err);
}

// Before anything is read: a name that does not fit the contents is a mistake.
static bool check_name(const struct rb_args *args, const char *option, const char *ending, struct rb_err *err)
{
    const char *path = rb_args_string(args, option, NULL);
    return !path || rb_has_ending(path, ending) ||
           rb_err_set(err, RB_E_PICTURE_NAME, "--%s %s: expected a name that ends with %s", option, path, ending);
}

// For people; a program asks the trackers themselves.
static bool print_behind(struct rb_journal *j, const struct rb_run_files *f, bool at_work, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf lines = RB_BUF_INIT;
    struct rb_report report;
    if (!rb_report_make(j, &f->plan, &arena, &report, err))
        return false;
    rb_sinks_behind(f, report.n_events, at_work, &lines);
    return lines.len == 0 || rb_print(&lines, err);
}

// A run that is under way leaves it when it ends.
static bool learn(struct rb_journal *j, const struct rb_run_files *f, bool at_work, const char *db, struct rb_err *err)
{
    struct rb_store *store;
    if (at_work)
        return rb_err_set(err, RB_E_RUN_BUSY, "%s is still carried out: it leaves its results in the profile store when it ends",
                          f->run_id);
    if (!rb_store_open(db, false, &store, err))
        return false;
    const bool ok = rb_run_learn(f, j, store, err);
    rb_store_close(store);
    return ok;
}

static bool report_of(struct rb_journal *j, const struct rb_run_files *f, const struct rb_args *args,
                      struct rb_err *err)
{
    const struct rb_plan *plan = &f->plan;
    const bool at_work = rb_run_is_carried_out(f->root, f->run_id);
    const char *table = rb_args_string(args, "csv", NULL);
    if (table && rb_args_flag(args, "json"))
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--csv and --json both print to stdout: give one of the two");
    return (!rb_args_flag(args, "learn") || learn(j, f, at_work, rb_args_string(args, "db", NULL), err)) &&
           save(rb_run_page_save, j, plan, at_work, rb_args_string(args, "html", NULL), err) &&
           save(rb_run_gantt_save, j, plan, at_work, rb_args_string(args, "gantt", NULL), err) &&
           (table ? print_csv(j, plan, at_work, table, err)
                  : rb_run_report_print(j, plan, at_work, rb_args_flag(args, "json"), err)) &&
           (table || rb_args_flag(args, "json") || print_behind(j, f, at_work, err));
}

static bool report(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    struct rb_journal *journal;
    if (!check_name(args, "html", ".html", err) || !check_name(args, "gantt", ".svg", err) ||
        !rb_run_files_open(&f, rb_run_state_dir(args), args->n_args ? args->args[0] : NULL, err) ||
        !rb_journal_open_reader(f.journal, &journal, err))
        return false;
    const bool ok = report_of(journal, &f, args, err);
    rb_journal_close(journal);
    return ok;
}

const struct rb_command rb_run_report = {
    .name = "rbrun report",
    .usage = "[options] [RUN]",
    .summary = "Shows what a run did and cost, beside the prediction. RUN: its id, its job's name, or the beginning of "
               "either; the newest.",
    .examples = "  rbrun report\n"
                "  rbrun report digits-2026 --json > report.json\n"
                "  rbrun report digits-2026 --csv trials > trials.csv\n"
                "  rbrun report digits-2026 --html report.html\n"
                "  rbrun report digits-2026 --learn\n",
    .options = report_options,
    .max_args = 1,
    .run = report,
};
