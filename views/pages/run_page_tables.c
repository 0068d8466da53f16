// Rows of the run's tables, read leniently: check() of run_page.c has checked the necessary members.
#include "views/pages/run_page_tables.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/text/units.h"
#include "engine/core/policy.h"
#include "views/live/progress.h"
#include "views/pages/document.h"
#include "views/tables/report_table.h"
#include "views/tables/report_trials.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN     "not known"
#define FOLD        30 // trials that are visible at once
#define N_OF(array) ((int)(sizeof(array) / sizeof *(array)))

typedef char *format_fn(int64_t v, char out[static 32]);

const struct rb_node *rb_run_page_job(const struct rb_node *document)
{
    return rb_document_at(document, "plan.job.config");
}

bool rb_run_page_is_of_cpus(const struct rb_node *document)
{
    return rb_document_int(rb_document_member(rb_run_page_job(document), "trial"), "cpus") > 0;
}

bool rb_run_page_is_free(const struct rb_node *document)
{
    const struct rb_node *plan = rb_document_member(document, "plan");
    const struct rb_policy *policy = rb_policy_find(rb_document_text(plan, "policy"));
    if (policy && policy->on_lent_gpus)
        return true;
    for (const struct rb_node *o = rb_document_items(plan, "prices"); o; o = o->next)
        if (rb_document_int(o, "uusd_per_hour") != 0)
            return false;
    return true;
}

// Cells.

static void known_cell(struct rb_text_table *t, const struct rb_node *map, const char *key, format_fn *format)
{
    const struct rb_node *n = rb_document_member(map, key);
    char out[32];
    if (n && n->kind == RB_NODE_INT)
        rb_text_table_cell(t, "%s", format(n->integer, out));
    else
        rb_text_table_cell(t, UNKNOWN);
}

static void integer_cell(struct rb_text_table *t, const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_document_member(map, key);
    rb_text_table_cell(t, "%s", n && n->kind == RB_NODE_INT ? n->text : UNKNOWN);
}

static void text_cell(struct rb_text_table *t, const struct rb_node *map, const char *key)
{
    const char *s = rb_document_text(map, key);
    rb_text_table_cell(t, "%s", s[0] ? s : UNKNOWN);
}

static void number_cell(struct rb_text_table *t, const struct rb_node *n)
{
    if (n && (n->kind == RB_NODE_FLOAT || n->kind == RB_NODE_INT))
        rb_text_table_cell(t, "%.6g", n->number);
    else
        rb_text_table_cell(t, UNKNOWN);
}

static void finish(struct rb_page *p, const char *caption, struct rb_text_table *t)
{
    rb_page_table(p, caption, t);
    rb_text_table_finish(t);
}

// Tables.

void rb_run_page_stages(struct rb_page *p, const struct rb_node *document)
{
    const struct rb_node *first = rb_document_items(rb_document_member(document, "report"), "stages");
    const bool of_cpus = first && rb_document_member(first, "cpus_per_trial");
    const char *a_trial = of_cpus ? "CPUs a trial" : "GPUs a trial";
    const struct rb_text_column columns[] = {
        {"stage", true, 0},         {"trials", true, 0}, {"trained to", true, 0},    {a_trial, true, 0},
        {"nodes", true, 0},         {"began", true, 0},  {"expected time", true, 0}, {"time", true, 0},
        {"expected cost", true, 0}, {"cost", true, 0},
    };
    struct rb_text_table t;
    char time[32];
    const char *not_yet = strcmp(rb_document_text(rb_document_member(document, "report"), "outcome"), "running") == 0
                              ? "not yet"
                              : "never";
    const bool paid = !rb_run_page_is_free(document);
    rb_text_table_init(&t, columns, N_OF(columns) - (paid ? 0 : 2));
    for (const struct rb_node *s = first; s; s = s->next) {
        const int64_t start = rb_document_int(s, "start_us"), end = rb_document_int(s, "end_us");
        integer_cell(&t, s, "stage");
        integer_cell(&t, s, "trials");
        integer_cell(&t, s, "resource_end");
        integer_cell(&t, s, of_cpus ? "cpus_per_trial" : "gpus_per_trial");
        integer_cell(&t, s, "nodes");
        rb_text_table_cell(&t, "%s", start >= 0 ? rb_format_duration(start, time) : not_yet);
        known_cell(&t, s, "predicted_time_us", rb_format_duration);
        rb_text_table_cell(&t, "%s",
                           start < 0 ? not_yet
                           : end < 0 ? "not ended"
                                     : rb_format_duration(end - start, time));
        if (!paid)
            continue;
        known_cell(&t, s, "predicted_cost_uusd", rb_format_money);
        known_cell(&t, s, "cost_uusd", rb_format_money);
    }
    finish(p, "Stages, expected beside actual", &t);
}

