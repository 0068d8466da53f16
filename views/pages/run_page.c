// The text and tables of the page; the charts are in views/charts/run_*.js.
#include "views/pages/run_page.h"

#include "base/document/json.h"
#include "base/text/units.h"
#include "views/pages/document.h"
#include "views/pages/run_page_facts.h"
#include "views/pages/run_page_parameters.h"
#include "views/pages/run_page_tables.h"
#include "views/tables/report_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_predicted(const struct rb_node *document)
{
    return rb_document_at(document, "report.time_us.predicted");
}

// --- the sentence at the top

static void expected(const struct rb_node *values, char *(*format)(int64_t, char[static 32]), struct rb_buf *out)
{
    const struct rb_node *predicted = rb_document_member(values, "predicted");
    char t[32];
    if (!predicted)
        rb_buf_puts(out, " (there was no prediction)");
    else
        rb_buf_printf(out, " (expected %s)", format(rb_document_int(predicted, "mean"), t));
}

// "stopped: budget" -> "Stopped at the budget"
static void outcome_write(const char *outcome, struct rb_buf *out)
{
    const char *words = rb_report_outcome_words(outcome);
    rb_buf_putc(out, words[0] ? (char)(words[0] - 'a' + 'A') : '?');
    rb_buf_puts(out, words[0] ? words + 1 : "");
}

static bool has_failed(const struct rb_node *document)
{
    return rb_report_outcome_is_failure(rb_document_text(rb_document_member(document, "report"), "outcome"));
}

void rb_run_page_summary(const struct rb_node *document, struct rb_buf *out)
{
    const struct rb_node *report = rb_document_member(document, "report"), *best = rb_document_member(report, "best");
    const struct rb_node *time = rb_document_member(report, "time_us"), *cost = rb_document_member(report, "cost_uusd");
    const char *outcome = rb_document_text(report, "outcome");
    const bool running = strcmp(outcome, "running") == 0;
    char t[32];
    outcome_write(outcome, out);
    rb_buf_printf(out, " %s %s", running ? "for" : "after", rb_format_duration(rb_document_int(time, "actual"), t));
    expected(time, rb_format_duration, out);
    if (!rb_run_page_is_free(document)) {
        rb_buf_printf(out, ", %s%s", rb_format_money(rb_document_int(cost, "actual"), t), running ? " so far" : "");
        expected(cost, rb_format_money, out);
    }
    if (!best) {
        rb_buf_puts(out, "; no trial has a result");
    } else {
        const struct rb_node *metric = rb_document_member(best, "metric");
        rb_buf_printf(out, "; best: trial %" PRId64 ", %s ", rb_document_int(best, "trial"),
                      rb_document_text(best, "metric_name"));
        if (!metric)
            rb_buf_puts(out, "not known");
        else
            rb_buf_printf(out, "%.6g", metric->number);
        if (rb_document_text(best, "remark")[0])
            rb_buf_printf(out, " (%s)", rb_document_text(best, "remark"));
    }
    rb_buf_putc(out, '.');
}

// --- sections

static void timeline(struct rb_page *p, const struct rb_node *document, bool live)
{
    const bool predicted = is_predicted(document);
    const char *units = rb_run_page_is_of_cpus(document) ? "CPUs" : "GPUs";
    char title[64], caption[160];
    rb_page_section(p, "timeline", "What ran where and when",
                    predicted
                        ? "A lane for every node, its trials beside each other; the thin line under a lane is the plan."
                        : "A lane for every node, its trials beside each other. There was no prediction of it.");
    rb_page_chart(
        p, "run-gantt",
        "Nodes over time: provisioning, set-up, training by stage with the trial's number, waiting, releasing. "
        "Upright lines: ends of stages, dashed where the plan expected them, dotted where a new plan began. "
        "A line on top of a node that is on spot, short lines where a trial saved or a request was refused.");
    rb_run_page_stages(p, document);
    snprintf(title, sizeof title, "%s owned and used", units);
    rb_page_section(p, "gpus", title, NULL);
    if (!live && !rb_document_items(rb_document_at(document, "history.gpus"), "rows")) {
        rb_page_paragraph(p, "No node ran.");
        return;
    }
    if (rb_run_page_is_free(document))
        snprintf(caption, sizeof caption, "%s that were owned and %s that trials were on, over time.", units, units);
    else
        snprintf(caption, sizeof caption,
                 "%s that were paid for, %s that trials were on, and what the nodes cost an hour, over time.", units,
                 units);
    rb_page_chart(p, "run-usage", caption);
}

static void learning(struct rb_page *p, const struct rb_node *document, bool live)
{
    const struct rb_node *metric = rb_document_member(rb_run_page_job(document), "metric");
    rb_page_section(p, "learning", "Learning curves", NULL);
    if (!live && !rb_document_items(rb_document_at(document, "history.reports"), "trials")) {
        rb_page_paragraph(p, "No trial has reported.");
        return;
    }
    rb_page_paragraph(p, "%s over the resource, by the stage a trial reached; those stopped early are faint. Goal: %s.",
                      rb_document_text(metric, "name"), rb_document_text(metric, "goal"));
    rb_page_chart(p, "run-learning", "Learning curves of all trials that reported, by the stage they reached.");
}

