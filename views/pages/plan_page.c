#include "views/pages/plan_page.h"

#include "views/pages/page.h"
#include "views/pages/plan_page_basis.h"
#include "views/tables/plan_table.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_COLUMNS(columns) (int)(sizeof(columns) / sizeof(columns)[0])

// ---- the document

static const struct rb_node *member(const struct rb_node *node, const char *key)
{
    const struct rb_node *found = rb_node_member(node, key);
    assert(found);
    return found;
}

static bool is_null(const struct rb_node *node)
{
    return node->kind == RB_NODE_NULL;
}

static int64_t amount(const struct rb_node *node, const char *key)
{
    const struct rb_node *found = member(node, key);
    assert(found->kind == RB_NODE_INT);
    return found->integer;
}

// ---- cells

static void time_cell(struct rb_text_table *t, int64_t us)
{
    char text[32];
    rb_text_table_cell(t, "%s", rb_format_duration(us, text));
}

static void money_cell(struct rb_text_table *t, int64_t uusd)
{
    char text[32];
    rb_text_table_cell(t, "%s", rb_format_money(uusd, text));
}

// "+$1.20", "-10 m 0 s", "same"; `size`: the change without its sign.
static void change_cell(struct rb_text_table *t, int64_t change, const char *size)
{
    if (change == 0)
        rb_text_table_cell(t, "same");
    else
        rb_text_table_cell(t, "%s%s", change < 0 ? "-" : "+", size);
}

static void blank_cells(struct rb_text_table *t, int n)
{
    for (int i = 0; i < n; i++)
        rb_text_table_cell(t, "-");
}

static void put_table(struct rb_page *page, const char *caption, struct rb_text_table *t)
{
    rb_page_table(page, caption, t);
    rb_text_table_finish(t);
}

// ---- at a glance

static void limit_fact(const struct rb_plan *plan, struct rb_page *page)
{
    char text[32], kept[32];
    RB_AUTO(rb_buf_finish) struct rb_buf asked = RB_BUF_INIT;
    const bool timed = plan->deadline_us >= 0, paid = plan->budget_uusd >= 0;
    const double p = plan->estimate.p_both;
    if (!timed && !paid)
        return;
    if (rb_plan_on_what(plan)[0])
        rb_buf_puts(&asked, "on made-up learning curves\n");
    if (timed)
        rb_buf_printf(&asked, "deadline %s\n", rb_format_duration(plan->deadline_us, text));
    if (paid)
        rb_buf_printf(&asked, "budget %s\n", rb_format_money(rb_plan_whole_budget_uusd(plan), text));
    rb_buf_printf(&asked, plan->job->on_average ? "asked for: on average" : "asked for: %g %%", 100 * plan->confidence);
    if (plan->estimate.spread_unknown) {
        snprintf(kept, sizeof kept, "not known");
        rb_buf_puts(&asked, "the profile has no spread\n");
    } else if (p > 0.999)
        snprintf(kept, sizeof kept, "> 99.9 %%"); // never certain
    else
        snprintf(kept, sizeof kept, "%.1f %%", 100 * p);
    rb_buf_putc(&asked, '\n');
    rb_plan_drift_write(plan, &asked);
    rb_page_fact(page,
                 timed && paid ? "on time and in budget"
                 : timed       ? "on time"
                               : "in budget",
                 kept, rb_buf_str(&asked));
}

