#include "views/tables/compare_table.h"

#include "base/text/units.h"
#include "views/pages/document.h"
#include "views/tables/report_table.h"
#include "views/tables/runs_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_COLUMNS 100 // of one value
#define UNKNOWN      "-"

// ---- cells

// Is there a control character, in ASCII or in the block that follows it? *out_n: its bytes.
static bool is_control(const unsigned char *c, int *out_n)
{
    const bool late = c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0;
    *out_n = late ? 2 : 1;
    return late || c[0] < 0x20 || c[0] == 0x7f;
}

// Text of others.
static void text_cell(struct rb_text_table *t, const char *text)
{
    RB_AUTO(rb_buf_finish) struct rb_buf plain = RB_BUF_INIT, cut = RB_BUF_INIT;
    int n;
    if (!text) {
        rb_text_table_cell(t, UNKNOWN);
        return;
    }
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        const bool control = is_control(c, &n);
        rb_buf_putc(&plain, control ? ' ' : (char)*c);
        c += control ? n : 1;
    }
    rb_text_cut(rb_buf_str(&plain), MOST_COLUMNS, &cut);
    rb_text_table_cell(t, "%s%s", rb_buf_str(&cut), cut.len < plain.len ? "..." : "");
}

static void node_cell(struct rb_text_table *t, const struct rb_node *value)
{
    text_cell(t, value && value->kind == RB_NODE_STRING ? value->text : NULL);
}

static void duration_cell(struct rb_text_table *t, int64_t us)
{
    char text[32];
    rb_text_table_cell(t, "%s", us >= 0 ? rb_format_duration(us, text) : UNKNOWN);
}

static void money_cell(struct rb_text_table *t, const struct rb_run_row *run, int64_t uusd)
{
    char text[32];
    rb_text_table_cell(t, "%s", rb_runs_cost(run, uusd, text));
}

static void number_cell(struct rb_text_table *t, double value)
{
    if (isfinite(value))
        rb_text_table_cell(t, "%.6g", value);
    else
        rb_text_table_cell(t, UNKNOWN);
}

static void integer_cell(struct rb_text_table *t, int64_t value)
{
    if (value >= 0)
        rb_text_table_cell(t, "%jd", (intmax_t)value);
    else
        rb_text_table_cell(t, UNKNOWN);
}

static double number_of(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_document_member(map, key);
    return n && (n->kind == RB_NODE_INT || n->kind == RB_NODE_FLOAT) ? n->number : NAN;
}

// ---- the figures of both

// What a row shows of a run.
static struct rb_run_row row_of(const struct rb_node *run)
{
    return (struct rb_run_row){
        .is_free = rb_document_flag(run, "is_free"),
        .is_lent = rb_document_flag(run, "is_lent"),
    };
}

static const struct rb_node *pair(const struct rb_node *document, const char *key, const struct rb_node *out[static 2])
{
    out[0] = rb_document_items(document, key);
    out[1] = out[0] ? out[0]->next : NULL;
    return out[1];
}

typedef void figure_fn(struct rb_text_table *t, const struct rb_node *run, const char *key);

static void text_figure(struct rb_text_table *t, const struct rb_node *run, const char *key)
{
    node_cell(t, rb_document_member(run, key));
}

static void outcome_figure(struct rb_text_table *t, const struct rb_node *run, const char *key)
{
    text_cell(t, rb_report_outcome_words(rb_document_text(run, key)));
}

static void money_figure(struct rb_text_table *t, const struct rb_node *run, const char *key)
{
    const struct rb_run_row row = row_of(run);
    money_cell(t, &row, rb_document_int(run, key));
}

static void amount_figure(struct rb_text_table *t, const struct rb_node *run, const char *key)
{
    const struct rb_run_row row = {0};
    money_cell(t, &row, rb_document_int(run, key));
}

static void duration_figure(struct rb_text_table *t, const struct rb_node *run, const char *key)
{
    duration_cell(t, rb_document_int(run, key));
}

static void number_figure(struct rb_text_table *t, const struct rb_node *run, const char *key)
{
    number_cell(t, number_of(run, key));
}

static void probability_figure(struct rb_text_table *t, const struct rb_node *run, const char *key)
{
    const double p = number_of(run, key);
    char text[32];
    rb_text_table_cell(t, "%s", isfinite(p) ? rb_format_probability(p, text) : UNKNOWN);
}

