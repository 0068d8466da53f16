// The page of a run: names and parameters are text and never markup, what is not known is said to be, and whatever state a
// run is in, there is a page of it and, without a browser, its pictures.
#include "views/pages/picture.h"
#include "views/pages/run_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EVIL "<script>alert(1)</script>"

static const char report_head[] =
    "{\"format\":\"rb-run-page/1\",\"report\":{\"format\":\"rb-report/1\",\"run\":\"r-1\",\"plan_sha256\":\"\",";
static const char plan[] =
    "\"plan\":{\"job\":{\"config\":{\"metric\":{\"name\":\"" EVIL "\",\"goal\":\"minimize\"},"
    "\"parameters\":{\"" EVIL "\":{\"values\":[\"a\\\"b\",\"</td>\",1.5]},\"seed\":7,"
    "\"lr\":{\"distribution\":\"log_uniform\",\"min\":1e-05,\"max\":1.0},"
    "\"depth\":{\"distribution\":\"normal\",\"mu\":0,\"sigma\":1,\"if\":{\"" EVIL "\":[1.5]}}},"
    "\"scheduler\":{\"unit\":\"epoch\",\"eta\":3}}},\"prices\":[{\"uusd_per_hour\":1000000}],"
    "\"stages\":[{\"stage\":0,\"resource_end\":1,\"nodes\":[{\"count\":1}],\"time_us\":{\"mean\":5000000}},"
    "{\"stage\":1,\"resource_end\":9,\"nodes\":[{\"count\":1}],\"time_us\":{\"mean\":9000000}}]},\"progress\":null,";

#define QUANTILES(a) "{\"mean\":" a ",\"p5\":" a ",\"p50\":" a ",\"p95\":" a ",\"p99\":" a "}"
#define NO_PARTS     "{\"train\":0,\"boot\":0,\"idle_barrier\":0,\"minimum\":0,\"lost\":0,\"checkpoint\":0}"
#define PARTS        "{\"train\":70000,\"boot\":10000,\"idle_barrier\":15000,\"minimum\":5000,\"lost\":0,\"checkpoint\":0}"

#define NODE_TIME                                                                                               \
    "{\"actual\":56000000,\"by\":{\"train\":42000000,\"boot\":4000000,\"idle_barrier\":10000000,\"minimum\":0," \
    "\"lost\":0,\"checkpoint\":0}}"