static void parts_table(struct rb_page *p, const char *caption, const char *amount, const struct rb_node *values,
                        format_fn *format)
{
    const struct rb_text_column columns[] = {{"part", false, 0}, {amount, true, 0}, {"share", true, 0}};
    const struct rb_node *by = rb_document_member(values, "by");
    const int64_t total = rb_document_int(values, "actual");
    struct rb_text_table t;
    char text[32];
    rb_text_table_init(&t, columns, N_OF(columns));
    for (int i = 0; i < RB_REPORT_N_PARTS; i++) {
        const int64_t part = rb_document_int(by, rb_report_parts[i].key);
        if (part == 0 && format == rb_format_duration)
            continue;
        rb_text_table_cell(&t, "%s", rb_report_parts[i].name);
        rb_text_table_cell(&t, "%s", format(part, text));
        if (total > 0)
            rb_text_table_cell(&t, "%.1f %%", 100.0 * (double)part / (double)total);
        else
            rb_text_table_cell(&t, "-");
    }
    rb_text_table_cell(&t, "all");
    rb_text_table_cell(&t, "%s", format(total, text));
    rb_text_table_cell(&t, total > 0 ? "100 %%" : "-");
    finish(p, caption, &t);
}

void rb_run_page_parts(struct rb_page *p, const struct rb_node *document)
{
    parts_table(p, "The parts add up to the bill", "dollars", rb_document_at(document, "report.cost_uusd"),
                rb_format_money);
}

void rb_run_page_time_parts(struct rb_page *p, const struct rb_node *document)
{
    // Parts with no time are left out, such as the 60 s minimum, which concerns only money.
    const bool of_cpus = rb_run_page_is_of_cpus(document);
    parts_table(p, of_cpus ? "The parts add up to the time of all slots" : "The parts add up to the time of all GPUs",
                of_cpus ? "slot time" : "GPU time", rb_document_at(document, "report.node_time_us"),
                rb_format_duration);
}

static void beside_row(struct rb_text_table *t, const char *name, const struct rb_node *values, int64_t limit,
                       format_fn *format)
{
    static const char *const quantiles[] = {"p5", "p50", "mean", "p95", "p99"};
    const struct rb_node *predicted = rb_document_member(values, "predicted");
    char out[32];
    rb_text_table_cell(t, "%s", name);
    for (int i = 0; i < N_OF(quantiles); i++)
        known_cell(t, predicted, quantiles[i], format);
    known_cell(t, values, "actual", format);
    rb_text_table_cell(t, "%s", limit >= 0 ? format(limit, out) : "none");
}

