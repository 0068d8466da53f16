// Compares two plans: their requests where they differ, the changes stage by stage, and their effect on cost and time.
#include "views/tables/plan_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    const struct rb_plan *a, *b;
    const char *name_a, *name_b;
};

// ---- the requests

static const char *limit_text(int64_t limit, char *(*format)(int64_t, char *), char *out)
{
    return limit < 0 ? "none" : format(limit, out);
}

static char *duration_text(int64_t us, char *out)
{
    return rb_format_duration(us, out);
}

static char *money_text(int64_t uusd, char *out)
{
    return rb_format_money(uusd, out);
}

static void limit_line(const char *what, int64_t a, int64_t b, char *(*format)(int64_t, char *), struct rb_buf *out)
{
    char text_a[32], text_b[32];
    if (a != b)
        rb_buf_printf(out, "%s: %s -> %s\n", what, limit_text(a, format, text_a), limit_text(b, format, text_b));
}

static void word_line(const char *what, const char *a, const char *b, struct rb_buf *out)
{
    if (strcmp(a, b) != 0)
        rb_buf_printf(out, "%s: %s -> %s\n", what, a, b);
}

static void requests(const struct pair *p, struct rb_buf *out)
{
    const size_t before = out->len;
    if (strcmp(p->a->job_sha256, p->b->job_sha256) != 0)
        word_line("job", p->a->job->name, p->b->job->name, out);
    if (strcmp(p->a->profile_sha256, p->b->profile_sha256) != 0)
        rb_buf_puts(out, "the profiles differ: times were predicted from other measurements\n");
    limit_line("deadline", p->a->deadline_us, p->b->deadline_us, duration_text, out);
    limit_line("budget", p->a->budget_uusd, p->b->budget_uusd, money_text, out);
    if (fabs(p->a->confidence - p->b->confidence) > 0)
        rb_buf_printf(out, "confidence: %.10g -> %.10g\n", p->a->confidence, p->b->confidence);
    word_line("planner", p->a->planner, p->b->planner, out);
    word_line("policy", p->a->policy, p->b->policy, out);
    rb_buf_puts(out, out->len > before ? "\n" : "");
}

// ---- stages

static void stage_text(const struct rb_plan *plan, int stage, struct rb_buf *out)
{
    rb_buf_clear(out);
    if (stage >= plan->n_stages) {
        rb_buf_puts(out, "-");
        return;
    }
    const struct rb_plan_stage *s = &plan->stages[stage];
    rb_buf_printf(out, "%dx%d on ", s->trials, s->gpus_per_trial);
    for (int i = 0; i < s->n_nodes; i++) {
        const struct rb_offer *offer = &plan->offers[s->nodes[i].offer];
        rb_buf_printf(out, "%s%d %s%s", i > 0 ? " + " : "", s->nodes[i].count, offer->instance_type,
                      rb_market_mark(offer->market));
    }
}

static const struct rb_quantiles *time_of(const struct rb_plan *plan, int stage)
{
    return stage < plan->n_stages ? &plan->stages[stage].time_us : NULL;
}

static const struct rb_quantiles *cost_of(const struct rb_plan *plan, int stage)
{
    return stage < plan->n_stages ? &plan->stages[stage].cost_uusd : NULL;
}

// "12 m 17 s -> 35 m 44 s", or once if both look the same to a reader.
static void change_cell(const struct rb_quantiles *a, const struct rb_quantiles *b, char *(*format)(int64_t, char *),
                        struct rb_text_table *t)
{
    char text_a[32] = "-", text_b[32] = "-";
    if (a)
        format(a->p50, text_a);
    if (b)
        format(b->p50, text_b);
    if (strcmp(text_a, text_b) == 0)
        rb_text_table_cell(t, "%s", text_a);
    else
        rb_text_table_cell(t, "%s -> %s", text_a, text_b);
}