// A run with one node that was lost, and trials of hostile names.
static char *full(const char *outcome)
{
    RB_AUTO(rb_buf_finish) struct rb_buf b = RB_BUF_INIT;
    rb_buf_puts(&b, report_head);
    rb_buf_printf(
        &b,
        "\"outcome\":\"%s\",\"ended_at_deadline\":false,\"started_at_us\":1700000000000000,\"paced_accelerator\":false,"
        "\"best\":{\"trial\":1,\"metric_name\":\"" EVIL "\",\"metric\":0.25,\"params\":{},"
        "\"command\":\"sh t.sh '--a=<i>'\\necho\",\"checkpoint\":\"c&c\"},"
        "\"time_us\":{\"predicted\":" QUANTILES(
            "14000000") ",\"actual\":20000000},"
                        "\"cost_uusd\":{\"predicted\":" QUANTILES(
                            "90000") ",\"actual\":100000,\"by\":" PARTS "},"
                                     "\"node_time_us\":" NODE_TIME ","
                                     "\"stages\":[{\"stage\":0,\"trials\":2,\"resource_end\":1,\"gpus_per_trial\":1,"
                                     "\"nodes\":1,\"start_us\":10,"
                                     "\"end_us\":9000000,\"predicted_time_us\":5000000,\"predicted_cost_uusd\":40000,"
                                     "\"cost_uusd\":60000},"
                                     "{\"stage\":1,\"trials\":1,\"resource_end\":9,\"gpus_per_trial\":1,\"nodes\":1,"
                                     "\"start_us\":9000000,"
                                     "\"end_us\":null,\"predicted_time_us\":9000000,\"predicted_cost_uusd\":50000,"
                                     "\"cost_uusd\":40000}],"
                                     "\"trials\":[{\"trial\":0,\"state\":\"stopped\",\"resource\":1,\"metric\":0.5,"
                                     "\"params\":{\"" EVIL "\":\"a\\\"b\",\"seed\":7,\"lr\":0.5},"
                                     "\"restarts\":0,\"origin\":\"start\",\"because\":\"" EVIL "\"},"
                                     "{\"trial\":1,\"state\":\"completed\",\"resource\":9,\"metric\":0.25,\"params\":{"
                                     "\"" EVIL "\":\"</td>\",\"seed\":7,\"lr\":0.003},\"restarts\":1,\"origin\":\"tpe\"},"
                                     "{\"trial\":2,\"state\":\"failed\",\"resource\":0,\"metric\":null,\"params\":{"
                                     "\"" EVIL "\":1.5,\"seed\":7,\"lr\":0.25,\"depth\":-2.5},\"restarts\":3}],"
                                     "\"nodes\":[{\"id\":\"i-<b>1\",\"infra\":\"mock/"
                                     "x\",\"instance_type\":\"g5<i>\",\"market\":\"spot\",\"state\":\"gone\"}],"
                                     "\"leak_check\":{\"at_us\":21000000,\"instances_left\":null},\"replans\":[],"
                                     "\"drifts\":[{\"at_us\":7000000,\"text\":\"P(on time) is 0.71\"}],"
                                     "\"faults\":[{\"at_us\":15000000,\"text\":\"node 0: "
                                     "<b>lost</b>\"}],\"warnings\":[]},",
        outcome);
    rb_buf_puts(&b, plan);
    rb_buf_puts(
        &b,
        "\"history\":{\"now_us\":20000000,\"limits\":{\"deadline_us\":30000000,\"budget_uusd\":null},"
        "\"nodes\":[{\"node\":0,\"attempt\":0,\"accelerator\":\"T4\",\"gpus\":4,\"requested_us\":10,\"running_us\":"
        "1000000,"
        "\"ready_us\":2000000,\"release_us\":null,\"ended_us\":15000000,\"lost\":true,\"cost_uusd\":100000,"
        "\"by\":" PARTS ",\"node_time_us\":" NODE_TIME "}],"
        "\"starts\":[{\"trial\":0,\"stage\":0,\"slots\":[{\"node\":0,\"gpus\":[0]}],\"resource_start\":0,\"resource_"
        "end\":1,"
        "\"start_us\":2000000,\"exited_us\":3000000,\"end_us\":3100000,\"end\":\"reached\"},"
        "{\"trial\":1,\"stage\":1,\"slots\":[{\"node\":0,\"gpus\":[0,1,3]}],\"resource_start\":1,\"resource_end\":9,"
        "\"start_us\":9000000,\"exited_us\":null,\"end_us\":15000000,\"end\":\"lost\"},"
        "{\"trial\":2,\"stage\":0,\"slots\":[],\"resource_start\":0,\"resource_end\":1,\"start_us\":9000000,"
        "\"exited_us\":null,\"end_us\":null,\"end\":null}],"
        "\"reports\":{\"columns\":[\"at_us\",\"resource\",\"metric\"],\"trials\":["
        "{\"trial\":0,\"n_reports\":1,\"rows\":[[3000000,1,0.5]]},"
        "{\"trial\":1,\"n_reports\":3,\"rows\":[[3000000,1,null],[9500000,2,0.3],[14000000,9,0.25]]}]},"
        "\"marks\":[{\"at_us\":15000001,\"kind\":\"replan\",\"reason\":null,\"stage\":1}],"
        "\"saves\":[{\"at_us\":12000000,\"start\":1,\"resource\":4}],\"refusals\":[{\"at_us\":500000,\"node\":0}],"
        "\"gpus\":{\"columns\":[\"at_us\",\"owned\",\"used\",\"uusd_per_hour\"],\"rows\":[[1000000,4,0,1000000],"
        "[2000000,4,1,1000000],[15000000,0,0,0]]},"
        "\"spent\":{\"columns\":[\"at_us\",\"uusd\"],\"rows\":[[0,0],[20000000,100000]]}},"
        "\"importance\":{\"state\":\"known\",\"resource\":1,\"n_results\":27,\"least\":16,\"r2\":0.85,\"parameters\":["
        "{\"name\":\"" EVIL "\",\"share\":0.125,\"sd\":0.03},{\"name\":\"lr\",\"share\":0.5,\"sd\":0.0625},"
        "{\"name\":\"depth\",\"share\":0.0,\"sd\":0.0}],\"together\":0.375,\"together_sd\":0.04}}");
    return rb_xstrdup(rb_buf_str(&b));
}

