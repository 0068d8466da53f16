#include "views/plan_table.h"

static void nodes_cell(const struct rb_plan *plan, int stage, struct rb_text_table *t)
{
    if (stage >= plan->n_stages) {
        rb_text_table_cell(t, "-");
        return;
    }
    const struct rb_plan_stage *s = &plan->stages[stage];
    struct rb_buf text = RB_BUF_INIT;
    rb_buf_printf(&text, "%dx%d on ", s->trials, s->gpus_per_trial);
    for (int i = 0; i < s->n_nodes; i++) {
        const struct rb_offer *offer = &plan->offers[s->nodes[i].offer];
        rb_buf_printf(&text, "%s%d %s%s", i > 0 ? " + " : "", s->nodes[i].count, offer->instance_type,
                      offer->market == RB_MARKET_SPOT ? " (spot)" : "");
    }
    rb_text_table_cell(t, "%s", rb_buf_str(&text));
    rb_buf_finish(&text);
}

static void time_cell(const struct rb_plan *plan, int stage, struct rb_text_table *t)
{
    char text[32];
    rb_text_table_cell(t, "%s",
                       stage < plan->n_stages ? rb_format_duration(plan->stages[stage].time_us.p50, text) : "-");
}

static void cost_cell(const struct rb_plan *plan, int stage, struct rb_text_table *t)
{
    char text[32];
    rb_text_table_cell(t, "%s",
                       stage < plan->n_stages ? rb_format_money(plan->stages[stage].cost_uusd.p50, text) : "-");
}

static void stages(const struct rb_plan *a, const char *name_a, const struct rb_plan *b, const char *name_b,
                   const struct rb_text_style *style, struct rb_buf *out)
{
    const struct rb_text_column columns[] = {
        {"stage", true, 0},    {name_a, false, 0},    {name_b, false, 0},    {"time p50", true, 1},
        {"time p50", true, 1}, {"cost p50", true, 2}, {"cost p50", true, 2},
    };
    struct rb_text_table t;
    rb_text_table_init(&t, columns, sizeof columns / sizeof columns[0]);
    for (int i = 0; i < a->n_stages || i < b->n_stages; i++) {
        rb_text_table_cell(&t, "%d", i);
        nodes_cell(a, i, &t);
        nodes_cell(b, i, &t);
        time_cell(a, i, &t);
        time_cell(b, i, &t);
        cost_cell(a, i, &t);
        cost_cell(b, i, &t);
    }
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

static void time_row(struct rb_text_table *t, const char *what, int64_t a, int64_t b)
{
    char text[32];
    rb_text_table_cell(t, "%s", what);
    rb_text_table_cell(t, "%s", rb_format_duration(a, text));
    rb_text_table_cell(t, "%s", rb_format_duration(b, text));
    rb_text_table_cell(t, "%s%s", b < a ? "-" : "+", rb_format_duration(b < a ? a - b : b - a, text));
}

static void cost_row(struct rb_text_table *t, const char *what, int64_t a, int64_t b)
{
    char text[32];
    rb_text_table_cell(t, "%s", what);
    rb_text_table_cell(t, "%s", rb_format_money(a, text));
    rb_text_table_cell(t, "%s", rb_format_money(b, text));
    rb_text_table_cell(t, "%s%s", b < a ? "-" : "+", rb_format_money(b < a ? a - b : b - a, text));
}

void rb_plan_diff_write(const struct rb_plan *a, const char *name_a, const struct rb_plan *b, const char *name_b,
                        const struct rb_text_style *style, struct rb_buf *out)
{
    const struct rb_text_column columns[] = {
        {"estimate", false, 0}, {name_a, true, 0}, {name_b, true, 0}, {"difference", true, 0}};
    const struct rb_estimate *x = &a->estimate, *y = &b->estimate;
    struct rb_text_table t;
    stages(a, name_a, b, name_b, style, out);
    rb_buf_putc(out, '\n');
    rb_text_table_init(&t, columns, sizeof columns / sizeof columns[0]);
    cost_row(&t, "cost mean", x->cost_uusd.mean, y->cost_uusd.mean);
    cost_row(&t, "cost p95", x->cost_uusd.p95, y->cost_uusd.p95);
    time_row(&t, "time mean", x->time_us.mean, y->time_us.mean);
    time_row(&t, "time p95", x->time_us.p95, y->time_us.p95);
    rb_text_table_cell(&t, "P(deadline and budget)");
    rb_text_table_cell(&t, "%.3f", x->p_both);
    rb_text_table_cell(&t, "%.3f", y->p_both);
    rb_text_table_cell(&t, "%+.3f", y->p_both - x->p_both);
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}
