#include "views/pages/compare_page.h"

#include "base/text/units.h"
#include "views/pages/document.h"
#include "views/pages/page.h"
#include "views/tables/compare_table.h"
#include "views/tables/report_table.h"
#include "views/tables/runs_table.h"

#include <string.h>

// "bert-1 cost $4.10 in 1 h 50 m, val_acc 0.91; bert-2 ..."
static void summary(const struct rb_compare_tables *tables, const struct rb_node *document, struct rb_buf *out)
{
    int k = 0;
    char text[32];
    for (const struct rb_node *run = rb_document_items(document, "runs"); run && k < 2; run = run->next, k++) {
        const struct rb_run_row row = {.is_free = rb_document_flag(run, "is_free"),
                                       .is_lent = rb_document_flag(run, "is_lent")};
        const struct rb_node *metric = rb_document_member(run, "best_metric");
        rb_buf_printf(out, "%s%s: %s, ", k ? "; " : "", tables->names[k],
                      rb_report_outcome_words(rb_document_text(run, "outcome")));
        rb_buf_printf(out, "%s, ", rb_runs_cost(&row, rb_document_int(run, "cost_uusd"), text));
        rb_buf_printf(out, "%s, %s ", rb_format_duration(rb_document_int(run, "time_us"), text),
                      rb_document_text(run, "metric_name"));
        if (metric)
            rb_buf_printf(out, "%.6g", metric->number);
        else
            rb_buf_puts(out, "not known");
    }
    rb_buf_putc(out, '.');
}

static void links(struct rb_page *p, const struct rb_compare_tables *tables, const struct rb_node *document,
                  const char *const addresses[2])
{
    static const struct rb_text_column columns[] = {{"run", false, 0}, {"job", false, 0}, {"from", false, 0}};
    struct rb_text_table t;
    int k = 0;
    if (!addresses)
        return;
    rb_text_table_init(&t, columns, 3);
    for (const struct rb_node *run = rb_document_items(document, "runs"); run && k < 2; run = run->next, k++) {
        const char *from = rb_document_text(run, "from");
        rb_text_table_cell(&t, "%s", tables->names[k]);
        rb_text_table_cell(&t, "%s", rb_document_text(run, "job"));
        rb_text_table_cell(&t, "%s", from[0] ? from : "this machine");
    }
    rb_page_section(p, "runs", "The two runs", NULL);
    rb_page_linked_table(p, "Each leads to its own page", &t, addresses);
    rb_text_table_finish(&t);
}

static bool same(const struct rb_node *a, const struct rb_node *b, const char *key)
{
    return strcmp(rb_document_text(a, key), rb_document_text(b, key)) == 0;
}

static bool pays(const struct rb_node *run)
{
    return !rb_document_flag(run, "is_free") && !rb_document_flag(run, "is_lent");
}

static bool has_curve(const struct rb_node *document)
{
    for (const struct rb_node *c = rb_document_items(document, "curves"); c; c = c->next)
        if (rb_document_items(c, "rows"))
            return true;
    return false;
}

static void curves(struct rb_page *p, const struct rb_node *document)
{
    const struct rb_node *a = rb_document_items(document, "runs"), *b = a->next;
    rb_page_section(p, "curves", "The best result so far", NULL);
    if (!same(a, b, "metric_name") || !same(a, b, "goal")) {
        rb_page_paragraph(p, "The two have different metrics, %s (%s) and %s (%s): their curves cannot be compared.",
                          rb_document_text(a, "metric_name"), rb_document_text(a, "goal"),
                          rb_document_text(b, "metric_name"), rb_document_text(b, "goal"));
        return;
    }
    if (!has_curve(document)) {
        rb_page_paragraph(p, "No trial of either has reported.");
        return;
    }
    rb_page_paragraph(p, "%s (%s) of the best report of any trial so far. A diamond is the end of a rung.",
                      rb_document_text(a, "metric_name"), rb_document_text(a, "goal"));
    if (pays(a) || pays(b))
        rb_page_chart(p, "compare-dollars",
                      "The best result so far of both runs, against the dollars that each had spent.");
    rb_page_chart(p, "compare-time", "The best result so far of both runs, against the time since each began.");
}

static void table(struct rb_page *p, const struct rb_compare_table *t)
{
    rb_page_section(p, t->id, t->heading, NULL);
    if (t->table.n_cells)
        rb_page_table(p, t->caption, &t->table);
    else
        rb_page_paragraph(p, "%s", t->none);
}

bool rb_compare_page_write(const char *text, size_t n, const char *const addresses[2], struct rb_buf *out,
                           struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
    struct rb_compare_tables tables;
    struct rb_page p;
    if (!rb_doc_parse_json(&doc, "rb-compare", text, n, err))
        return false;
    if (strcmp(rb_document_text(doc.root, "format"), "rb-compare/1") != 0 || !rb_document_items(doc.root, "runs") ||
        !rb_document_items(doc.root, "runs")->next)
        return rb_err_set(err, RB_E_REPORT_FORMAT, "expected a document of format rb-compare/1 with two runs");
    rb_compare_tables_make(&tables, doc.root);
    summary(&tables, doc.root, &said);
    rb_page_begin(&p, "Two runs side by side", rb_buf_str(&said), false, false, out);
    links(&p, &tables, doc.root, addresses);
    table(&p, &tables.items[RB_COMPARE_FIGURES]);
    curves(&p, doc.root);
    for (int i = RB_COMPARE_DIFFERENCES; i < RB_COMPARE_TABLES; i++)
        table(&p, &tables.items[i]);
    rb_page_end(&p, text);
    rb_compare_tables_finish(&tables);
    return true;
}