// Stopped before anything began, and no one had said what it would take.
static char *empty(void)
{
    RB_AUTO(rb_buf_finish) struct rb_buf b = RB_BUF_INIT;
    rb_buf_puts(&b, report_head);
    rb_buf_puts(
        &b,
        "\"outcome\":\"stopped: budget\",\"ended_at_deadline\":false,\"started_at_us\":0,\"paced_accelerator\":false,"
        "\"best\":null,\"time_us\":{\"predicted\":null,\"actual\":0},"
        "\"cost_uusd\":{\"predicted\":null,\"actual\":0,\"by\":" NO_PARTS "},\"stages\":[],\"trials\":[],"
        "\"nodes\":[],\"leak_check\":null,\"replans\":[],\"faults\":[],\"warnings\":[]},");
    rb_buf_puts(&b, plan);
    rb_buf_puts(
        &b, "\"history\":{\"now_us\":0,\"limits\":{\"deadline_us\":null,\"budget_uusd\":null},\"nodes\":[],"
            "\"starts\":[],\"reports\":{\"columns\":[\"at_us\",\"resource\",\"metric\"],\"trials\":[]},\"marks\":[],\"saves\":[],\"refusals\":[],"
            "\"gpus\":{\"columns\":[\"at_us\",\"owned\",\"used\",\"uusd_per_hour\"],\"rows\":[]},"
            "\"spent\":{\"columns\":[\"at_us\",\"uusd\"],\"rows\":[]}},\"importance\":{\"state\":\"few\","
            "\"resource\":null,\"n_results\":0,\"least\":16,\"r2\":null,\"parameters\":[],\"together\":null,"
            "\"together_sd\":null}}");
    return rb_xstrdup(rb_buf_str(&b));
}

// The same where nothing has a price.
static char *unpaid(void)
{
    char *document = full("complete"), *price = strstr(document, "\"uusd_per_hour\":1000000}");
    assert_non_null(price);
    memcpy(price, "\"uusd_per_hour\":      0}", strlen("\"uusd_per_hour\":      0}"));
    return document;
}

static void page_of(const char *document, bool live, struct rb_buf *out)
{
    struct rb_err err = {0};
    if (!rb_run_page_write(document, strlen(document), live, out, &err))
        fail_msg("%s", err.message);
}

// Without the library and the charts, which hold such words themselves.
static char *words_of(const struct rb_buf *page)
{
    const char *from = strstr(rb_buf_str(page), "<body>"), *to = strstr(rb_buf_str(page), "id=\"document\"");
    assert_non_null(from);
    assert_non_null(to);
    return strndup(from, (size_t)(to - from));
}