static void stages(const struct pair *p, const struct rb_text_style *style, struct rb_buf *out)
{
    const struct rb_text_column columns[] = {{"stage", true, 0},
                                             {p->name_a, false, 0},
                                             {p->name_b, false, 0},
                                             {"time p50", false, 1},
                                             {"cost p50", false, 2}};
    RB_AUTO(rb_buf_finish) struct rb_buf a = RB_BUF_INIT, b = RB_BUF_INIT;
    struct rb_text_table t;
    rb_text_table_init(&t, columns, sizeof columns / sizeof columns[0]);
    for (int i = 0; i < p->a->n_stages || i < p->b->n_stages; i++) {
        stage_text(p->a, i, &a);
        stage_text(p->b, i, &b);
        rb_text_table_cell(&t, "%d", i);
        rb_text_table_cell(&t, "%s", rb_buf_str(&a));
        rb_text_table_cell(&t, "%s", strcmp(rb_buf_str(&a), rb_buf_str(&b)) == 0 ? "same" : rb_buf_str(&b));
        change_cell(time_of(p->a, i), time_of(p->b, i), duration_text, &t);
        change_cell(cost_of(p->a, i), cost_of(p->b, i), money_text, &t);
    }
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

// ---- estimates

static void figure_row(struct rb_text_table *t, const char *what, int64_t a, int64_t b,
                       char *(*format)(int64_t, char *))
{
    char text[32];
    rb_text_table_cell(t, "%s", what);
    rb_text_table_cell(t, "%s", format(a, text));
    rb_text_table_cell(t, "%s", format(b, text));
    if (a == b)
        rb_text_table_cell(t, "same");
    else
        rb_text_table_cell(t, "%s%s", b < a ? "-" : "+", format(llabs(b - a), text));
}

static void estimates(const struct pair *p, const struct rb_text_style *style, struct rb_buf *out)
{
    const struct rb_text_column columns[] = {
        {"estimate", false, 0}, {p->name_a, true, 0}, {p->name_b, true, 0}, {"difference", true, 0}};
    const struct rb_estimate *x = &p->a->estimate, *y = &p->b->estimate;
    struct rb_text_table t;
    rb_text_table_init(&t, columns, sizeof columns / sizeof columns[0]);
    figure_row(&t, "cost mean", x->cost_uusd.mean, y->cost_uusd.mean, money_text);
    figure_row(&t, "cost p95", x->cost_uusd.p95, y->cost_uusd.p95, money_text);
    figure_row(&t, "time mean", x->time_us.mean, y->time_us.mean, duration_text);
    figure_row(&t, "time p95", x->time_us.p95, y->time_us.p95, duration_text);
    rb_text_table_cell(&t, "P(deadline and budget)");
    char text[32];
    rb_text_table_cell(&t, "%s", rb_plan_probability(x, x->p_both, 3, text));
    rb_text_table_cell(&t, "%s", rb_plan_probability(y, y->p_both, 3, text));
    if (x->spread_unknown || y->spread_unknown)
        rb_text_table_cell(&t, "-");
    else
        rb_text_table_cell(&t, "%+.3f", y->p_both - x->p_both);
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

// "c.json costs $0.6842 less (-17 %) and takes 56 m 15 s longer, on average"
static void verdict(const struct pair *p, struct rb_buf *out)
{
    const int64_t cost_a = p->a->estimate.cost_uusd.mean, cost_b = p->b->estimate.cost_uusd.mean;
    const int64_t later_us = p->b->estimate.time_us.mean - p->a->estimate.time_us.mean;
    char text[32];
    rb_buf_printf(out, "\n%s costs ", p->name_b);
    if (cost_a == cost_b)
        rb_buf_puts(out, "the same");
    else
        rb_buf_printf(out, "%s %s", rb_format_money(llabs(cost_b - cost_a), text), cost_b < cost_a ? "less" : "more");
    if (cost_a != cost_b && cost_a > 0) {
        const double percent = 100 * ((double)cost_b / (double)cost_a - 1);
        rb_buf_printf(out, " (%+.*f %%)", fabs(percent) < 10 ? 1 : 0, percent);
    }
    if (later_us == 0)
        rb_buf_puts(out, " and takes as long, on average\n");
    else
        rb_buf_printf(out, " and takes %s %s, on average\n", rb_format_duration(llabs(later_us), text),
                      later_us > 0 ? "longer" : "less");
}

void rb_plan_diff_write(const struct rb_plan *a, const char *name_a, const struct rb_plan *b, const char *name_b,
                        const struct rb_text_style *style, struct rb_buf *out)
{
    const struct pair p = {a, b, name_a, name_b};
    requests(&p, out);
    stages(&p, style, out);
    rb_buf_putc(out, '\n');
    estimates(&p, style, out);
    verdict(&p, out);
}
