#include "views/tables/what_if_table.h"

#include "views/tables/plan_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct rb_text_column columns[] = {
    {"what if", false, 0}, {"cost", true, 0},   {"change", true, 0},
    {"time", true, 0},     {"change", true, 1}, {"P", true, 2},
};

// "+$1.20", "-10 m 0 s", "same"; "" if there is nothing to compare with.
static void change_cell(struct rb_text_table *t, bool compare, int64_t change,
                        char *(*format)(int64_t, char[static 32]))
{
    char text[32];
    if (!compare)
        rb_text_table_cell(t, "%s", "");
    else if (change == 0)
        rb_text_table_cell(t, "same");
    else
        rb_text_table_cell(t, "%s%s", change < 0 ? "-" : "+", format(llabs(change), text));
}

static void add_row(struct rb_text_table *t, const char *what, const struct rb_what_if_row *row,
                    const struct rb_what_if_row *base)
{
    char text[32];
    const struct rb_estimate *e = &row->estimate;
    rb_text_table_cell(t, "%s", what);
    if (!row->feasible) {
        rb_text_table_cell(t, "no plan");
        for (int i = 0; i < 4; i++)
            rb_text_table_cell(t, "-");
        return;
    }
    bool compare = base && base->feasible;
    rb_text_table_cell(t, "%s", rb_format_money(e->cost_uusd.mean, text));
    change_cell(t, compare, compare ? e->cost_uusd.mean - base->estimate.cost_uusd.mean : 0, rb_format_money);
    rb_text_table_cell(t, "%s", rb_format_duration(e->time_us.mean, text));
    change_cell(t, compare, compare ? e->time_us.mean - base->estimate.time_us.mean : 0, rb_format_duration);
    rb_text_table_cell(t, "%s", rb_plan_probability(e, e->p_both, 3, text));
}

// "budget=$3: no plan keeps the constraints; nearest that would: deadline=47m or budget=3.4 or confidence=0.311"
// A blank line goes before the first.
static void nearest_line(const char *what, const struct rb_what_if_row *row, bool *blank, struct rb_buf *out)
{
    char text[32];
    const struct rb_plan_result *r = &row->result;
    const char *separator = " ";
    if (row->feasible)
        return;
    rb_buf_puts(out, *blank ? "" : "\n");
    *blank = true;
    rb_buf_printf(out, "%s: no plan keeps the constraints; nearest that would:", what);
    if (r->nearest_deadline_us >= 0) {
        rb_buf_printf(out, "%sdeadline=%s", separator, rb_format_duration_exact(r->nearest_deadline_us, text));
        separator = " or ";
    }
    if (r->nearest_budget_uusd >= 0) {
        rb_buf_printf(out, "%sbudget=%s", separator, rb_format_money_exact(r->nearest_budget_uusd, text));
        separator = " or ";
    }
    if (!isnan(r->nearest_confidence))
        rb_buf_printf(out, "%sconfidence=%.3f", separator, r->nearest_confidence);
    else if (r->nearest_deadline_us < 0 && r->nearest_budget_uusd < 0)
        rb_buf_puts(out, " none that is changed alone");
    rb_buf_putc(out, '\n');
}

// Which plans may not be the cheapest; the other planners claim nothing.
static void proof_line(const char *what, const struct rb_what_if_row *row, bool *blank, struct rb_buf *out)
{
    if (!row->feasible || row->result.bound.proved)
        return;
    rb_buf_puts(out, *blank ? "" : "\n");
    *blank = true;
    const char *why = row->result.cut ? "a limit cut the search" : row->result.bound.why_not;
    rb_buf_printf(out, "%s: not proved to be the best plan%s%s\n", what, why ? ": " : "", why ? why : "");
}

// What the table does not show: "spot=allow: aws/us-east-1 g4dn.xlarge (spot) was not considered: ..."
static void warning_lines(const char *what, const struct rb_what_if_row *row, bool *blank, struct rb_buf *out)
{
    for (int i = 0; i < row->n_warnings; i++) {
        rb_buf_puts(out, *blank ? "" : "\n");
        *blank = true;
        rb_buf_printf(out, "%s: %s\n", what, row->warnings[i]);
    }
}

void rb_what_if_table_write(const struct rb_plan_request *req, const char *planner, const char *order,
                            const struct rb_what_if_table *table, const struct rb_text_style *style, struct rb_buf *out)
{
    struct rb_text_table t;
    rb_buf_printf(out, "%s, planned by %s; %smeans, and P that deadline and budget are kept\n\n", req->job->name,
                  planner, order);
    rb_text_table_init(&t, columns, sizeof columns / sizeof columns[0]);
    add_row(&t, "as it is", &table->base, NULL);
    for (int i = 0; i < table->n; i++)
        add_row(&t, table->scenarios[i].text, &table->rows[i], &table->base);
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
    bool blank = false, claims = strcmp(planner, "optimal") == 0;
    nearest_line("as it is", &table->base, &blank, out);
    for (int i = 0; i < table->n; i++)
        nearest_line(table->scenarios[i].text, &table->rows[i], &blank, out);
    if (claims)
        proof_line("as it is", &table->base, &blank, out);
    for (int i = 0; i < table->n && claims; i++)
        proof_line(table->scenarios[i].text, &table->rows[i], &blank, out);
    for (int i = 0; i < table->n; i++)
        warning_lines(table->scenarios[i].text, &table->rows[i], &blank, out);
}
