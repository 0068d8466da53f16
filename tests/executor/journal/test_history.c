// The history of a run on the fake cloud, at every stage of its life: it says what the report says, only of more instants.
#include "fake_run.h"

#include "base/document/doc.h"
#include "executor/journal/history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define MINUTE_US INT64_C(60000000)

static const char *const parts[] = {"train", "boot", "idle_barrier", "minimum", "lost", "checkpoint"};
enum { N_PARTS = 6 };

static int64_t integer(const struct rb_node *n, const char *key)
{
    const struct rb_node *child = rb_node_member(n, key);
    assert_non_null(child);
    assert_int_equal(child->kind, RB_NODE_INT);
    return child->integer;
}

static const struct rb_node *item(const struct rb_node *list, int i)
{
    const struct rb_node *n = list->first;
    for (; i > 0 && n; i--)
        n = n->next;
    assert_non_null(n);
    return n;
}

static const struct rb_node *last_of(const struct rb_node *list)
{
    return item(list, list->n_children - 1);
}

static void history_of(struct fake_run *r, const struct rb_report *report, struct rb_doc *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    struct rb_err err;
    rb_json_init(&j, &text, false);
    if (!rb_history_write(r->journal, report, &j, &err) ||
        !rb_doc_parse_json(out, "history", rb_buf_str(&text), text.len, &err))
        fail_msg("%s", err.message);
}

static void parts_add_up(const struct rb_report *report, const struct rb_node *history)
{
    int64_t sum[N_PARTS] = {0}, total = 0;
    const int64_t expected[N_PARTS] = {report->by.train_uusd,   report->by.boot_uusd, report->by.idle_barrier_uusd,
                                       report->by.minimum_uusd, report->by.lost_uusd, report->by.checkpoint_uusd};
    for (const struct rb_node *n = rb_node_member(history, "nodes")->first; n; n = n->next) {
        int64_t of_node = 0;
        for (int i = 0; i < N_PARTS; i++) {
            const int64_t part = integer(rb_node_member(n, "by"), parts[i]);
            sum[i] += part;
            of_node += part;
        }
        assert_int_equal(of_node, integer(n, "cost_uusd"));
        total += of_node;
    }
    for (int i = 0; i < N_PARTS; i++)
        assert_int_equal(sum[i], expected[i]);
    assert_int_equal(total, report->cost_uusd);
}

static void dollars_rise_to_the_bill(const struct rb_report *report, const struct rb_node *history)
{
    const struct rb_node *rows = rb_node_member(rb_node_member(history, "spent"), "rows");
    int64_t at_us = -1, uusd = 0;
    assert_in_range(rows->n_children, 1, RB_HISTORY_SPENT);
    for (const struct rb_node *row = rows->first; row; row = row->next) {
        assert_true(item(row, 0)->integer > at_us);
        assert_true(item(row, 1)->integer >= uusd);
        at_us = item(row, 0)->integer;
        uusd = item(row, 1)->integer;
    }
    assert_int_equal(at_us, report->now_us);
    assert_int_equal(uusd, report->cost_uusd);
}

static void no_more_is_used_than_owned(const struct rb_node *history)
{
    int64_t at_us = -1;
    for (const struct rb_node *row = rb_node_member(rb_node_member(history, "gpus"), "rows")->first; row;
         row = row->next) {
        assert_true(item(row, 0)->integer > at_us);
        assert_in_range(item(row, 2)->integer, 0, item(row, 1)->integer);
        assert_true((item(row, 3)->integer > 0) == (item(row, 1)->integer > 0)); // who owns pays
        at_us = item(row, 0)->integer;
    }
}

// Every start is listed with its place; its reports are those of its trial, in order.
static void starts_and_reports_are_reported(const struct rb_report *report, const struct rb_node *history)
{
    assert_int_equal(rb_node_member(history, "starts")->n_children, report->n_tasks);
    for (const struct rb_node *s = rb_node_member(history, "starts")->first; s; s = s->next)
        assert_true(rb_node_member(s, "slots")->n_children > 0);
    for (const struct rb_node *t = rb_node_member(rb_node_member(history, "reports"), "trials")->first; t;
         t = t->next) {
        const struct rb_report_trial *trial = &report->trials[integer(t, "trial")];
        const struct rb_node *last = last_of(rb_node_member(t, "rows"));
        assert_int_equal(rb_node_member(t, "rows")->n_children, integer(t, "n_reports")); // few: none is left out
        if (isfinite(trial->metric))
            assert_true(item(last, 2)->number == trial->metric);
        else
            assert_int_equal(item(last, 2)->kind, RB_NODE_NULL); // reported, as what is no number
    }
}

// What lies over the timeline is of a node or of a start that is there.
static void instants_have_their_place(const struct rb_report *report, const struct rb_node *history)
{
    const struct rb_node *starts = rb_node_member(history, "starts");
    for (const struct rb_node *s = rb_node_member(history, "saves")->first; s; s = s->next) {
        const struct rb_node *start = item(starts, (int)integer(s, "start"));
        assert_true(integer(s, "at_us") > integer(start, "start_us") && integer(s, "at_us") <= report->now_us);
        assert_true(integer(s, "resource") > integer(start, "resource_start"));
        assert_true(integer(s, "resource") <= integer(start, "saved_resource"));
    }
    for (const struct rb_node *s = rb_node_member(history, "refusals")->first; s; s = s->next)
        assert_true(integer(s, "at_us") <= report->now_us && integer(s, "node") >= 0);
}