void rb_run_page_beside(struct rb_page *p, const struct rb_node *document)
{
    static const struct rb_text_column columns[] = {
        {"", false, 0},    {"5 %", true, 0},  {"50 %", true, 0},     {"mean", true, 0},
        {"95 %", true, 0}, {"99 %", true, 0}, {"this run", true, 0}, {"limit", true, 0},
    };
    const struct rb_node *report = rb_document_member(document, "report"),
                         *limits = rb_document_at(document, "history.limits");
    struct rb_text_table t;
    rb_text_table_init(&t, columns, N_OF(columns));
    beside_row(&t, "time", rb_document_member(report, "time_us"), rb_document_int(limits, "deadline_us"),
               rb_format_duration);
    if (!rb_run_page_is_free(document))
        beside_row(&t, "cost", rb_document_member(report, "cost_uusd"), rb_document_int(limits, "budget_uusd"),
                   rb_format_money);
    finish(p, "The share of runs that were expected to take and cost less", &t);
}

// --- trials, the best first

struct ranked {
    const struct rb_node *trial, *metric;
    int64_t resource;
    bool maximize;
};

static bool has_better_metric(const struct ranked *a, const struct ranked *b)
{
    return a->maximize ? a->metric->number > b->metric->number : a->metric->number < b->metric->number;
}

// Furthest first, then by the metric, then by number; those that never reported last.
static int by_rank(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    if (!a->metric != !b->metric)
        return a->metric ? -1 : 1;
    if (a->metric && a->resource != b->resource)
        return a->resource > b->resource ? -1 : 1;
    if (a->metric && (has_better_metric(a, b) || has_better_metric(b, a)))
        return has_better_metric(a, b) ? -1 : 1;
    return a->trial->index - b->trial->index;
}

static struct ranked *rank_trials(const struct rb_node *document, int *out_n)
{
    const struct rb_node *report = rb_document_member(document, "report"), *list = rb_document_member(report, "trials");
    const struct rb_node *metric = rb_document_member(rb_run_page_job(document), "metric");
    const bool maximize = strcmp(rb_document_text(metric, "goal"), "minimize") != 0;
    struct ranked *rows = rb_xcalloc((size_t)(list ? list->n_children : 0) + 1, sizeof *rows);
    const int64_t best = rb_document_int(rb_document_member(report, "best"), "trial");
    int n = 0;
    for (const struct rb_node *t = rb_document_items(report, "trials"); t; t = t->next)
        rows[n++] =
            (struct ranked){t, rb_document_member(t, "metric"),
                            rb_document_int(t, "trial") == best ? INT64_MAX : rb_document_int(t, "resource"), maximize};
    qsort(rows, (size_t)n, sizeof *rows, by_rank);
    *out_n = n;
    return rows;
}

// Columns of the table of trials.
struct trial_columns {
    struct rb_text_column columns[RB_LIMIT_PARAMETERS + 7];
    int n;
    const char *parameters[RB_LIMIT_PARAMETERS];
    int n_parameters;
    bool has_reasons, has_clones;
};

static void list_trial_columns(const struct rb_node *document, struct trial_columns *out)
{
    const struct rb_node *job = rb_run_page_job(document), *report = rb_document_member(document, "report");
    const char *metric = rb_document_text(rb_document_member(job, "metric"), "name"),
               *unit = rb_document_text(rb_document_member(job, "scheduler"), "unit");
    *out = (struct trial_columns){
        .columns = {{"trial", true, 0}, {metric, true, 0}, {"state", false, 0}, {unit, true, 0}, {"restarts", true, 0}},
        .n = 5,
        .has_reasons = rb_report_has_reasons(report),
        .has_clones = rb_document_at(document, "report.best.schedule") != NULL,
    };
    if (out->has_clones)
        out->columns[out->n++] = (struct rb_text_column){"goes on from", false, 0};
    out->n_parameters = rb_report_parameters(report, rb_document_member(job, "parameters"), out->parameters);
    for (int i = 0; i < out->n_parameters; i++)
        out->columns[out->n++] = (struct rb_text_column){out->parameters[i], true, 0};
    if (out->has_reasons)
        out->columns[out->n++] = (struct rb_text_column){"suggested because", false, 0};
}

