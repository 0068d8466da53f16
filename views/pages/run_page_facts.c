#include "views/pages/run_page_facts.h"

#include "base/text/units.h"
#include "views/live/progress.h"
#include "views/pages/document.h"
#include "views/pages/run_page_tables.h"
#include "views/tables/report_table.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef char *format_fn(int64_t v, char out[static 32]);

static const struct rb_node *report_of(const struct rb_node *document)
{
    return rb_document_member(document, "report");
}

static bool is_running(const struct rb_node *document)
{
    return strcmp(rb_document_text(report_of(document), "outcome"), "running") == 0;
}

static void put(struct rb_page *p, const char *name, const char *figure, const char *remark, bool failed)
{
    if (failed)
        rb_page_failed_fact(p, name, figure, remark);
    else
        rb_page_fact(p, name, figure, remark);
}

// "expected $0.09\n95 % of runs: at most $0.12". Without a spread in the profile the 95 % are unknown.
static void expected(const struct rb_node *values, format_fn *format, struct rb_buf *out)
{
    const struct rb_node *predicted = rb_document_member(values, "predicted");
    char mean[32], most[32];
    if (!predicted) {
        rb_buf_puts(out, "there was no prediction");
        return;
    }
    rb_buf_printf(out, "expected %s", format(rb_document_int(predicted, "mean"), mean));
    if (rb_document_int(predicted, "p5") < rb_document_int(predicted, "p95"))
        rb_buf_printf(out, "\n95 %% of runs: at most %s", format(rb_document_int(predicted, "p95"), most));
}

// What of the cost no cloud billed, and why it is counted.
static void attributed(const struct rb_node *report, struct rb_buf *out)
{
    const int64_t part_uusd = rb_document_int(rb_document_member(report, "cost_uusd"), "attributed_uusd");
    char part[32];
    if (rb_report_is_attributed(report))
        rb_buf_puts(out,
                    "\nattributed: these machines are there anyway, and the price list says what their time is worth");
    else if (part_uusd > 0)
        rb_buf_printf(out, "\n%s of it is attributed: the cloud lists no spot prices, so the plan's price counts",
                      rb_format_money(part_uusd, part));
}

// "cost" or "time" of the report, as it was expected and as it is.
static void measured_fact(struct rb_page *p, const struct rb_node *document, const char *name, const char *key,
                          format_fn *format)
{
    const struct rb_node *values = rb_document_member(report_of(document), key);
    RB_AUTO(rb_buf_finish) struct rb_buf remark = RB_BUF_INIT;
    char figure[32], so_far[32];
    snprintf(so_far, sizeof so_far, "%s so far", name);
    expected(values, format, &remark);
    if (format == rb_format_money)
        attributed(report_of(document), &remark);
    rb_page_fact(p, is_running(document) ? so_far : name, format(rb_document_int(values, "actual"), figure),
                 rb_buf_str(&remark));
}

// If nothing has a price: the share of the GPUs' time that went into training.
static void use_fact(struct rb_page *p, const struct rb_node *document)
{
    const struct rb_node *time = rb_document_member(report_of(document), "node_time_us");
    const int64_t all_us = rb_document_int(time, "actual"),
                  train_us = rb_document_int(rb_document_member(time, "by"), "train");
    char figure[32], all[32], remark[64];
    if (all_us <= 0 || train_us < 0)
        return;
    snprintf(figure, sizeof figure, "%.0f %%", 100.0 * (double)train_us / (double)all_us);
    snprintf(remark, sizeof remark, "of %s of GPU time", rb_format_duration(all_us, all));
    rb_page_fact(p, "spent training", figure, remark);
}

// --- the outcome and the limits

// "\ndeadline 30.0 s: kept", or by how much it was missed. reached: the run came to its end; broken: it was ended for
// this limit.
// Returns whether it was not kept.
static bool limit_line(const char *name, int64_t limit, int64_t actual, bool reached, bool broken, format_fn *format,
                       struct rb_buf *out)
{
    char text[32], by[32];
    if (limit < 0)
        return false;
    const bool missed = broken || actual > limit;
    rb_buf_printf(out, "%s%s %s", out->len ? "\n" : "", name, format(limit, text));
    if (missed && actual > limit)
        rb_buf_printf(out, ": missed by %s", format(actual - limit, by));
    else if (missed)
        rb_buf_puts(out, ": reached first");
    else if (reached)
        rb_buf_puts(out, ": kept");
    return missed;
}

// "stopped at the deadline" is the figure "Stopped" and the remark "at the deadline".
static void outcome_words(const char *outcome, char figure[static 32], struct rb_buf *remark)
{
    const char *words = rb_report_outcome_words(outcome);
    const size_t n = strcspn(words, " ,");
    snprintf(figure, 32, "%.*s", (int)(n < 31 ? n : 31), words);
    figure[0] = (char)toupper((unsigned char)figure[0]);
    rb_buf_puts(remark, words + n + strspn(words + n, " ,"));
}

static void chance_line(const struct rb_node *progress, const char *key, const char *words, struct rb_buf *out)
{
    const struct rb_node *p = rb_document_member(progress, key);
    char text[32];
    if (p)
        rb_buf_printf(out, "%s%s: %s", out->len ? "\n" : "", words, rb_progress_probability(p->number, text));
}