static void check(struct fake_run *r)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    const struct rb_report report = fake_run_report(r);
    history_of(r, &report, &doc);
    assert_int_equal(integer(doc.root, "now_us"), report.now_us);
    parts_add_up(&report, doc.root);
    dollars_rise_to_the_bill(&report, doc.root);
    no_more_is_used_than_owned(doc.root);
    starts_and_reports_are_reported(&report, doc.root);
    instants_have_their_place(&report, doc.root);
}

static void run_to_its_end(struct fake_run *r)
{
    const int64_t limit_us = r->v.now_us + 600 * MINUTE_US;
    for (int64_t step = 0; !r->finished && r->v.now_us < limit_us && virtual_loop_step(&r->v); step++)
        if (step % 50 == 0)
            check(r);
    assert_true(r->finished);
    check(r);
}

static void every_kind_of_run_has_its_history(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct fake_run r;
        fake_run_init(&r, 1 + (uint64_t)kind);
        if (kind == 1)
            fake_run_make_asynchronous(&r, RB_RULE_PROMOTE);
        else if (kind == 2)
            fake_run_make_packed(&r);
        else if (kind == 3)
            fake_run_make_gangs(&r);
        fake_run_open(&r);
        run_to_its_end(&r);
        fake_run_finish(&r);
    }
}

// Ends of starts by the names that the page knows.
static int count_ends(const struct rb_node *history, const char *end)
{
    int n = 0;
    for (const struct rb_node *s = rb_node_member(history, "starts")->first; s; s = s->next) {
        const struct rb_node *e = rb_node_member(s, "end");
        n += e->kind == RB_NODE_STRING && strcmp(e->text, end) == 0;
    }
    return n;
}

static void a_run_without_trouble_reaches_all_it_starts(void **state)
{
    (void)state;
    struct fake_run r;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    fake_run_init(&r, 1);
    fake_run_open(&r);
    run_to_its_end(&r);
    const struct rb_report report = fake_run_report(&r);
    history_of(&r, &report, &doc);
    assert_int_equal(count_ends(doc.root, "reached"), 13); // 9 + 3 + 1
    assert_int_equal(report.n_tasks, 13);
    const struct rb_node *gpus = last_of(rb_node_member(rb_node_member(doc.root, "gpus"), "rows"));
    assert_int_equal(item(gpus, 1)->integer, 0);
    assert_int_equal(item(gpus, 2)->integer, 0);
    fake_run_finish(&r);
}

static void hung_starts_are_reported(void **state)
{
    (void)state;
    struct fake_run r;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    fake_run_init(&r, 4);
    r.machines.training.hangs = 0.3;
    fake_run_open(&r);
    run_to_its_end(&r);
    const struct rb_report report = fake_run_report(&r);
    history_of(&r, &report, &doc);
    int n_hung = 0;
    for (int i = 0; i < report.n_notes; i++)
        n_hung += strstr(report.notes[i].text, "hung, killed") != NULL;
    assert_true(n_hung > 0);
    assert_int_equal(count_ends(doc.root, "hung"), n_hung);
    assert_int_equal(count_ends(doc.root, "reached"), 13);
    fake_run_finish(&r);
}

// What the journal got after the report was made is not in it.
static void history_and_report_are_of_one_instant(void **state)
{
    (void)state;
    struct fake_run r;
    RB_AUTO(rb_doc_finish) struct rb_doc before = {0}, after = {0};
    fake_run_init(&r, 1);
    fake_run_open(&r);
    for (int i = 0; i < 400 && virtual_loop_step(&r.v); i++)
        ;
    const struct rb_report report = fake_run_report(&r);
    history_of(&r, &report, &before);
    run_to_its_end(&r);
    history_of(&r, &report, &after);
    assert_int_equal(rb_node_member(rb_node_member(after.root, "reports"), "trials")->n_children,
                     rb_node_member(rb_node_member(before.root, "reports"), "trials")->n_children);
    assert_int_equal(integer(after.root, "now_us"), integer(before.root, "now_us"));
    fake_run_finish(&r);
}

// A trial of many reports: thinned evenly, the first and the last kept, and how many there were.
static void long_curves_are_thinned(void **state)
{
    (void)state;
    struct fake_run r;
    struct rb_err err;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    fake_run_init(&r, 1);
    fake_run_open(&r);
    run_to_its_end(&r);
    const int64_t from_us = fake_run_report(&r).now_us;
    const int n = 3 * RB_HISTORY_REPORTS + 7;
    for (int i = 1; i <= n; i++) {
        const struct rb_event e = {
            .kind = RB_EVENT_REPORT, .time_us = from_us + i, .trial = 0, .resource = i, .metric = i};
        assert_true(rb_journal_event(r.journal, &e, &err));
    }
    const struct rb_report report = fake_run_report(&r);
    history_of(&r, &report, &doc);
    const struct rb_node *curve = rb_node_member(rb_node_member(doc.root, "reports"), "trials")->first;
    const struct rb_node *rows = rb_node_member(curve, "rows");
    assert_int_equal(integer(curve, "trial"), 0);
    assert_true(integer(curve, "n_reports") >= n);
    assert_in_range(rows->n_children, RB_HISTORY_REPORTS / 2, RB_HISTORY_REPORTS + 1);
    assert_int_equal(item(rows->first, 1)->integer, 1);
    assert_int_equal(item(last_of(rows), 1)->integer, n);
    fake_run_finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_run_has_its_history),
        cmocka_unit_test(a_run_without_trouble_reaches_all_it_starts),
        cmocka_unit_test(hung_starts_are_reported),
        cmocka_unit_test(history_and_report_are_of_one_instant),
        cmocka_unit_test(long_curves_are_thinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