static void parameter_cell(struct rb_text_table *t, const struct rb_node *value)
{
    if (!value)
        rb_text_table_cell(t, "-"); // it does not apply
    else if (value->kind == RB_NODE_FLOAT)
        rb_text_table_cell(t, "%.6g", value->number);
    else
        rb_text_table_cell(t, "%s", value->kind == RB_NODE_NULL ? UNKNOWN : value->text);
}

static void parent_cell(struct rb_text_table *t, const struct rb_node *trial)
{
    if (rb_document_member(trial, "parent"))
        rb_text_table_cell(t, "trial %" PRId64 " at %" PRId64, rb_document_int(trial, "parent"),
                           rb_document_int(trial, "cloned_at"));
    else
        rb_text_table_cell(t, "-");
}

static void reason_cell(struct rb_text_table *t, const struct rb_node *trial)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_report_trial_reason(trial, &text);
    rb_text_table_cell(t, "%s", rb_buf_str(&text));
}

static void trial_row(struct rb_text_table *t, const struct trial_columns *columns, const struct ranked *r)
{
    integer_cell(t, r->trial, "trial");
    number_cell(t, r->metric);
    text_cell(t, r->trial, "state");
    if (strcmp(rb_document_text(r->trial, "state"), "failed") == 0)
        rb_text_table_mark_failed(t);
    integer_cell(t, r->trial, "resource");
    integer_cell(t, r->trial, "restarts");
    if (columns->has_clones)
        parent_cell(t, r->trial);
    const struct rb_node *params = rb_document_member(r->trial, "params");
    for (int i = 0; i < columns->n_parameters; i++)
        parameter_cell(t, rb_node_member(params, columns->parameters[i]));
    if (columns->has_reasons)
        reason_cell(t, r->trial);
}

static void trial_table(struct rb_page *p, const struct trial_columns *columns, const struct ranked *rows, int n,
                        const char *caption)
{
    struct rb_text_table t;
    rb_text_table_init(&t, columns->columns, columns->n);
    for (int i = 0; i < n; i++)
        trial_row(&t, columns, &rows[i]);
    finish(p, caption, &t);
}

// Trial by trial, what the best checkpoint descends from.
static void schedule_table(struct rb_page *p, const struct rb_node *document)
{
    const struct rb_node *best = rb_document_at(document, "report.best"), *first = rb_document_items(best, "schedule");
    struct rb_text_column columns[RB_LIMIT_PARAMETERS + 3] = {{"trial", true, 0}, {"from", true, 0}, {"to", true, 0}};
    const char *parameters[RB_LIMIT_PARAMETERS];
    struct rb_text_table t;
    if (!first)
        return;
    const int n = rb_report_parameters(rb_document_member(document, "report"),
                                       rb_document_member(rb_run_page_job(document), "parameters"), parameters);
    for (int i = 0; i < n; i++)
        columns[3 + i] = (struct rb_text_column){parameters[i], true, 0};
    rb_text_table_init(&t, columns, 3 + n);
    for (const struct rb_node *s = first; s; s = s->next) {
        integer_cell(&t, s, "trial");
        integer_cell(&t, s, "from");
        integer_cell(&t, s, "to");
        for (int i = 0; i < n; i++)
            parameter_cell(&t, rb_node_member(rb_document_member(s, "values"), parameters[i]));
    }
    finish(p, "What the best checkpoint was trained with, one trial after another", &t);
}