static void outcome_fact(struct rb_page *p, const struct rb_node *document)
{
    const struct rb_node *report = report_of(document), *limits = rb_document_at(document, "history.limits"),
                         *progress = rb_document_member(document, "progress");
    const char *outcome = rb_document_text(report, "outcome");
    const bool reached = strcmp(outcome, "complete") == 0 || strcmp(outcome, "target") == 0;
    RB_AUTO(rb_buf_finish) struct rb_buf remark = RB_BUF_INIT;
    char figure[32];
    outcome_words(outcome, figure, &remark);
    // A run whose policy works until the deadline ends a moment after it, as it should.
    const int64_t time_us = rb_document_flag(report, "ended_at_deadline")
                                ? 0
                                : rb_document_int(rb_document_member(report, "time_us"), "actual");
    const bool late = limit_line("deadline", rb_document_int(limits, "deadline_us"), time_us, reached,
                                 strcmp(outcome, "stopped: deadline") == 0, rb_format_duration, &remark);
    const bool over_budget = limit_line("budget", rb_document_int(limits, "budget_uusd"),
                                        rb_document_int(rb_document_member(report, "cost_uusd"), "actual"), reached,
                                        strcmp(outcome, "stopped: budget") == 0, rb_format_money, &remark);
    if (is_running(document)) {
        chance_line(progress, "p_on_time", "P(on time)", &remark);
        chance_line(progress, "p_in_budget", "P(in budget)", &remark);
    }
    put(p, "outcome", figure, rb_buf_str(&remark), late || over_budget || rb_report_outcome_is_failure(outcome));
}

// --- trials

static void best_fact(struct rb_page *p, const struct rb_node *document)
{
    const struct rb_node *best = rb_document_member(report_of(document), "best"), *metric,
                         *job_metric = rb_document_member(rb_run_page_job(document), "metric");
    char figure[32] = "not known", remark[64];
    if (!best) {
        const bool running = is_running(document);
        put(p, rb_document_text(job_metric, "name"), running ? "none yet" : "none", "no trial has a result", !running);
        return;
    }
    metric = rb_document_member(best, "metric");
    if (metric)
        snprintf(figure, sizeof figure, "%.6g", metric->number);
    snprintf(remark, sizeof remark, "the best: trial %" PRId64 "\ngoal: %.20s", rb_document_int(best, "trial"),
             rb_document_text(job_metric, "goal"));
    rb_page_fact(p, rb_document_text(best, "metric_name"), figure, remark);
}

static int count_failed(const struct rb_node *report, int *out_all)
{
    int n = 0;
    *out_all = 0;
    for (const struct rb_node *t = rb_document_items(report, "trials"); t; t = t->next, ++*out_all)
        n += strcmp(rb_document_text(t, "state"), "failed") == 0;
    return n;
}

static int count_lost(const struct rb_node *document)
{
    int n = 0;
    for (const struct rb_node *h = rb_document_items(rb_document_member(document, "history"), "nodes"); h; h = h->next)
        n += rb_document_flag(h, "lost");
    return n;
}

// Only if a node was on spot: how many of them were lost, which it returns, and the GPU time of all work that was lost.
static int spot_fact(struct rb_page *p, const struct rb_node *document)
{
    const struct rb_node *h = rb_document_items(rb_document_member(document, "history"), "nodes");
    const struct rb_node *time = rb_document_member(report_of(document), "node_time_us");
    int n_spot = 0, n_lost = 0, n_others = 0;
    char figure[48], remark[96], lost[32];
    for (const struct rb_node *r = rb_document_items(report_of(document), "nodes"); r && h; r = r->next, h = h->next) {
        const bool on_spot = strcmp(rb_document_text(r, "market"), "spot") == 0, ran = rb_document_int(h, "running_us") >= 0;
        n_spot += on_spot && ran;
        n_others += !on_spot && ran;
        n_lost += on_spot && ran && rb_document_flag(h, "lost");
    }
    if (n_spot == 0)
        return 0;
    snprintf(figure, sizeof figure, "%d of %d lost", n_lost, n_spot);
    snprintf(remark, sizeof remark, "%s of GPU time repeated or lost\n%d node%s on demand",
             rb_format_duration(rb_document_int(rb_document_member(time, "by"), "lost"), lost), n_others,
             n_others == 1 ? "" : "s");
    rb_page_fact(p, "nodes on spot", figure, remark);
    return n_lost;
}

// Only if something failed. n_said: how many lost nodes another fact names.
static void failures_fact(struct rb_page *p, const struct rb_node *document, int n_said)
{
    int all;
    const int trials = count_failed(report_of(document), &all), nodes = count_lost(document);
    char figure[32], remark[64];
    if (trials > 0) {
        snprintf(figure, sizeof figure, "%d trial%s", trials, trials == 1 ? "" : "s");
        snprintf(remark, sizeof remark, nodes > 0 ? "of %d\n%d node%s lost" : "of %d", all, nodes,
                 nodes == 1 ? "" : "s");
        rb_page_failed_fact(p, "failed", figure, remark);
    } else if (nodes > n_said) {
        snprintf(figure, sizeof figure, "%d node%s", nodes, nodes == 1 ? "" : "s");
        rb_page_failed_fact(p, "lost", figure, "no trial failed");
    }
}

void rb_run_page_facts(struct rb_page *p, const struct rb_node *document)
{
    rb_page_begin_facts(p);
    if (rb_run_page_is_free(document))
        use_fact(p, document);
    else
        measured_fact(p, document, "cost", "cost_uusd", rb_format_money);
    measured_fact(p, document, "time", "time_us", rb_format_duration);
    outcome_fact(p, document);
    best_fact(p, document);
    failures_fact(p, document, spot_fact(p, document));
    rb_page_end_facts(p);
}
