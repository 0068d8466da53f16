#include "views/tables/report_table.h"

#include "base/text/number.h"
#include "base/text/units.h"
#include "profiles/catalog/infra.h"
#include "views/pages/document.h"
#include "views/tables/report_trials.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *rb_report_outcome_words(const char *outcome)
{
    static const char *const words[][2] = {
        {"target", "target reached"},
        {"incomplete", "incomplete, no trial was trained to the end"},
        {"stopped: user", "stopped on request"},
        {"stopped: deadline", "stopped at the deadline"},
        {"stopped: budget", "stopped at the budget"},
        {"stopped: capacity", "stopped for lack of machines"},
        {"stopped: drift", "stopped, it drifted from its prediction"},
        {"stopped: failure", "stopped by a fault"},
        {"stopped: released", "released, with the jobs of its pool"},
        {"stopped: broken_script", "stopped, its script is broken"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], outcome) == 0)
            return words[i][1];
    return outcome;
}

bool rb_report_outcome_is_failure(const char *outcome)
{
    return strcmp(outcome, "incomplete") == 0 || strcmp(outcome, "stopped: broken_script") == 0 ||
           strcmp(outcome, "stopped: failure") == 0;
}

static void heading(const struct rb_node *r, const struct rb_text_style *style, struct rb_buf *out)
{
    char time[32];
    const char *ended = rb_document_text(r, "outcome");
    const bool red = style->colour && rb_report_outcome_is_failure(ended);
    rb_buf_printf(
        out, "%s%s: %s after %s%s\n", red ? "\033[31m" : "", rb_document_text(r, "run"), rb_report_outcome_words(ended),
        rb_format_duration(rb_document_int(rb_document_member(r, "time_us"), "actual"), time), red ? "\033[0m" : "");
    const struct rb_node *late = rb_document_member(r, "ended_at_deadline"),
                         *paced = rb_document_member(r, "paced_accelerator");
    if (late && late->kind == RB_NODE_BOOL && late->boolean)
        rb_buf_puts(out, "its policy works until the deadline: the best trial by then is the result\n");
    if (paced && paced->kind == RB_NODE_BOOL && paced->boolean)
        rb_buf_puts(out, "paced accelerator: the training is real, its speed is emulated\n");
}

// Why the best trial has its configuration.
static void reason(const struct rb_node *r, int64_t trial, struct rb_buf *out)
{
    for (const struct rb_node *t = rb_document_items(r, "trials"); t; t = t->next) {
        if (rb_document_int(t, "trial") != trial || !rb_document_text(t, "origin")[0])
            continue;
        rb_buf_puts(out, "  suggested by ");
        rb_report_trial_reason(t, out);
        rb_buf_putc(out, '\n');
    }
}