void rb_run_page_trials(struct rb_page *p, const struct rb_node *document)
{
    struct trial_columns columns;
    int n;
    RB_AUTO(rb_auto_free) struct ranked *rows = rank_trials(document, &n);
    rb_page_section(p, "trials", "Trials", NULL);
    if (n == 0) {
        rb_page_paragraph(p, "No trial was begun.");
        return;
    }
    list_trial_columns(document, &columns);
    const int n_seen = n > FOLD ? FOLD : n, n_shown = n > RB_RUN_PAGE_TRIALS ? RB_RUN_PAGE_TRIALS : n;
    trial_table(p, &columns, rows, n_seen, "Trials, the best first, then those trained furthest");
    if (n_shown > n_seen) {
        rb_buf_printf(p->out, "<details>\n<summary>%d more trials</summary>\n", n - n_seen);
        trial_table(p, &columns, rows + n_seen, n_shown - n_seen, "The other trials, in the same order");
        if (n > n_shown)
            rb_page_paragraph(p, "And %d more: rbrun report --json has all of them.", n - n_shown);
        rb_buf_puts(p->out, "</details>\n");
    }
    schedule_table(p, document);
    const char *command = rb_document_text(rb_document_at(document, "report.best"), "command");
    if (command[0]) {
        rb_page_paragraph(p, "The best configuration as a command:");
        rb_page_command(p, command);
    }
    const char *checkpoint = rb_document_text(rb_document_at(document, "report.best"), "checkpoint");
    if (checkpoint[0])
        rb_page_paragraph(p, "The best one's checkpoint: %s. Get it with: rbrun fetch %s --best DIR", checkpoint,
                          rb_document_text(rb_document_member(document, "report"), "run"));
}

// --- nodes

// An instant in the life of a node that has not happened: it may still, or the node ended before it.
static void instant_cell(struct rb_text_table *t, const struct rb_node *h, const char *key)
{
    char out[32];
    const int64_t at_us = rb_document_int(h, key);
    const char *missing = rb_document_int(h, "ended_us") < 0 ? "not yet" : "never";
    rb_text_table_cell(t, "%s", at_us >= 0 ? rb_format_duration(at_us, out) : missing);
}

enum { NODE_COLUMNS = 12 }; // the last one, cost, only if something has a price

static void node_row(struct rb_text_table *t, const struct rb_node *h, const struct rb_node *r)
{
    const struct rb_node *lost = rb_document_member(h, "lost");
    integer_cell(t, h, "node");
    text_cell(t, r, "id");
    text_cell(t, r, "instance_type");
    text_cell(t, r, "infra");
    text_cell(t, r, "market");
    integer_cell(t, h, "gpus");
    rb_text_table_cell(t, "%s%s", rb_document_text(r, "state"), lost && lost->boolean ? ", lost" : "");
    if (lost && lost->boolean)
        rb_text_table_mark_failed(t);
    instant_cell(t, h, "requested_us");
    instant_cell(t, h, "running_us");
    instant_cell(t, h, "ready_us");
    instant_cell(t, h, "ended_us");
    if (t->n_columns == NODE_COLUMNS)
        known_cell(t, h, "cost_uusd", rb_format_money);
}

void rb_run_page_nodes(struct rb_page *p, const struct rb_node *document)
{
    const bool of_cpus = rb_run_page_is_of_cpus(document);
    const struct rb_text_column columns[NODE_COLUMNS] = {
        {"node", true, 0},   {"instance", false, 0}, {"type", false, 0},
        {"infra", false, 0}, {"market", false, 0},   {of_cpus ? "trials at once" : "GPUs", true, 0},
        {"state", false, 0}, {"requested", true, 0}, {"running", true, 0},
        {"ready", true, 0},  {"ended", true, 0},     {"cost", true, 0},
    };
    struct rb_text_table t;
    const struct rb_node *h = rb_document_items(rb_document_member(document, "history"), "nodes");
    const struct rb_node *r = rb_document_items(rb_document_member(document, "report"), "nodes");
    rb_page_section(p, "nodes", "Nodes", NULL);
    if (!h) {
        rb_page_paragraph(p, "No node was ever rented.");
        return;
    }
    rb_text_table_init(&t, columns, NODE_COLUMNS - rb_run_page_is_free(document));
    for (; h && r; h = h->next, r = r->next)
        node_row(&t, h, r);
    finish(p, "Nodes; times since the start of the run", &t);
}

// --- other events

struct happening {
    int64_t at_us;
    const char *kind, *text;
};

static int by_time(const void *pa, const void *pb)
{
    const struct happening *a = pa, *b = pb;
    return (a->at_us > b->at_us) - (a->at_us < b->at_us);
}