static void names_and_parameters_are_never_markup(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *document = full("complete");
    page_of(document, false, &page);
    RB_AUTO(rb_auto_free) char *words = words_of(&page);
    assert_null(strstr(words, EVIL));
    assert_null(strstr(words, "<b>"));
    assert_null(strstr(words, "<i>"));
    assert_non_null(strstr(words, "&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_non_null(strstr(words, "a&quot;b"));
    assert_non_null(strstr(words, "&lt;/td&gt;"));
    assert_non_null(strstr(words, "i-&lt;b&gt;1"));
    assert_non_null(strstr(words, "node 0: &lt;b&gt;lost&lt;/b&gt;"));
    assert_non_null(strstr(words, "c&amp;c"));
    const char *text = strstr(rb_buf_str(&page), "id=\"document\""), *end = strstr(text, "</script>");
    assert_non_null(memmem(text, (size_t)(end - text), "\\u003cscript>", 13));
    assert_int_equal(end[-1], '}'); // the document's own end, not a name inside it
}

static void the_words_say_what_the_report_says(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *document = full("complete");
    page_of(document, false, &page);
    const char *p = rb_buf_str(&page);
    assert_non_null(strstr(p, "Complete after 20.0 s (expected 14.0 s), $0.1000 (expected $0.0900); best: trial 1,"));
    assert_non_null(strstr(p, ">training<"));
    assert_non_null(strstr(p, "70.0 %"));
    assert_non_null(strstr(p, "gone, lost"));
    assert_non_null(strstr(p, "a new plan from stage 1 on"));
    assert_non_null(strstr(p, "<td>drift</td><td>P(on time) is 0.71</td>"));
    assert_non_null(strstr(p, "Not known: the listing at"));
    const char *best = strstr(p, ">completed<"), *other = strstr(p, ">stopped<"), *failed = strstr(p, ">failed</td>");
    assert_true(best && best < other && other < failed); // by rank, the one that never reported last
}

// The most important first, what does not apply as a dash, and why a trial has its configuration.
static void parameters_are_shown_with_what_they_explain(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *document = full("complete");
    page_of(document, false, &page);
    const char *part = strstr(rb_buf_str(&page), "<section id=\"parameters\""), *end = strstr(part, "</section>");
    const char *lr = strstr(part, ">lr</th>"), *other = strstr(part, "alert(1)&lt;/script&gt;</th>"),
               *depth = strstr(part, ">depth</th>"), *rest = strstr(part, ">several together</th>");
    assert_non_null(strstr(part, "ranks of 27 results at epoch 1"));
    assert_true(lr && lr < other && other < depth && depth < rest && rest < end);
    assert_memory_equal(strstr(lr, "<td"), "<td class=\"number\">50.0 %</td><td class=\"number\">6.2 %</td>", 58);
    const char *trials = strstr(end, "<section id=\"trials\""), *first = strstr(trials, "<tbody>");
    assert_non_null(strstr(trials, ">depth</th><th scope=\"col\">suggested because</th></tr>"));
    assert_non_null(strstr(first, ">0.003</td><td class=\"number\">-</td><td>tpe</td></tr>"));
    assert_non_null(strstr(first, "<td>start: &lt;script&gt;"));
    assert_non_null(strstr(first, ">0.25</td><td class=\"number\">-2.5</td><td>-</td></tr>"));
}

// Numbers come from enough results only.
static void too_few_results_explain_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *importance, *words;
    } rows[] = {
        {"few\",\"resource\":1,\"n_results\":5,\"least\":16,\"r2\":null", "there are 5 at one epoch, and 16 are needed."},
        {"unseen\",\"resource\":9,\"n_results\":20,\"least\":16,\"r2\":-0.25",
         "a random forest on 20 results at epoch 9 does not predict those that it has not seen (R\u00b2 -0.25)."},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT, document = RB_BUF_INIT;
        RB_AUTO(rb_auto_free) char *known = full("complete");
        char *from = strstr(known, "\"importance\"");
        assert_non_null(from);
        *from = '\0';
        rb_buf_printf(&document, "%s\"importance\":{\"state\":\"%s,\"parameters\":[],\"together\":null,\"together_sd\":null}}",
                      known, rows[i].importance);
        page_of(rb_buf_str(&document), false, &page);
        assert_non_null(strstr(rb_buf_str(&page), rows[i].words));
        assert_null(strstr(rb_buf_str(&page), "<figure class=\"chart\" data-chart=\"run-importance\""));
        assert_null(strstr(rb_buf_str(&page), "several together</th>"));
    }
}

static void a_node_that_lives_has_not_ended_yet(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *document = full("running");
    char *ended = strstr(document, "\"ended_us\":15000000");
    assert_non_null(ended);
    memcpy(ended, "\"ended_us\":    null", strlen("\"ended_us\":    null"));
    page_of(document, false, &page);
    const char *nodes = strstr(rb_buf_str(&page), "<section id=\"nodes\"");
    assert_non_null(nodes);
    assert_non_null(strstr(nodes, ">not yet<"));
}

static void what_is_not_known_is_not_zero(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *document = empty();
    page_of(document, false, &page);
    const char *p = rb_buf_str(&page);
    assert_non_null(strstr(p, "Stopped at the budget after 0 s (there was no prediction), $0.00 (there was no "
                              "prediction); no trial has a result."));
    assert_non_null(strstr(p, "No trial was begun."));
    assert_non_null(strstr(p, "No node was ever rented."));
    assert_non_null(strstr(p, "Nothing was paid."));
    assert_non_null(strstr(p, "Not checked yet"));
    assert_null(strstr(p, "<figure class=\"chart\" data-chart=\"run-outcome\""));
}