static void on_time_figure(struct rb_text_table *t, const struct rb_node *run, const char *key)
{
    const struct rb_node *kept = rb_document_member(run, key);
    const bool is_open =
        rb_document_member(run, "deadline_us") && (strcmp(rb_document_text(run, "outcome"), "running") == 0 ||
                                                   strcmp(rb_document_text(run, "outcome"), "interrupted") == 0);
    rb_text_table_cell(t, "%s", kept ? (kept->boolean ? "kept" : "missed") : is_open ? "open" : UNKNOWN);
    if (kept && !kept->boolean)
        rb_text_table_mark_failed(t);
}

static void infras_figure(struct rb_text_table *t, const struct rb_node *run, const char *key)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    for (const struct rb_node *i = rb_document_items(run, key); i; i = i->next)
        rb_buf_printf(&text, "%s%s", text.len ? ", " : "", i->text);
    text_cell(t, text.len ? rb_buf_str(&text) : NULL);
}

static void fill_figures(struct rb_text_table *t, const struct rb_node *document)
{
    static const struct {
        const char *name, *key;
        figure_fn *cell;
    } figures[] = {
        {"state", "outcome", outcome_figure},
        {"cost", "cost_uusd", money_figure},
        {"expected cost", "cost_predicted_uusd", money_figure},
        {"budget", "budget_uusd", amount_figure},
        {"time", "time_us", duration_figure},
        {"expected time", "time_predicted_us", duration_figure},
        {"deadline", "deadline_us", duration_figure},
        {"P(on time), promised", "p_on_time", probability_figure},
        {"on time", "on_time", on_time_figure},
        {"metric", "metric_name", text_figure},
        {"best", "best_metric", number_figure},
        {"trials", "trials", number_figure},
        {"trials that failed", "trials_failed", number_figure},
        {"where", "infras", infras_figure},
    };
    const struct rb_node *runs[2];
    if (!pair(document, "runs", runs))
        return;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        rb_text_table_cell(t, "%s", figures[i].name);
        for (int k = 0; k < 2; k++)
            figures[i].cell(t, runs[k], figures[i].key);
    }
}

// ---- jobs and configurations

static void fill_differences(struct rb_text_table *t, const struct rb_node *document)
{
    for (const struct rb_node *d = rb_document_items(document, "differences"); d; d = d->next) {
        const struct rb_node *values[2];
        if (!pair(d, "values", values))
            continue;
        node_cell(t, rb_document_member(d, "key"));
        for (int k = 0; k < 2; k++)
            node_cell(t, values[k]);
    }
}

static void fill_best(struct rb_text_table *t, const struct rb_node *document)
{
    const struct rb_node *best[2], *params[2];
    if (!pair(document, "best", best))
        return;
    for (int k = 0; k < 2; k++)
        params[k] = rb_document_member(best[k], "params");
    if (!params[0] && !params[1])
        return;
    rb_text_table_cell(t, "trial");
    for (int k = 0; k < 2; k++)
        integer_cell(t, rb_document_int(best[k], "trial"));
    rb_text_table_cell(t, "metric");
    for (int k = 0; k < 2; k++)
        number_cell(t, number_of(best[k], "metric"));
    for (int k = 0; k < 2; k++)
        for (const struct rb_node *p = params[k] ? params[k]->first : NULL; p; p = p->next) {
            if (k == 1 && rb_document_member(params[0], p->key))
                continue;
            text_cell(t, p->key);
            node_cell(t, rb_document_member(params[0], p->key));
            node_cell(t, rb_document_member(params[1], p->key));
        }
}

// ---- rungs

static void rung_row(struct rb_text_table *t, const char *name, const struct rb_run_row *run,
                     const struct rb_node *rung)
{
    integer_cell(t, rb_document_int(rung, "stage"));
    text_cell(t, name);
    integer_cell(t, rb_document_int(rung, "trials"));
    integer_cell(t, rb_document_int(rung, "resource_end"));
    duration_cell(t, rb_document_int(rung, "end_us"));
    money_cell(t, run, rb_document_int(rung, "cost_uusd"));
    money_cell(t, run, rb_document_int(rung, "spent_uusd"));
    number_cell(t, number_of(rung, "best_metric"));
}