static int add_notes(const struct rb_node *report, const char *key, const char *kind, struct happening *out, int n)
{
    for (const struct rb_node *f = rb_document_items(report, key); f; f = f->next)
        out[n++] = (struct happening){rb_document_int(f, "at_us"), kind, rb_document_text(f, "text")};
    return n;
}

static int add_marks(const struct rb_node *history, struct rb_arena *arena, struct happening *out, int n)
{
    for (const struct rb_node *m = rb_document_items(history, "marks"); m; m = m->next) {
        const char *kind = rb_document_text(m, "kind"), *what = "";
        if (strcmp(kind, "replan") == 0)
            what = rb_arena_printf(arena, "a new plan from stage %" PRId64 " on", rb_document_int(m, "stage"));
        else if (strcmp(kind, "stop") == 0)
            what = rb_report_outcome_words(rb_arena_printf(arena, "stopped: %s", rb_document_text(m, "reason")));
        else if (strcmp(kind, "resume") == 0)
            what = "the run went on";
        out[n++] = (struct happening){rb_document_int(m, "at_us"), kind, what};
    }
    return n;
}

static int count(const struct rb_node *map, const char *key)
{
    const struct rb_node *list = rb_document_member(map, key);
    return list ? list->n_children : 0;
}

void rb_run_page_events(struct rb_page *p, const struct rb_node *document)
{
    static const struct rb_text_column columns[] = {{"at", true, 0}, {"kind", false, 0}, {"what", false, 0}};
    const struct rb_node *report = rb_document_member(document, "report"),
                         *history = rb_document_member(document, "history");
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_text_table t;
    char at[32];
    rb_arena_init(&arena);
    const int most = count(report, "replans") + count(report, "spot") + count(report, "drifts") + count(report, "faults") +
                     count(report, "warnings") + count(history, "marks");
    struct happening *all = rb_arena_array(&arena, (size_t)most + 1, sizeof *all);
    int n = add_notes(report, "replans", "replan", all, 0);
    n = add_notes(report, "spot", "spot", all, n);
    n = add_notes(report, "drifts", "drift", all, n);
    n = add_notes(report, "faults", "fault", all, n);
    n = add_notes(report, "warnings", "warning", all, n);
    n = add_marks(history, &arena, all, n);
    qsort(all, (size_t)n, sizeof *all, by_time);
    rb_page_section(p, "events", "Replans and faults", NULL);
    if (n == 0) {
        rb_page_paragraph(p, "None: the plan was executed as it was made.");
        return;
    }
    rb_text_table_init(&t, columns, N_OF(columns));
    for (int i = 0; i < n; i++) {
        rb_text_table_cell(&t, "%s", rb_format_duration(all[i].at_us, at));
        rb_text_table_cell(&t, "%s", all[i].kind);
        if (strcmp(all[i].kind, "fault") == 0)
            rb_text_table_mark_failed(&t);
        rb_text_table_cell(&t, "%s", all[i].text);
    }
    finish(p, "Replans, choices of spot, drifts, faults, warnings and stops, in order", &t);
}

// --- while the run is not over

static void quantity(struct rb_text_table *t, const char *name, const struct rb_node *map, const char *key,
                     format_fn *format)
{
    rb_text_table_cell(t, "%s", name);
    known_cell(t, map, key, format);
}

// A predicted instant that has passed is out of date, because the run fell behind: the next prediction is on its way.
static void end_row(struct rb_text_table *t, const char *name, const struct rb_node *progress, const char *key)
{
    const int64_t end_us = rb_document_int(progress, key);
    if (end_us >= 0 && end_us < rb_document_int(progress, "elapsed_us")) {
        rb_text_table_cell(t, "%s", name);
        rb_text_table_cell(t, "later than was foreseen");
    } else {
        quantity(t, name, progress, key, rb_format_duration);
    }
}

