#include "views/run/compare.h"

#include "base/errors/log.h"
#include "base/file.h"
#include "executor/journal/run_files.h"
#include "executor/report/shared_report.h"
#include "views/pages/compare_document.h"
#include "views/pages/compare_page.h"
#include "views/run/run_document.h"
#include "views/tables/compare_table.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---- reading

// The whole id goes to out_id.
static bool own_document(const char *state_dir, const char *run, char out_id[static 128], struct rb_buf *out,
                         struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    struct rb_journal *journal = NULL;
    if (!rb_run_files_open(&f, state_dir, run, err) || !rb_journal_open_reader(f.journal, &journal, err))
        return false;
    snprintf(out_id, 128, "%s", f.run_id);
    const bool ok = rb_run_page_document(journal, &f.plan, rb_run_is_carried_out(f.root, f.run_id), NULL, out, err);
    rb_journal_close(journal);
    return ok;
}

static bool document_of(const char *state_dir, const struct rb_run_ref *ref, char out_id[static 128],
                        struct rb_buf *out, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    size_t n;
    if (!ref->from)
        return own_document(state_dir, ref->run, out_id, out, err);
    if (!rb_shared_report_read(ref->from, ref->run, &bytes, &n, err))
        return false;
    snprintf(out_id, 128, "%s", ref->run);
    rb_buf_append(out, bytes, n);
    return true;
}

bool rb_run_ref_document(const char *state_dir, const struct rb_run_ref *ref, struct rb_buf *out, struct rb_err *err)
{
    char id[128];
    return document_of(state_dir, ref, id, out, err);
}

static bool parse(const struct rb_run_ref *ref, const struct rb_buf *bytes, struct rb_doc *out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT;
    if (ref->from)
        rb_buf_printf(&name, "%s/%s/report.json", ref->from, ref->run);
    return rb_doc_parse_json(out, ref->from ? rb_buf_str(&name) : ref->run, rb_buf_str(bytes), bytes->len, err);
}

bool rb_run_refs_compare(const char *state_dir, const struct rb_run_ref two[static 2], struct rb_buf *out,
                         struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf a = RB_BUF_INIT, b = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc first = {0}, second = {0};
    char ids[2][128];
    if (!document_of(state_dir, &two[0], ids[0], &a, err) || !document_of(state_dir, &two[1], ids[1], &b, err) ||
        !parse(&two[0], &a, &first, err) || !parse(&two[1], &b, &second, err))
        return false;
    const struct rb_compared compared[2] = {{ids[0], two[0].from, first.root}, {ids[1], two[1].from, second.root}};
    return rb_compare_document(compared, out, err);
}

// ---- printing

static bool save_page(const struct rb_buf *document, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    if (!rb_compare_page_write(rb_buf_str(document), document->len, NULL, &page, err) ||
        !rb_write_file(path, rb_buf_str(&page), page.len, err))
        return false;
    rb_info("wrote %s", path);
    return true;
}

static bool print_tables(const struct rb_buf *document, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    struct rb_compare_tables tables;
    if (!rb_doc_parse_json(&doc, "rb-compare", rb_buf_str(document), document->len, err))
        return false;
    rb_compare_tables_make(&tables, doc.root);
    rb_compare_tables_write(&tables, &style, &out);
    rb_compare_tables_finish(&tables);
    return rb_print(&out, err);
}

bool rb_run_refs_print(const char *state_dir, const struct rb_run_ref two[static 2], bool json, const char *html,
                       struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf document = RB_BUF_INIT;
    if (!rb_run_refs_compare(state_dir, two, &document, err) || (html && !save_page(&document, html, err)))
        return false;
    if (!json)
        return print_tables(&document, err);
    rb_buf_putc(&document, '\n');
    return rb_print(&document, err);
}