// The value of a little more time, and of a little less, if the frontier was computed and the plan is on it.
static void marginal_fact(const struct rb_plan *plan, const struct rb_node *document, struct rb_page *page)
{
    char text[32];
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT, saved = RB_BUF_INIT, less = RB_BUF_INIT;
    const struct rb_node *frontier = member(document, "frontier");
    const struct rb_node *marginal = is_null(frontier) ? NULL : member(frontier, "marginal");
    if (!marginal || is_null(marginal) || plan->spot) // the marginal is that of plans on demand
        return;
    const struct rb_node *sooner = member(marginal, "less");
    const int64_t saved_uusd = -amount(member(marginal, "more"), "cost_uusd");
    rb_plan_step_write(amount(member(marginal, "more"), "deadline_us") - amount(marginal, "deadline_us"), &name);
    rb_buf_puts(&name, " more");
    rb_buf_printf(&saved, "saves %s", saved_uusd > 0 ? rb_plan_money(plan, saved_uusd, text) : "nothing");
    const int64_t added_uusd = is_null(sooner) ? -1 : amount(sooner, "cost_uusd");
    rb_buf_printf(&less, "as much less:\n%s%s",
                  added_uusd < 0    ? "no plan keeps it"
                  : added_uusd == 0 ? "nothing"
                                     : rb_plan_money(plan, added_uusd, text),
                  added_uusd < 0 ? "" : " more");
    rb_page_fact(page, rb_buf_str(&name), rb_buf_str(&saved), rb_buf_str(&less));
}

static void glance(const struct rb_plan *plan, const struct rb_node *document, struct rb_page *page)
{
    char figure[32], most[32], remark[64];
    const struct rb_estimate *e = &plan->estimate;
    rb_page_begin_facts(page);
    snprintf(remark, sizeof remark, "95 %% of runs:\nat most %s", rb_format_money(e->cost_uusd.p95, most));
    rb_page_fact(page, "expected cost", rb_format_money(e->cost_uusd.mean, figure), remark);
    snprintf(remark, sizeof remark, "95 %% of runs:\nat most %s", rb_format_duration(e->time_us.p95, most));
    rb_page_fact(page, "expected time", rb_format_duration(e->time_us.mean, figure), remark);
    limit_fact(plan, page);
    marginal_fact(plan, document, page);
    rb_page_end_facts(page);
}

// ---- the plan

#define PLAN_CAPTION(what)                                                                                             \
    "Each stage from its median start to its median end, its wait for nodes first; the whisker holds the end in 90 % " \
    "of runs. Below, the " what " that are paid for and those that train."

static void plan_section(const struct rb_plan *plan, struct rb_page *page)
{
    struct rb_text_table stages;
    rb_page_section(page, "plan", "The plan", "Which machines are owned when, and what trains on them.");
    rb_page_chart(page, "gantt", plan->job->trial.cpus > 0 ? PLAN_CAPTION("CPUs") : PLAN_CAPTION("GPUs"));
    rb_plan_stages_table(plan, &stages);
    put_table(page, "Stages: what 50 % and 95 % of runs need", &stages);
}

// ---- probabilities

static void quantile_row(struct rb_text_table *t, const char *what, const struct rb_quantiles *q,
                         void (*cell)(struct rb_text_table *, int64_t))
{
    rb_text_table_cell(t, "%s", what);
    cell(t, q->mean);
    cell(t, q->p5);
    cell(t, q->p50);
    cell(t, q->p95);
    cell(t, q->p99);
}

static void limits_sentence(const struct rb_plan *plan, struct rb_page *page)
{
    char text[32], p[32];
    RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
    const struct rb_estimate *e = &plan->estimate;
    const bool both = plan->deadline_us >= 0 && plan->budget_uusd >= 0;
    if (plan->deadline_us < 0 && plan->budget_uusd < 0) {
        rb_page_paragraph(page, "Neither a deadline nor a budget was asked for.");
        return;
    }
    if (plan->deadline_us >= 0)
        rb_buf_printf(&said, "Done within the deadline of %s: probability %s",
                      rb_format_duration(plan->deadline_us, text), rb_plan_probability(e, e->p_deadline, 4, p));
    if (plan->budget_uusd >= 0)
        rb_buf_printf(&said, "%sithin the budget of %s: probability %s", both ? "; w" : "W",
                      rb_format_money(rb_plan_whole_budget_uusd(plan), text), rb_plan_probability(e, e->p_budget, 4, p));
    if (both)
        rb_buf_printf(&said, "; both: %s", rb_plan_probability(e, e->p_both, 4, p));
    rb_buf_puts(&said, rb_plan_on_what(plan));
    if (e->spread_unknown)
        rb_buf_puts(&said, ": every time in the profile is a constant, so it is unknown how far runs vary");
    rb_page_paragraph(page, "%s. Required: %s%.10g.", rb_buf_str(&said),
                      plan->job->on_average ? "the mean within; " : "at least ", plan->confidence);
}