// What the best trial and those that it descends from trained with. A population has one; others have none.
static void schedule(const struct rb_node *best, const struct rb_text_style *style, struct rb_buf *out)
{
    static const struct rb_text_column columns[] = {
        {"  trained with", false, 0}, {"from", true, 0}, {"to", true, 0}, {"", false, 0}};
    const struct rb_node *first = rb_document_items(best, "schedule");
    struct rb_text_table t;
    if (!first)
        return;
    rb_text_table_init(&t, columns, 4);
    for (const struct rb_node *s = first; s; s = s->next) {
        RB_AUTO(rb_buf_finish) struct rb_buf values = RB_BUF_INIT;
        const struct rb_node *of = rb_document_member(s, "values");
        for (const struct rb_node *v = of ? of->first : NULL; v; v = v->next)
            rb_buf_printf(&values, "%s%s=%s", v == of->first ? "" : " ", v->key, v->text);
        rb_text_table_cell(&t, "  trial %" PRId64, rb_document_int(s, "trial"));
        rb_text_table_cell(&t, "%" PRId64, rb_document_int(s, "from"));
        rb_text_table_cell(&t, "%" PRId64, rb_document_int(s, "to"));
        rb_text_table_cell(&t, "%s", rb_buf_str(&values));
    }
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

static void best(const struct rb_node *r, const struct rb_text_style *style, struct rb_buf *out)
{
    const struct rb_node *b = rb_document_member(r, "best");
    rb_buf_putc(out, '\n');
    if (!b) {
        const bool going_on = strcmp(rb_document_text(r, "outcome"), "running") == 0;
        rb_buf_printf(out, "best configuration: none%s, no trial has a result\n", going_on ? " yet" : "");
        return;
    }
    const struct rb_node *metric = rb_document_member(b, "metric");
    rb_buf_printf(out, "best configuration: trial %" PRId64 ", %s %s\n ", rb_document_int(b, "trial"),
                  rb_document_text(b, "metric_name"), metric ? metric->text : "nan");
    const struct rb_node *params = rb_document_member(b, "params");
    for (const struct rb_node *p = params ? params->first : NULL; p; p = p->next)
        rb_buf_printf(out, " %s=%s", p->key, p->text);
    rb_buf_putc(out, '\n');
    reason(r, rb_document_int(b, "trial"), out);
    if (rb_document_text(b, "command")[0])
        rb_buf_printf(out, "  as a command: %s\n", rb_document_text(b, "command"));
    if (rb_document_text(b, "remark")[0])
        rb_buf_printf(out, "  %s\n", rb_document_text(b, "remark"));
    if (rb_document_text(b, "checkpoint")[0])
        rb_buf_printf(out, "  checkpoint: %s (get it with: rbrun fetch %s --best DIR)\n",
                      rb_document_text(b, "checkpoint"), rb_document_text(r, "run"));
    schedule(b, style, out);
}

typedef char *format_fn(int64_t v, char out[static 32]);

// Did it cost nothing, and was it expected to cost nothing: the user's own machine, or nodes that a pool pays for?
static bool is_free(const struct rb_node *r)
{
    const struct rb_node *cost = rb_document_member(r, "cost_uusd"), *predicted = rb_document_member(cost, "predicted");
    return rb_document_int(cost, "actual") == 0 && (!predicted || rb_document_int(predicted, "p99") == 0);
}

static void beside_row(struct rb_text_table *t, const char *name, const struct rb_node *values, format_fn *format)
{
    char a[32], b[32];
    const struct rb_node *predicted = rb_document_member(values, "predicted");
    const int64_t p5 = rb_document_int(predicted, "p5"), p95 = rb_document_int(predicted, "p95"),
                  actual = rb_document_int(values, "actual");
    rb_text_table_cell(t, "%s", name);
    if (!predicted) {
        rb_text_table_cell(t, "-");
        rb_text_table_cell(t, "-");
        rb_text_table_cell(t, "%s", format(actual, a));
        rb_text_table_cell(t, "there was no prediction");
        return;
    }
    rb_text_table_cell(t, "%s", format(rb_document_int(predicted, "mean"), a));
    rb_text_table_cell(t, "%s .. %s", format(p5, a), format(p95, b));
    rb_text_table_cell(t, "%s", format(actual, a));
    rb_text_table_cell(t, "%s", actual < p5 ? "below p5" : actual > p95 ? "above p95" : "yes");
}

bool rb_report_is_attributed(const struct rb_node *r)
{
    const struct rb_node *first = rb_document_items(r, "nodes");
    for (const struct rb_node *n = first; n; n = n->next)
        if (!rb_infra_may_be_free(rb_document_text(n, "infra")))
            return false;
    return first && !is_free(r);
}

// Where a cloud does not tell what its spot machines cost over time, the plan's price stands for it.
static void attributed_part(const struct rb_node *r, struct rb_buf *out)
{
    char part[32];
    const int64_t uusd = rb_document_int(rb_document_member(r, "cost_uusd"), "attributed_uusd");
    if (uusd > 0)
        rb_buf_printf(out,
                      "%s of the cost is attributed: the cloud does not say what its spot machines cost over time, so the plan's "
                      "price counts\n",
                      rb_format_money(uusd, part));
}

// Beside the bill of the nodes. Its end decides what it costs: seen, to come, or as long as the run.
static void controller(const struct rb_node *r, struct rb_buf *out)
{
    char cost[32];
    const struct rb_node *c = rb_document_member(r, "controller");
    if (!c)
        return;
    const struct rb_node *ended = rb_document_member(c, "ended_at_us"), *ends = rb_document_member(c, "ends_at_us");
    const bool has_ended = ended && ended->kind == RB_NODE_INT, will_end = ends && ends->kind == RB_NODE_INT;
    rb_buf_printf(out, "its controller had a machine of its own, %s in %s, and that cost %s%s beside this\n",
                  rb_document_text(c, "instance_type"), rb_document_text(c, "infra"),
                  has_ended || !will_end ? "" : "at most ", rb_format_money(rb_document_int(c, "cost_uusd"), cost));
    if (!has_ended && will_end)
        rb_buf_printf(out, "it ends itself within an hour of the run, and the run's files with it: rbrun move %s --to here\n",
                      rb_document_text(r, "run"));
}

static void beside(const struct rb_node *r, const struct rb_text_style *style, struct rb_buf *out)
{
    static const struct rb_text_column columns[] = {
        {"", false, 0}, {"predicted", true, 0}, {"p5 .. p95", true, 0}, {"actual", true, 0}, {"in between?", false, 1},
    };
    struct rb_text_table t;
    rb_text_table_init(&t, columns, 5);
    beside_row(&t, "time", rb_document_member(r, "time_us"), rb_format_duration);
    if (!is_free(r))
        beside_row(&t, "cost", rb_document_member(r, "cost_uusd"), rb_format_money);
    rb_buf_putc(out, '\n');
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
    if (rb_report_is_attributed(r))
        rb_buf_puts(out, "the cost is attributed: these machines are there anyway, and their time is worth this much by the "
                         "price list\n");
    attributed_part(r, out);
    controller(r, out);
}

const struct rb_report_part rb_report_parts[RB_REPORT_N_PARTS] = {
    {"train", "training"},
    {"boot", "booting and setting up"},
    {"idle_barrier", "idle, waiting at barriers"},
    {"checkpoint", "saving checkpoints"},
    {"lost", "work that was lost"},
    {"minimum", "the 60 s minimum"},
};

// In dollars, or in GPU time if nothing has a price.
static void parts(const struct rb_node *r, const struct rb_text_style *style, struct rb_buf *out)
{
    const bool in_time = is_free(r);
    const struct rb_text_column columns[] = {
        {in_time ? "where the GPU time went" : "where the money went", false, 0}, {"", true, 0}, {"", true, 0}};
    const struct rb_node *all = rb_document_member(r, in_time ? "node_time_us" : "cost_uusd"),
                         *by = rb_document_member(all, "by");
    const int64_t total = rb_document_int(all, "actual");
    format_fn *const format = in_time ? rb_format_duration : rb_format_money;
    struct rb_text_table t;
    char amount[32];
    if (total <= 0)
        return;
    rb_text_table_init(&t, columns, 3);
    for (size_t i = 0; i < RB_REPORT_N_PARTS; i++) {
        const int64_t part = rb_document_int(by, rb_report_parts[i].key);
        if (in_time && part == 0)
            continue;
        rb_text_table_cell(&t, "  %s", rb_report_parts[i].name);
        rb_text_table_cell(&t, "%s", format(part, amount));
        rb_text_table_cell(&t, "%.0f %%", 100.0 * (double)part / (double)total);
    }
    rb_buf_putc(out, '\n');
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

static void predicted_cell(struct rb_text_table *t, int64_t value, format_fn *format)
{
    char a[32];
    rb_text_table_cell(t, "%s", value >= 0 ? format(value, a) : "-");
}

enum { STAGE_COLUMNS = 9 }; // the last two are costs

static void stage_row(struct rb_text_table *t, const struct rb_node *s)
{
    char a[32];
    const int64_t start = rb_document_int(s, "start_us"), end = rb_document_int(s, "end_us");
    rb_text_table_cell(t, "%" PRId64, rb_document_int(s, "stage"));
    rb_text_table_cell(t, "%" PRId64, rb_document_int(s, "trials"));
    rb_text_table_cell(t, "%" PRId64, rb_document_int(s, "resource_end"));
    const char *per_trial = rb_document_member(s, "cpus_per_trial") ? "cpus_per_trial" : "gpus_per_trial";
    rb_text_table_cell(t, "%" PRId64, rb_document_int(s, per_trial));
    rb_text_table_cell(t, "%" PRId64, rb_document_int(s, "nodes"));
    predicted_cell(t, rb_document_int(s, "predicted_time_us"), rb_format_duration);
    rb_text_table_cell(t, "%s", start >= 0 && end >= 0 ? rb_format_duration(end - start, a) : "-");
    if (t->n_columns < STAGE_COLUMNS)
        return;
    predicted_cell(t, rb_document_int(s, "predicted_cost_uusd"), rb_format_money);
    rb_text_table_cell(t, "%s", rb_format_money(rb_document_int(s, "cost_uusd"), a));
}

static void stages(const struct rb_node *r, const struct rb_text_style *style, struct rb_buf *out)
{
    const struct rb_node *first = rb_document_items(r, "stages");
    const char *per_trial = first && rb_document_member(first, "cpus_per_trial") ? "CPUs/trial" : "GPUs/trial";
    const struct rb_text_column columns[STAGE_COLUMNS] = {
        {"stage", true, 0},     {"trials", true, 0}, {"trained to", true, 2}, {per_trial, true, 3}, {"nodes", true, 0},
        {"predicted", true, 1}, {"time", true, 0},   {"predicted", true, 1},  {"cost", true, 0},
    };
    struct rb_text_table t;
    rb_text_table_init(&t, columns, STAGE_COLUMNS - (is_free(r) ? 2 : 0));
    for (const struct rb_node *s = first; s; s = s->next)
        stage_row(&t, s);
    rb_buf_putc(out, '\n');
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

static void troubles(const struct rb_node *r, struct rb_buf *out)
{
    int n = 0;
    for (const struct rb_node *f = rb_document_items(r, "faults"); f; f = f->next, n++) {
        char at[32];
        if (n == 0)
            rb_buf_puts(out, "\nfaults\n");
        if (n < 5)
            rb_buf_printf(out, "  %s: %s\n", rb_format_duration(rb_document_int(f, "at_us"), at),
                          rb_document_text(f, "text"));
    }
    if (n > 5)
        rb_buf_printf(out, "  and %d more (rbrun report --json)\n", n - 5);
}

static void leak_check(const struct rb_node *r, struct rb_buf *out)
{
    const struct rb_node *check = rb_document_member(r, "leak_check");
    char at[32];
    if (!check) {
        rb_buf_puts(out, "\ninstances left: not checked yet\n");
        return;
    }
    rb_format_instant(
        (rb_document_int(r, "started_at_us") + rb_document_int(check, "at_us")) / RB_US_PER_S * RB_US_PER_S, at);
    if (rb_document_member(check, "instances_left"))
        rb_buf_printf(out, "\ninstances left: %" PRId64 " (listed at %s)\n", rb_document_int(check, "instances_left"),
                      at);
    else
        rb_buf_printf(out, "\ninstances left: unknown (the listing at %s was not complete; look with rbrun gc)\n", at);
}

bool rb_report_table_write(const struct rb_node *r, const struct rb_text_style *style, struct rb_buf *out,
                           struct rb_err *err)
{
    if (strcmp(rb_document_text(r, "format"), "rb-report/1") != 0)
        return rb_err_set(err, RB_E_REPORT_FORMAT, "expected a report of format rb-report/1");
    if (!rb_document_member(r, "time_us") || !rb_document_member(rb_document_member(r, "cost_uusd"), "by") ||
        !rb_document_member(r, "stages"))
        return rb_err_set(err, RB_E_REPORT_FORMAT, "the report lacks time_us, cost_uusd.by or stages");
    heading(r, style, out);
    best(r, style, out);
    beside(r, style, out);
    parts(r, style, out);
    stages(r, style, out);
    troubles(r, out);
    leak_check(r, out);
    return true;
}
