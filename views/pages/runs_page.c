#include "views/pages/runs_page.h"

#include "base/text/units.h"
#include "views/tables/runs_table.h"

#include <stdio.h>
#include <string.h>

struct totals {
    int runs, running, ended, unreadable;
    int kept, judged;                 // deadlines of runs that are over
    int64_t cost_uusd, expected_uusd; // expected: of runs that are over and had a prediction,
    int64_t beside_uusd;              // which cost this
    bool has_price, has_folder;
};

static void count(struct totals *t, const struct rb_run_row *row)
{
    const bool running = strcmp(row->outcome, "running") == 0;
    t->runs++;
    if (row->error) {
        t->unreadable++;
        return;
    }
    t->running += running;
    t->ended += !running;
    t->kept += row->on_time == RB_RUN_PROMISE_KEPT;
    t->judged += row->on_time == RB_RUN_PROMISE_KEPT || row->on_time == RB_RUN_PROMISE_BROKEN;
    t->has_price = t->has_price || !row->is_free;
    t->cost_uusd += row->is_lent ? 0 : row->cost_uusd;
    if (!running && !row->is_lent && row->cost_predicted_uusd >= 0) {
        t->expected_uusd += row->cost_predicted_uusd;
        t->beside_uusd += row->cost_uusd;
    }
}

// A run that is here and was shared as well is one run: such rows follow each other.
static bool is_again(const struct rb_run_list *list, int i)
{
    return i > 0 && !list->rows[i - 1].error && strcmp(list->rows[i - 1].run, list->rows[i].run) == 0;
}

static struct totals totals_of(const struct rb_run_list *list)
{
    struct totals t = {0};
    for (int i = 0; i < list->n; i++) {
        t.has_folder = t.has_folder || list->rows[i].from;
        if (!is_again(list, i))
            count(&t, &list->rows[i]);
    }
    return t;
}

static void summary(const struct totals *t, struct rb_buf *out)
{
    char text[32];
    rb_buf_printf(out, "%d run%s", t->runs, t->runs == 1 ? "" : "s");
    if (t->running)
        rb_buf_printf(out, ", %d running", t->running);
    if (t->unreadable)
        rb_buf_printf(out, ", %d that cannot be read", t->unreadable);
    if (t->has_price)
        rb_buf_printf(out, "; %s in all", rb_format_money(t->cost_uusd, text));
    rb_buf_putc(out, '.');
}

static void facts(struct rb_page *p, const struct totals *t)
{
    char figure[32], remark[96], a[32], b[32];
    rb_page_begin_facts(p);
    snprintf(figure, sizeof figure, "%d", t->runs);
    snprintf(remark, sizeof remark, "%d running\n%d over", t->running, t->ended);
    rb_page_fact(p, "runs", figure, remark);
    if (t->has_price) {
        snprintf(remark, sizeof remark, "those that are over: %s\nexpected: %s", rb_format_money(t->beside_uusd, a),
                 rb_format_money(t->expected_uusd, b));
        rb_page_fact(p, "dollars", rb_format_money(t->cost_uusd, figure), remark);
    }
    if (t->judged) {
        snprintf(figure, sizeof figure, "%d of %d", t->kept, t->judged);
        rb_page_fact(p, "deadlines kept", figure, "of runs that are over");
    }
    if (t->unreadable) {
        snprintf(figure, sizeof figure, "%d", t->unreadable);
        rb_page_failed_fact(p, "cannot be read", figure, "the reasons are below");
    }
    rb_page_end_facts(p);
}

static void errors(struct rb_page *p, const struct rb_run_list *list)
{
    static const struct rb_text_column columns[] = {{"run", false, 0}, {"why it cannot be read", false, 0}};
    struct rb_text_table t;
    rb_page_section(p, "errors", "What cannot be read", NULL);
    rb_text_table_init(&t, columns, 2);
    for (int i = 0; i < list->n; i++) {
        if (!list->rows[i].error)
            continue;
        rb_text_table_cell(&t, "%s", list->rows[i].run);
        rb_text_table_cell(&t, "%s", list->rows[i].error);
    }
    rb_page_table(p, "Runs that cannot be read", &t);
    rb_text_table_finish(&t);
}

static void sections(struct rb_page *p, const struct rb_run_list *list, const char *const *addresses)
{
    const struct totals totals = totals_of(list);
    struct rb_text_table t;
    facts(p, &totals);
    rb_page_section(p, "runs", "Runs", NULL);
    if (list->n == 0)
        rb_page_paragraph(p, "There is no run yet. Start one with: rbrun plan.json");
    rb_runs_table(list->rows, list->n, totals.has_folder, &t);
    if (list->n > 0)
        rb_page_linked_table(p, "Newest first; a heading sorts", &t, addresses);
    rb_text_table_finish(&t);
    if (totals.unreadable)
        errors(p, list);
    rb_page_end_section(p);
}

static void write_document(const struct rb_run_list *list, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_run_list_write(list, &j);
}

void rb_runs_page_write(const struct rb_run_list *list, const char *const *addresses, bool live,
                        struct rb_buf *out_page)
{
    RB_AUTO(rb_buf_finish) struct rb_buf words = RB_BUF_INIT, document = RB_BUF_INIT;
    const struct totals totals = totals_of(list);
    struct rb_page p;
    summary(&totals, &words);
    write_document(list, &document);
    rb_page_begin(&p, "Runs", rb_buf_str(&words), false, live, out_page);
    sections(&p, list, addresses);
    rb_page_end(&p, rb_buf_str(&document));
}

bool rb_runs_page_live(const struct rb_run_list *list, const char *const *addresses, struct rb_buf *out_data,
                       struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf words = RB_BUF_INIT, document = RB_BUF_INIT, main = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc parsed = {0};
    const struct totals totals = totals_of(list);
    struct rb_page p = {.out = &main};
    summary(&totals, &words);
    write_document(list, &document);
    if (!rb_doc_parse_json(&parsed, "rb-runs", rb_buf_str(&document), document.len, err))
        return false;
    sections(&p, list, addresses);
    rb_page_live(rb_buf_str(&words), false, rb_buf_str(&main), parsed.root, false, out_data);
    return true;
}