static void certainty_section(const struct rb_plan *plan, struct rb_page *page)
{
    static const struct rb_text_column columns[] = {{"", false, 0},   {"mean", true, 0}, {"p5", true, 0},
                                                    {"p50", true, 0}, {"p95", true, 0},  {"p99", true, 0}};
    struct rb_text_table t;
    rb_page_section(page, "certainty", "How sure it is",
                    "The share of runs that are done by a time, and that cost no more than an amount.");
    limits_sentence(plan, page);
    rb_page_chart(page, "time_distribution", "Share of runs that are done by a time.");
    if (!rb_plan_is_free(plan))
        rb_page_chart(page, "cost_distribution", "Share of runs that cost no more than an amount.");
    rb_text_table_init(&t, columns, N_COLUMNS(columns));
    quantile_row(&t, "time", &plan->estimate.time_us, time_cell);
    quantile_row(&t, "cost", &plan->estimate.cost_uusd, money_cell);
    put_table(page, "The estimate: mean, and what 5 %, 50 %, 95 % and 99 % of runs need at most", &t);
}

// ---- the frontier and the other planners

static void estimate_row(struct rb_text_table *t, const char *name, const struct rb_estimate *e)
{
    char p[32];
    rb_text_table_cell(t, "%s", name);
    if (!e) {
        blank_cells(t, 5);
        return;
    }
    money_cell(t, e->cost_uusd.mean);
    money_cell(t, e->cost_uusd.p95);
    time_cell(t, e->time_us.mean);
    time_cell(t, e->time_us.p95);
    rb_text_table_cell(t, "%s", rb_plan_probability(e, e->p_both, 4, p));
}

static void planners_table(const struct rb_plan *plan, struct rb_page *page)
{
    static const struct rb_text_column columns[] = {{"planner", false, 0}, {"mean cost", true, 0},
                                                    {"cost p95", true, 0}, {"mean time", true, 0},
                                                    {"time p95", true, 0}, {"P(kept)", true, 0}};
    struct rb_text_table t;
    rb_text_table_init(&t, columns, N_COLUMNS(columns));
    estimate_row(&t, plan->planner, &plan->estimate);
    for (int i = 0; i < plan->n_baselines; i++) {
        const struct rb_plan_baseline *b = &plan->baselines[i];
        if (strcmp(b->name, plan->planner) != 0)
            estimate_row(&t, b->name, b->exists ? &b->estimate : NULL);
    }
    put_table(page,
              "This plan beside what other planners find for the same request; a dash: no plan of theirs keeps it", &t);
}

static void notes(const struct rb_node *document, const char *part, const char *before, struct rb_page *page)
{
    for (const struct rb_node *n = member(document, "notes")->first; n; n = n->next) {
        if (strcmp(member(n, "part")->text, part) == 0)
            rb_page_sentence(page, before, member(n, "text")->text);
    }
}

static void frontier_section(const struct rb_plan *plan, const struct rb_node *document, struct rb_page *page)
{
    rb_page_section(page, "frontier", "What more or less time is worth",
                    "The cheapest plan that keeps each deadline, by every planner.");
    notes(document, "marginal", "", page);
    if (!is_null(member(document, "frontier")))
        rb_page_chart(page, "frontier",
                      "Cost against deadline: what half of the runs cost, and 95 %; the diamond is this plan.");
    notes(document, "frontier", "Note: ", page);
    planners_table(plan, page);
}

