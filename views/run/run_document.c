// rb-run-page/1: report, plan, history and importance side by side.
#include "views/run/run_document.h"

#include "base/file.h"
#include "executor/journal/history.h"
#include "executor/report/report.h"
#include "executor/report/report_importance.h"
#include "views/pages/picture.h"
#include "views/pages/run_page.h"
#include "views/tables/report_table.h"

#include <unistd.h>

static void write_progress(const struct rb_progress *progress, struct rb_json *j)
{
    if (!progress) {
        rb_json_null(j);
        return;
    }
    rb_json_begin_object(j);
    rb_progress_members(progress, j);
    rb_json_end_object(j);
}

bool rb_run_page_document(struct rb_journal *journal, const struct rb_plan *plan, bool at_work,
                          const struct rb_progress *progress, struct rb_buf *out, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_report report;
    struct rb_json j;
    rb_arena_init(&arena);
    if (!rb_report_make(journal, plan, &arena, &report, err))
        return false;
    report.at_work = at_work;
    rb_json_init(&j, out, false);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "format", "rb-run-page/1");
    rb_json_key(&j, "report");
    rb_report_write(&report, &j);
    rb_json_key(&j, "plan");
    rb_plan_write(plan, &j);
    rb_json_key(&j, "progress");
    write_progress(progress, &j);
    rb_json_key(&j, "history");
    if (!rb_history_write(journal, &report, &j, err))
        return false;
    rb_json_key(&j, "importance");
    if (!rb_report_importance_write(journal, &report, &j, err))
        return false;
    rb_json_end_object(&j);
    return true;
}

bool rb_run_page_save(struct rb_journal *j, const struct rb_plan *plan, bool at_work, const char *path,
                      struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf document = RB_BUF_INIT, page = RB_BUF_INIT;
    return rb_run_page_document(j, plan, at_work, NULL, &document, err) &&
           rb_run_page_write(rb_buf_str(&document), document.len, false, &page, err) &&
           rb_write_file(path, rb_buf_str(&page), page.len, err);
}

bool rb_run_gantt_save(struct rb_journal *j, const struct rb_plan *plan, bool at_work, const char *path,
                       struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf document = RB_BUF_INIT, picture = RB_BUF_INIT;
    return rb_run_page_document(j, plan, at_work, NULL, &document, err) &&
           rb_picture_write("run-gantt", rb_buf_str(&document), &picture, err) &&
           rb_write_file(path, rb_buf_str(&picture), picture.len, err);
}

bool rb_run_report_print(struct rb_journal *j, const struct rb_plan *plan, bool at_work, bool json, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT, table = RB_BUF_INIT;
    if (!rb_report_json(j, plan, at_work, false, &text, err))
        return false;
    if (json)
        return rb_print(&text, err);
    struct rb_doc doc;
    if (!rb_doc_parse_json(&doc, "report", rb_buf_str(&text), text.len, err))
        return false;
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    const bool ok = rb_report_table_write(doc.root, &style, &table, err) && rb_print(&table, err);
    rb_doc_finish(&doc);
    return ok;
}