// Shares of zero dollars are useless: if nothing has a price, the page shows time.
static void time_spent(struct rb_page *p, const struct rb_node *document, bool live)
{
    rb_page_section(p, "money", "Where the time went",
                    "What the time of the nodes went to. Nothing in this run has a price.");
    if (!live && rb_document_int(rb_document_at(document, "report.node_time_us"), "actual") <= 0) {
        rb_page_paragraph(p, "No node ran.");
        return;
    }
    rb_page_chart(p, "run-node-time",
                  rb_run_page_is_of_cpus(document) ? "The slots' time of the run and of each node, in parts."
                                                   : "The GPU time of the run and of each node, in parts.");
    rb_run_page_time_parts(p, document);
}

static void money(struct rb_page *p, const struct rb_node *document, bool live)
{
    if (rb_run_page_is_free(document)) {
        time_spent(p, document, live);
        return;
    }
    rb_page_section(p, "money", "Where the dollars went", NULL);
    if (!live && rb_document_int(rb_document_at(document, "report.cost_uusd"), "actual") == 0) {
        rb_page_paragraph(p, "Nothing was paid.");
        return;
    }
    rb_page_chart(p, "run-money", "The cost of the run and of each node, in parts.");
    rb_run_page_parts(p, document);
    rb_page_chart(p, "run-spent", "Dollars so far over time, beside the expectation.");
}

static void outcome(struct rb_page *p, const struct rb_node *document)
{
    const struct rb_node *report = rb_document_member(document, "report");
    const bool predicted = is_predicted(document);
    rb_page_section(p, "outcome", "Predicted beside actual",
                    predicted ? "The range that most runs of this plan were expected in, and where this one came out."
                              : "There was no prediction of this run.");
    if (predicted) {
        rb_page_chart(p, "run-outcome",
                      rb_run_page_is_free(document) ? "Time of this run in the predicted distribution."
                                                    : "Time and cost of this run in the predicted distribution.");
        rb_run_page_beside(p, document);
    }
    if (rb_document_flag(report, "ended_at_deadline"))
        rb_page_paragraph(p, "Its policy works until the deadline: the best trial by then is the result.");
    if (rb_document_flag(report, "paced_accelerator"))
        rb_page_paragraph(p, "Paced accelerator: the training is real, its speed is emulated.");
}

static void leak_check(struct rb_page *p, const struct rb_node *report)
{
    const struct rb_node *check = rb_document_member(report, "leak_check");
    char at[32];
    rb_page_section(p, "left", "Is anything left?", NULL);
    if (!check) {
        rb_page_paragraph(p, "Not checked yet: the check is made when a run has ended.");
        return;
    }
    rb_format_instant(
        (rb_document_int(report, "started_at_us") + rb_document_int(check, "at_us")) / RB_US_PER_S * RB_US_PER_S, at);
    if (!rb_document_member(check, "instances_left"))
        rb_page_paragraph(p, "Not known: the listing at %s was not complete. Look with: rbrun gc --dry-run", at);
    else
        rb_page_paragraph(p, "Instances left: %" PRId64 " (listed at %s).", rb_document_int(check, "instances_left"),
                          at);
}

static bool check(const struct rb_node *document, struct rb_err *err)
{
    const struct rb_node *report = rb_document_member(document, "report");
    if (strcmp(rb_document_text(document, "format"), "rb-run-page/1") != 0)
        return rb_err_set(err, RB_E_REPORT_FORMAT, "expected a document of format rb-run-page/1");
    if (!rb_document_member(report, "time_us") || !rb_document_at(report, "cost_uusd.by") ||
        !rb_document_member(report, "stages") || !rb_run_page_job(document) ||
        !rb_document_at(document, "history.nodes"))
        return rb_err_set(
            err, RB_E_REPORT_FORMAT,
            "the rb-run-page/1 lacks report.time_us, report.cost_uusd.by, report.stages, plan.job.config or "
            "history.nodes");
    return true;
}

// live: every figure is there from the beginning, and is filled in later.
static void sections(struct rb_page *p, const struct rb_node *document, bool live)
{
    rb_run_page_facts(p, document);
    rb_run_page_progress(p, document);
    timeline(p, document, live);
    learning(p, document, live);
    rb_run_page_parameters(p, document, live);
    money(p, document, live);
    outcome(p, document);
    rb_run_page_trials(p, document);
    rb_run_page_nodes(p, document);
    rb_run_page_events(p, document);
    leak_check(p, rb_document_member(document, "report"));
}

bool rb_run_page_write(const char *bytes, size_t n, bool live, struct rb_buf *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf title = RB_BUF_INIT, summary = RB_BUF_INIT;
    if (!rb_doc_parse_json(&doc, "rb-run-page", bytes, n, err) || !check(doc.root, err))
        return false;
    struct rb_page p;
    rb_buf_printf(&title, "Run %s", rb_document_text(rb_document_member(doc.root, "report"), "run"));
    rb_run_page_summary(doc.root, &summary);
    rb_page_begin(&p, rb_buf_str(&title), rb_buf_str(&summary), has_failed(doc.root), live, out);
    sections(&p, doc.root, live);
    rb_page_end(&p, bytes);
    return true;
}

bool rb_run_page_live(const char *bytes, size_t n, bool ended, struct rb_buf *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf summary = RB_BUF_INIT, main = RB_BUF_INIT;
    if (!rb_doc_parse_json(&doc, "rb-run-page", bytes, n, err) || !check(doc.root, err))
        return false;
    struct rb_page p = {.out = &main};
    sections(&p, doc.root, true);
    rb_page_end_section(&p);
    rb_run_page_summary(doc.root, &summary);
    rb_page_live(rb_buf_str(&summary), has_failed(doc.root), rb_buf_str(&main), doc.root, ended, out);
    return true;
}