static void probability(struct rb_text_table *t, const char *name, const struct rb_node *map, const char *key,
                        const char *limit_key)
{
    const struct rb_node *p = rb_document_member(map, key);
    char text[32];
    rb_text_table_cell(t, "%s", name);
    if (!rb_document_member(map, limit_key))
        rb_text_table_cell(t, "none was asked for");
    else
        rb_text_table_cell(t, "%s", p ? rb_progress_probability(p->number, text) : UNKNOWN);
}

static void trials_by_state(struct rb_text_table *t, const struct rb_node *progress)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    const struct rb_node *trials = rb_document_member(progress, "trials");
    for (const struct rb_node *n = trials ? trials->first : NULL; n; n = n->next)
        if (n->kind == RB_NODE_INT && n->integer > 0)
            rb_buf_printf(&text, "%s%" PRId64 " %s", text.len ? ", " : "", n->integer, n->key);
    rb_text_table_cell(t, "trials");
    rb_text_table_cell(t, "%s", text.len ? rb_buf_str(&text) : "none yet");
}

static double number_of(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_document_member(map, key);
    return n ? n->number : NAN;
}

static void pace_paragraph(struct rb_page *p, const struct rb_node *progress)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    const struct rb_progress of = {.pace = number_of(progress, "pace"),
                                   .pace_low = number_of(progress, "pace_low"),
                                   .pace_high = number_of(progress, "pace_high")};
    if (rb_progress_pace_write(&of, &text))
        rb_page_paragraph(p, "So far %s.", rb_buf_str(&text));
}

void rb_run_page_progress(struct rb_page *p, const struct rb_node *document)
{
    static const struct rb_text_column columns[] = {{"", false, 0}, {"", false, 0}};
    const struct rb_node *now = rb_document_member(document, "progress");
    struct rb_text_table t;
    if (!now)
        return;
    rb_page_section(p, "progress", "Progress", NULL);
    rb_text_table_init(&t, columns, N_OF(columns));
    rb_text_table_cell(&t, "stage");
    if (rb_document_member(now, "stage"))
        rb_text_table_cell(&t, "%" PRId64 " of 0-%" PRId64, rb_document_int(now, "stage"),
                           rb_document_int(now, "n_stages") - 1);
    else
        rb_text_table_cell(&t, "not begun");
    trials_by_state(&t, now);
    rb_text_table_cell(&t, "nodes ready");
    rb_text_table_cell(&t, "%" PRId64 " of %" PRId64, rb_document_int(now, "nodes_ready"),
                       rb_document_int(now, "nodes"));
    quantity(&t, "time so far", now, "elapsed_us", rb_format_duration);
    end_row(&t, "ends by, 50 %", now, "end_p50_us");
    end_row(&t, "ends by, 95 %", now, "end_p95_us");
    probability(&t, "P(on time)", now, "p_on_time", "deadline_us");
    if (!rb_run_page_is_free(document)) {
        quantity(&t, "dollars so far", now, "spent_uusd", rb_format_money);
        quantity(&t, "expected in all", now, "cost_mean_uusd", rb_format_money);
        quantity(&t, "at most, 95 %", now, "cost_p95_uusd", rb_format_money);
        probability(&t, "P(in budget)", now, "p_in_budget", "budget_uusd");
    }
    finish(p, "Times since the start of the run", &t);
    const struct rb_policy *policy = rb_policy_find(rb_document_text(rb_document_member(document, "plan"), "policy"));
    if (rb_document_text(now, "why_unknown")[0])
        rb_page_paragraph(p, "Its end is not known: %s.", rb_document_text(now, "why_unknown"));
    else if (strcmp(rb_document_text(now, "forecast"), "plan") == 0)
        rb_page_paragraph(p, "The ends are the plan's forecast. A prediction from what has happened will replace it.");
    else if (policy && policy->foreseen_if)
        rb_page_paragraph(p, "This is how it will end if %s.", policy->foreseen_if);
    pace_paragraph(p, now);
}