static void a_live_page_has_all_its_figures_and_its_words_apart(void **state)
{
    (void)state;
    static const char *const charts[] = {"run-gantt",      "run-usage",  "run-learning", "run-parallel",
                                         "run-importance", "run-slices", "run-money",    "run-spent"};
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT, data = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *document = empty();
    struct rb_err err = {0};
    page_of(document, true, &page);
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
        char figure[64];
        snprintf(figure, sizeof figure, "data-chart=\"%s\"", charts[i]);
        assert_non_null(strstr(rb_buf_str(&page), figure));
    }
    assert_true(rb_run_page_live(document, strlen(document), true, &data, &err));
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    assert_true(rb_doc_parse_json(&doc, "live", rb_buf_str(&data), data.len, &err));
    assert_string_equal(rb_node_member(doc.root, "format")->text, "rb-live/1");
    assert_true(rb_node_member(doc.root, "ended")->boolean);
    const char *main_part = rb_node_member(doc.root, "main")->text;
    assert_int_equal(strncmp(main_part, "<dl class=\"facts\" id=\"facts\">", 27), 0);
    assert_non_null(strstr(main_part, "No node was ever rented."));
    assert_null(strstr(main_part, "<script"));
}

// Red where the run did not do what it was for, in the page and in what a live one asks for.
// Without progress, and then with one whose training is slower for sure.
static void a_slow_run_says_so(void **state)
{
    (void)state;
    static const char none[] = "\"progress\":null,", slow[] = "\"progress\":{\"stage\":1,\"n_stages\":2,\"trials\":{},"
        "\"pace\":1.31,\"pace_low\":1.26,\"pace_high\":1.36},";
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT, with = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *document = full("running");
    const char *at = strstr(document, none);
    assert_non_null(at);
    page_of(document, true, &page);
    assert_null(strstr(rb_buf_str(&page), "slower than the profile"));
    rb_buf_printf(&with, "%.*s%s%s", (int)(at - document), document, slow, at + strlen(none));
    rb_buf_clear(&page);
    page_of(rb_buf_str(&with), true, &page);
    assert_non_null(strstr(rb_buf_str(&page), "So far training is 31 % slower than the profile says (26 to 36 %)."));
}