// ---- what other budgets find

// Only of a plan whose search was chosen by a budget.
static void best_section(const struct rb_node *document, struct rb_page *page)
{
    const struct rb_node *best = rb_node_member(document, "best_for");
    if (!best)
        return;
    rb_page_section(page, "best", "What more or less money finds",
                    "The best search that is affordable with each budget, and what it is expected to find.");
    rb_page_chart(page, "best", "Expected best against the budget, with 90 % of draws; the diamond is this plan.");
    rb_page_sentence(page, "It rests on ", member(member(best, "law"), "source")->text);
}

// ---- money

static const struct {
    const char *key, *title;
} parts[] = {{"train", "training"},         {"boot", "booting"}, {"idle_barrier", "idle at barriers"},
             {"checkpoint", "checkpoints"}, {"lost", "lost"},    {"minimum", "60 s minimum"}};

enum { N_PARTS = sizeof parts / sizeof parts[0] };

// Adds up the stages' costs; parts that no stage has are not shown.
static void sum_parts(const struct rb_node *stages, int64_t totals[N_PARTS])
{
    for (const struct rb_node *s = stages->first; s; s = s->next) {
        for (int i = 0; i < N_PARTS; i++)
            totals[i] += amount(member(s, "cost_uusd"), parts[i].key);
    }
}

static void part_cell(struct rb_text_table *t, const struct rb_plan *plan, int64_t uusd)
{
    char text[32];
    rb_text_table_cell(t, "%s", rb_plan_money(plan, uusd, text));
}

static void money_row(struct rb_text_table *t, const struct rb_plan *plan, const char *name, const int64_t *amounts,
                      const int64_t *totals)
{
    int64_t sum = 0;
    rb_text_table_cell(t, "%s", name);
    for (int i = 0; i < N_PARTS; i++) {
        if (totals[i] > 0)
            part_cell(t, plan, amounts[i]);
        sum += amounts[i];
    }
    part_cell(t, plan, sum);
}

static void money_table(const struct rb_plan *plan, const struct rb_node *timeline, struct rb_page *page)
{
    struct rb_text_column columns[N_PARTS + 2] = {{"stage", false, 0}};
    int64_t totals[N_PARTS] = {0};
    int n_columns = 1;
    struct rb_text_table t;
    sum_parts(member(timeline, "stages"), totals);
    for (int i = 0; i < N_PARTS; i++) {
        if (totals[i] > 0)
            columns[n_columns++] = (struct rb_text_column){parts[i].title, true, 0};
    }
    columns[n_columns++] = (struct rb_text_column){"together", true, 0};
    rb_text_table_init(&t, columns, n_columns);
    for (const struct rb_node *s = member(timeline, "stages")->first; s; s = s->next) {
        int64_t amounts[N_PARTS];
        for (int i = 0; i < N_PARTS; i++)
            amounts[i] = amount(member(s, "cost_uusd"), parts[i].key);
        money_row(&t, plan, member(s, "stage")->text, amounts, totals);
    }
    money_row(&t, plan, "all", totals, totals);
    put_table(page, "Expected cost by purpose", &t);
}

static void money_section(const struct rb_plan *plan, const struct rb_node *document, struct rb_page *page)
{
    const struct rb_node *timeline = member(document, "timeline");
    rb_page_section(page, "money", "Where the money goes",
                    rb_plan_is_free(plan)
                        ? "Nothing costs anything here."
                        : "A node is paid for from the moment it runs until it is released, whether it "
                          "trains or not.");
    if (rb_plan_is_free(plan))
        return;
    rb_page_chart(page, "breakdown", "Expected cost of each stage by purpose.");
    money_table(plan, timeline, page);
    rb_page_paragraph(page, "In the proportions of %" PRId64 " simulated runs; together the expected cost.",
                      amount(timeline, "runs"));
}