// Both runs' first rung, then both runs' second.
static void fill_rungs(struct rb_text_table *t, const char names[2][192], const struct rb_node *document)
{
    const struct rb_node *runs[2], *lists[2], *rungs[2];
    if (!pair(document, "runs", runs) || !pair(document, "rungs", lists))
        return;
    for (int k = 0; k < 2; k++)
        rungs[k] = lists[k]->first;
    while (rungs[0] || rungs[1])
        for (int k = 0; k < 2; k++) {
            const struct rb_run_row run = row_of(runs[k]);
            if (!rungs[k])
                continue;
            rung_row(t, names[k], &run, rungs[k]);
            rungs[k] = rungs[k]->next;
        }
}

// ---- all of them

static void set_names(struct rb_compare_tables *out, const struct rb_node *document)
{
    const struct rb_node *runs[2];
    if (!pair(document, "runs", runs))
        return;
    const bool same = strcmp(rb_document_text(runs[0], "run"), rb_document_text(runs[1], "run")) == 0;
    for (int k = 0; k < 2; k++) {
        const char *from = rb_document_text(runs[k], "from");
        snprintf(out->names[k], sizeof out->names[k], same ? "%.127s (%.60s)" : "%.127s",
                 rb_document_text(runs[k], "run"), from[0] ? from : "this machine");
    }
}

void rb_compare_tables_make(struct rb_compare_tables *out, const struct rb_node *document)
{
    static const struct rb_compare_table empty[RB_COMPARE_TABLES] = {
        {.id = "figures",
         .heading = "Expected and actual",
         .caption = "A column for each run; expected: by its plan",
         .none = "Nothing is known."},
        {.id = "differences",
         .heading = "What the jobs differ in",
         .caption = "Keys whose values differ",
         .none = "Nothing: both jobs are the same."},
        {.id = "best",
         .heading = "The best configurations",
         .caption = "Parameters of the best trial of each",
         .none = "No trial of either has a result."},
        {.id = "rungs",
         .heading = "Rung by rung",
         .caption = "Both runs, one rung after the other",
         .none = "Neither has a rung.",
         .columns = {{"rung", true, 0},
                     {"run", false, 0},
                     {"trials", true, 0},
                     {"trained to", true, 0},
                     {"ended after", true, 0},
                     {"cost", true, 0},
                     {"cost so far", true, 0},
                     {"best so far", true, 0}}},
    };
    memset(out->names, 0, sizeof out->names);
    set_names(out, document);
    for (int i = 0; i < RB_COMPARE_TABLES; i++) {
        struct rb_compare_table *t = &out->items[i];
        const bool rungs = i == RB_COMPARE_RUNGS;
        *t = empty[i];
        for (int k = 0; k < 2 && !rungs; k++)
            t->columns[k + 1] = (struct rb_text_column){out->names[k], i == RB_COMPARE_FIGURES, 0};
        if (!rungs)
            t->columns[0] = (struct rb_text_column){i == RB_COMPARE_DIFFERENCES ? "key" : "", false, 0};
        rb_text_table_init(&t->table, t->columns, rungs ? 8 : 3);
    }
    fill_figures(&out->items[RB_COMPARE_FIGURES].table, document);
    fill_differences(&out->items[RB_COMPARE_DIFFERENCES].table, document);
    fill_best(&out->items[RB_COMPARE_BEST].table, document);
    fill_rungs(&out->items[RB_COMPARE_RUNGS].table, (const char(*)[192])out->names, document);
}

void rb_compare_tables_finish(struct rb_compare_tables *t)
{
    for (int i = 0; i < RB_COMPARE_TABLES; i++)
        rb_text_table_finish(&t->items[i].table);
}

void rb_compare_tables_write(const struct rb_compare_tables *t, const struct rb_text_style *style, struct rb_buf *out)
{
    for (int i = 0; i < RB_COMPARE_TABLES; i++) {
        rb_buf_printf(out, "%s%s\n", i ? "\n" : "", t->items[i].heading);
        if (t->items[i].table.n_cells)
            rb_text_table_write(&t->items[i].table, style, out);
        else
            rb_buf_printf(out, "%s\n", t->items[i].none);
    }
}