static void what_failed_is_red(void **state)
{
    (void)state;
    static const struct {
        const char *outcome, *words;
        bool failed;
    } rows[] = {
        {"complete", "Complete", false},
        {"running", "Running", false},
        {"stopped: budget", "Stopped at the budget", false},
        {"incomplete", "Incomplete, no trial was trained to the end", true},
        {"stopped: broken_script", "Stopped, its script is broken", true},
        {"stopped: failure", "Stopped by a fault", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT, data = RB_BUF_INIT, summary = RB_BUF_INIT;
        RB_AUTO(rb_auto_free) char *document = full(rows[i].outcome);
        RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
        struct rb_err err = {0};
        page_of(document, false, &page);
        rb_buf_printf(&summary, "<p class=\"summary%s\" id=\"summary\">%s", rows[i].failed ? " failed" : "",
                      rows[i].words);
        assert_non_null(strstr(rb_buf_str(&page), rb_buf_str(&summary)));
        assert_true(rb_run_page_live(document, strlen(document), true, &data, &err));
        assert_true(rb_doc_parse_json(&doc, "live", rb_buf_str(&data), data.len, &err));
        assert_int_equal(rb_node_member(doc.root, "failed")->boolean, rows[i].failed);
    }
}

static void every_chart_is_drawn_in_every_state(void **state)
{
    (void)state;
    static const char *const charts[] = {"run-gantt",  "run-usage", "run-learning", "run-parallel", "run-importance",
                                         "run-slices", "run-money", "run-spent",    "run-outcome"};
    char *documents[] = {full("complete"), full("running"), full("stopped: capacity"), empty()};
    for (size_t d = 0; d < sizeof documents / sizeof *documents; d++) {
        // One is enough of what takes a while to start; all of the first and of the last.
        for (size_t i = 0; i < sizeof charts / sizeof *charts && (d % 3 == 0 || i < 1); i++) {
            RB_AUTO(rb_buf_finish) struct rb_buf svg = RB_BUF_INIT;
            struct rb_err err = {0};
            if (!rb_picture_write(charts[i], documents[d], &svg, &err))
                fail_msg("document %zu: %s", d, err.message);
            assert_memory_equal(svg.data, "<svg ", 5);
            assert_null(strstr(svg.data, "NaN"));
            assert_null(strstr(svg.data, "<script"));
        }
        free(documents[d]);
    }
}

// What stands under a name: figure and remark, with the element that holds them.
static void assert_fact(const struct rb_buf *page, const char *words)
{
    const char *facts = strstr(rb_buf_str(page), "<dl class=\"facts\""), *end = facts ? strstr(facts, "</dl>") : NULL;
    const char *found = facts ? strstr(facts, words) : NULL;
    if (!end || !found || found > end)
        fail_msg("no \"%s\" in %.*s", words, facts ? (int)(end - facts) : 0, facts ? facts : "");
}

static void what_counts_stands_at_the_top(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *document = full("complete");
    page_of(document, false, &page);
    assert_fact(&page, "<dt>cost</dt>\n<dd>$0.1000</dd>\n<dd>expected $0.0900</dd>");
    assert_fact(&page, "<dt>time</dt>\n<dd>20.0 s</dd>\n<dd>expected 14.0 s</dd>");
    assert_fact(&page, "<div>\n<dt>outcome</dt>\n<dd>Complete</dd>\n<dd>deadline 30.0 s: kept</dd>");
    assert_fact(&page, "<dd>0.25</dd>\n<dd>the best: trial 1\ngoal: minimize</dd>");
    assert_fact(&page, "<div class=\"failed\">\n<dt>failed</dt>\n<dd>1 trial</dd>\n<dd>of 3\n1 node lost</dd>");
    assert_fact(&page, "<dt>nodes on spot</dt>\n<dd>1 of 1 lost</dd>\n");
    const char *failed = strstr(rb_buf_str(&page), "<td class=\"failed\">failed</td>");
    assert_non_null(failed);
    assert_non_null(strstr(rb_buf_str(&page), "<td class=\"failed\">gone, lost</td>"));
}

// A new document, in which `to` stands for each `from`.
static char *replaced(const char *document, const char *from, const char *to)
{
    RB_AUTO(rb_buf_finish) struct rb_buf b = RB_BUF_INIT;
    const char *found;
    assert_non_null(strstr(document, from));
    for (; (found = strstr(document, from)); document = found + strlen(from)) {
        rb_buf_printf(&b, "%.*s", (int)(found - document), document);
        rb_buf_puts(&b, to);
    }
    rb_buf_puts(&b, document);
    return rb_xstrdup(rb_buf_str(&b));
}

static void what_no_cloud_billed_is_said_beside_the_cost(void **state)
{
    (void)state;
    static const char billed[] = "\"actual\":100000,\"by\":" PARTS "}";
    RB_AUTO(rb_buf_finish) struct rb_buf in_part = RB_BUF_INIT, as_a_whole = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *document = full("complete");
    RB_AUTO(rb_auto_free)
    char *spot = replaced(document, billed, "\"actual\":100000,\"by\":" PARTS ",\"attributed_uusd\":20000}");
    RB_AUTO(rb_auto_free) char *own = replaced(document, "\"infra\":\"mock/", "\"infra\":\"slurm/");
    page_of(spot, false, &in_part);
    assert_fact(&in_part, "<dt>cost</dt>\n<dd>$0.1000</dd>\n<dd>expected $0.0900\n$0.0200 of it is attributed: "
                          "the cloud lists no spot prices, so the plan&#39;s price counts</dd>");
    page_of(own, false, &as_a_whole);
    assert_fact(&as_a_whole,
                "<dd>expected $0.0900\nattributed: these machines are there anyway, and the price list says "
                "what their time is worth</dd>");
}

static void what_was_not_kept_is_red(void **state)
{
    (void)state;
    static const struct {
        const char *outcome, *words;
    } cases[] = {
        {"stopped: deadline", "<div class=\"failed\">\n<dt>outcome</dt>\n<dd>Stopped</dd>\n<dd>at the deadline\n"
                              "deadline 30.0 s: reached first</dd>"},
        {"stopped: failure",
         "<div class=\"failed\">\n<dt>outcome</dt>\n<dd>Stopped</dd>\n<dd>by a fault\ndeadline 30.0 s</dd>"},
        {"incomplete",
         "<div class=\"failed\">\n<dt>outcome</dt>\n<dd>Incomplete</dd>\n<dd>no trial was trained to the end\n"},
        {"stopped: user", "<div>\n<dt>outcome</dt>\n<dd>Stopped</dd>\n<dd>on request\n"},
        {"running", "<div>\n<dt>outcome</dt>\n<dd>Running</dd>\n<dd>deadline 30.0 s</dd>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
        RB_AUTO(rb_auto_free) char *document = full(cases[i].outcome);
        page_of(document, false, &page);
        assert_fact(&page, cases[i].words);
    }
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *document = full("complete");
    char *deadline = strstr(document, "\"deadline_us\":30000000");
    assert_non_null(deadline);
    memcpy(deadline, "\"deadline_us\":15000000", strlen("\"deadline_us\":15000000"));
    page_of(document, false, &page);
    assert_fact(
        &page,
        "<div class=\"failed\">\n<dt>outcome</dt>\n<dd>Complete</dd>\n<dd>deadline 15.0 s: missed by 5.0 s</dd>");
}

static void free_runs_show_time_and_no_dollars(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *document = unpaid();
    page_of(document, false, &page);
    RB_AUTO(rb_auto_free) char *words = words_of(&page);
    assert_null(strchr(words, '$'));
    assert_null(strstr(words, ">cost<"));
    assert_non_null(strstr(words, "Complete after 20.0 s (expected 14.0 s); best: trial 1,"));
    assert_fact(&page, "<dt>spent training</dt>\n<dd>75 %</dd>\n<dd>of 56.0 s of GPU time</dd>");
    assert_non_null(strstr(words, "Where the time went"));
    assert_non_null(strstr(
        words, "<th scope=\"row\">training</th><td class=\"number\">42.0 s</td><td class=\"number\">75.0 %</td>"));
    assert_non_null(strstr(words, "<tr class=\"total\"><th scope=\"row\">all</th><td class=\"number\">56.0 s</td>"));
    assert_null(strstr(words, "60 s minimum"));
    RB_AUTO(rb_buf_finish) struct rb_buf svg = RB_BUF_INIT;
    struct rb_err err = {0};
    if (!rb_picture_write("run-node-time", document, &svg, &err))
        fail_msg("%s", err.message);
    assert_non_null(strstr(rb_buf_str(&svg), "training"));
    assert_null(strstr(rb_buf_str(&svg), "NaN"));
}

// What spot machines did lies over the timeline; a run without them shows nothing of it.
static void the_timeline_shows_a_run_on_spot(void **state)
{
    static const char *const names[] = {"node lost", "on spot", "request refused", "saved", "new plan"};
    char *documents[] = {full("complete"), empty()};
    (void)state;
    for (int d = 0; d < 2; d++) {
        RB_AUTO(rb_buf_finish) struct rb_buf svg = RB_BUF_INIT;
        struct rb_err err = {0};
        if (!rb_picture_write("run-gantt", documents[d], &svg, &err))
            fail_msg("%s", err.message);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if ((strstr(rb_buf_str(&svg), names[i]) != NULL) != (d == 0))
                fail_msg("document %d: %s", d, names[i]);
        free(documents[d]);
    }
}

static void the_best_is_a_command(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *document = full("complete");
    page_of(document, false, &page);
    assert_non_null(strstr(rb_buf_str(&page), "<code>sh t.sh &#39;--a=&lt;i&gt;&#39;\necho</code></pre>"));
}

static void other_documents_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"{", "{}", "{\"format\":\"rb-report/1\"}", "{\"format\":\"rb-run-page/1\"}",
                                        "{\"format\":\"rb-run-page/1\",\"report\":{},\"plan\":{},\"history\":{}}"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rb_buf out = RB_BUF_INIT;
        struct rb_err err = {0};
        assert_false(rb_run_page_write(cases[i], strlen(cases[i]), false, &out, &err));
        assert_false(rb_run_page_live(cases[i], strlen(cases[i]), false, &out, &err));
        assert_true(err.message[0] != '\0');
        assert_int_equal(out.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_parameters_are_never_markup),
        cmocka_unit_test(the_words_say_what_the_report_says),
        cmocka_unit_test(parameters_are_shown_with_what_they_explain),
        cmocka_unit_test(too_few_results_explain_nothing),
        cmocka_unit_test(a_node_that_lives_has_not_ended_yet),
        cmocka_unit_test(what_is_not_known_is_not_zero),
        cmocka_unit_test(a_live_page_has_all_its_figures_and_its_words_apart),
        cmocka_unit_test(a_slow_run_says_so),
        cmocka_unit_test(what_failed_is_red),
        cmocka_unit_test(every_chart_is_drawn_in_every_state),
        cmocka_unit_test(what_counts_stands_at_the_top),
        cmocka_unit_test(what_no_cloud_billed_is_said_beside_the_cost),
        cmocka_unit_test(what_was_not_kept_is_red),
        cmocka_unit_test(free_runs_show_time_and_no_dollars),
        cmocka_unit_test(the_timeline_shows_a_run_on_spot),
        cmocka_unit_test(the_best_is_a_command),
        cmocka_unit_test(other_documents_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