// ---- what if

static void scenario_name(const struct rb_node *changes, struct rb_buf *out)
{
    for (const struct rb_node *c = changes->first; c; c = c->next)
        rb_buf_printf(out, "%s%s = %s", c == changes->first ? "" : ", ", c->key, c->text);
}

static void scenario_row(struct rb_text_table *t, const struct rb_plan *plan, const struct rb_node *scenario)
{
    char text[32];
    struct rb_buf name = RB_BUF_INIT;
    const struct rb_node *e = member(scenario, "estimate"), *difference = member(scenario, "difference");
    scenario_name(member(scenario, "changes"), &name);
    rb_text_table_cell(t, "%s", rb_buf_str(&name));
    rb_buf_finish(&name);
    if (is_null(e)) {
        rb_text_table_cell(t, "no plan");
        blank_cells(t, 4);
        return;
    }
    money_cell(t, amount(member(e, "cost_uusd"), "mean"));
    const int64_t added_uusd = amount(difference, "cost_uusd"), longer_us = amount(difference, "time_us");
    change_cell(t, added_uusd, rb_plan_money(plan, llabs(added_uusd), text));
    time_cell(t, amount(member(e, "time_us"), "mean"));
    change_cell(t, longer_us, rb_format_duration(llabs(longer_us), text));
    const struct rb_node *p = member(e, "p_both");
    if (is_null(p))
        rb_text_table_cell(t, "not known");
    else
        rb_text_table_cell(t, "%.4f", p->number);
}

static void what_if_section(const struct rb_plan *plan, const struct rb_node *document, struct rb_page *page)
{
    static const struct rb_text_column columns[] = {{"what if", false, 0}, {"mean cost", true, 0},
                                                    {"change", true, 0},   {"mean time", true, 0},
                                                    {"change", true, 0},   {"P(kept)", true, 0}};
    const struct rb_node *what_if = member(document, "what_if");
    struct rb_text_table t;
    rb_page_section(page, "what-if", "What if", "The same job planned again with one thing changed.");
    notes(document, "what_if", "Note: ", page);
    if (is_null(what_if))
        return;
    rb_text_table_init(&t, columns, N_COLUMNS(columns));
    for (const struct rb_node *s = member(what_if, "scenarios")->first; s; s = s->next)
        scenario_row(&t, plan, s);
    put_table(page, "Each planned again; changes are against this plan", &t);
}

// ---- the page

static struct rb_plan_page_made made_of(const struct rb_node *document)
{
    struct rb_plan_page_made made = {.written_at = member(document, "written_at")->text,
                                     .curve_runs = amount(member(document, "distribution"), "runs"),
                                     .timeline_runs = amount(member(document, "timeline"), "runs")};
    const bool known = rb_parse_instant(made.written_at, &made.written_at_us, NULL);
    assert(known);
    (void)known;
    return made;
}

void rb_plan_page_write(const struct rb_plan *plan, const struct rb_node *document, const char *text,
                        struct rb_buf *out)
{
    struct rb_page page;
    const struct rb_plan_page_made made = made_of(document);
    RB_AUTO(rb_buf_finish) struct rb_buf title = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf headline = RB_BUF_INIT;
    rb_buf_printf(&title, "Plan of %s", plan->job->name);
    rb_plan_headline_write(plan, &headline);
    headline.data[0] = (char)toupper((unsigned char)headline.data[0]);
    rb_page_begin(&page, rb_buf_str(&title), headline.data, false, false, out);
    glance(plan, document, &page);
    plan_section(plan, &page);
    certainty_section(plan, &page);
    frontier_section(plan, document, &page);
    best_section(document, &page);
    money_section(plan, document, &page);
    what_if_section(plan, document, &page);
    rb_plan_page_prices(plan, &made, &page);
    rb_plan_page_basis(plan, &made, &page);
    rb_page_end(&page, text);
}
