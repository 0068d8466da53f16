// Two runs side by side: dollars between instants, the best result so far, what jobs differ in, and whether a
// deadline was kept. All from documents, as others may have written them.
#include "views/pages/compare_document.h"
#include "views/pages/compare_page.h"
#include "views/pages/document.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct run {
    const char *outcome, *goal, *job, *plan; // job, plan: members before the others, or ""
    int64_t time_us;
    const char *deadline; // of the run
    bool ended_at_deadline;
};

static const struct run plain = {
    "complete", "maximize", "", "\"deadline_us\":100,\"estimate\":{\"p_deadline\":0.97},", 50, "100", false};

static struct rb_doc document_of(const struct run *r)
{
    struct rb_buf text = RB_BUF_INIT;
    struct rb_doc doc;
    struct rb_err err;
    rb_buf_printf(
        &text,
        "{\"format\":\"rb-run-page/1\",\"report\":{\"outcome\":\"%s\",\"started_at_us\":7,\"ended_at_deadline\":%s,"
        "\"best\":{\"trial\":1,\"metric\":0.5,\"params\":{\"lr\":0.1,\"opt\":\"sgd\"}},"
        "\"time_us\":{\"predicted\":null,\"actual\":%jd},\"cost_uusd\":{\"predicted\":{\"mean\":900},\"actual\":1000},"
        "\"stages\":[{\"stage\":0,\"trials\":2,\"resource_end\":1,\"gpus_per_trial\":1,\"end_us\":25,\"cost_uusd\":400}"
        ","
        "{\"stage\":1,\"trials\":1,\"resource_end\":3,\"gpus_per_trial\":1,\"end_us\":null,\"cost_uusd\":600}],"
        "\"trials\":[{\"state\":\"completed\"},{\"state\":\"failed\"}],"
        "\"nodes\":[{\"infra\":\"aws/us-east-1/us-east-1a\"},{\"infra\":\"aws/us-east-1\"},{\"infra\":\"local\"}]},"
        "\"plan\":{%s\"policy\":\"elastic\",\"planner\":\"optimal\",\"prices\":[{\"uusd_per_hour\":0},{\"uusd_per_"
        "hour\":5}],"
        "\"job\":{\"config\":{%s\"name\":\"j\",\"metric\":{\"name\":\"m\",\"goal\":\"%s\"}}}},"
        "\"history\":{\"limits\":{\"deadline_us\":%s,\"budget_uusd\":null},"
        "\"spent\":{\"columns\":[\"at_us\",\"uusd\"],\"rows\":[[10,100],[20,300],[\"x\"],[40,1000]]},"
        "\"reports\":{\"columns\":[\"at_us\",\"resource\",\"metric\"],\"trials\":["
        "{\"trial\":1,\"rows\":[[30,2,0.5],[12,1,0.2],[15,1,null]]},{\"trial\":0,\"rows\":[[15,1,0.3],[35,2,0.4],7]}]}}"
        "}",
        r->outcome, r->ended_at_deadline ? "true" : "false", (intmax_t)r->time_us, r->plan, r->job, r->goal,
        r->deadline);
    if (!rb_doc_parse_json(&doc, "run", rb_buf_str(&text), text.len, &err))
        fail_msg("%s", err.message);
    rb_buf_finish(&text);
    return doc;
}

static struct rb_run_row row_of(const struct run *r, struct rb_arena *arena)
{
    struct rb_doc doc = document_of(r);
    struct rb_run_row row = {.run = "r"};
    struct rb_err err;
    if (!rb_run_row_read(doc.root, arena, &row, &err))
        fail_msg("%s", err.message);
    rb_doc_finish(&doc);
    return row;
}

static void a_row_has_what_the_report_says(void **state)
{
    (void)state;
    struct rb_arena arena;
    rb_arena_init(&arena);
    const struct rb_run_row row = row_of(&plain, &arena);
    assert_string_equal(row.job, "j");
    assert_int_equal(row.cost_uusd, 1000);
    assert_int_equal(row.cost_predicted_uusd, 900);
    assert_int_equal(row.time_predicted_us, -1);
    assert_int_equal(row.trials, 2);
    assert_int_equal(row.trials_failed, 1);
    assert_int_equal(row.n_infras, 2);
    assert_string_equal(row.infras[0], "aws/us-east-1");
    assert_string_equal(row.infras[1], "local");
    assert_false(row.is_free);
    rb_arena_finish(&arena);
}

static void deadlines_are_kept_or_not(void **state)
{
    (void)state;
    static const struct {
        const char *outcome, *deadline;
        int64_t time_us;
        bool ended_at_deadline;
        enum rb_run_promise on_time;
    } cases[] = {
        {"complete", "100", 100, false, RB_RUN_PROMISE_KEPT},
        {"target", "100", 5, false, RB_RUN_PROMISE_KEPT},
        {"complete", "100", 101, false, RB_RUN_PROMISE_BROKEN},
        {"complete", "100", 101, true, RB_RUN_PROMISE_KEPT},
        {"stopped: deadline", "100", 99, false, RB_RUN_PROMISE_BROKEN},
        {"stopped: user", "100", 99, false, RB_RUN_PROMISE_NONE},
        {"running", "100", 99, false, RB_RUN_PROMISE_OPEN},
        {"running", "100", 101, false, RB_RUN_PROMISE_BROKEN},
        {"complete", "null", 101, false, RB_RUN_PROMISE_NONE},
    };
    struct rb_arena arena;
    rb_arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r = plain;
        r.outcome = cases[i].outcome;
        r.deadline = cases[i].deadline;
        r.time_us = cases[i].time_us;
        r.ended_at_deadline = cases[i].ended_at_deadline;
        assert_int_equal(row_of(&r, &arena).on_time, cases[i].on_time);
    }
    rb_arena_finish(&arena);
}

// The plan promised its own deadline; of an instant, less is left when the run begins.
static void only_the_planned_deadline_was_promised(void **state)
{
    (void)state;
    struct rb_arena arena;
    rb_arena_init(&arena);
    struct run r = plain;
    assert_true(fabs(row_of(&r, &arena).p_on_time - 0.97) < 1e-9);
    r.deadline = "200";
    assert_true(isnan(row_of(&r, &arena).p_on_time));
    r.deadline = "90";
    assert_true(isnan(row_of(&r, &arena).p_on_time));
    r.plan = "\"deadline_us\":100,\"deadline_at\":\"2026-08-01T12:00:00Z\",\"estimate\":{\"p_deadline\":0.97},";
    assert_true(fabs(row_of(&r, &arena).p_on_time - 0.97) < 1e-9);
    r.plan = "\"deadline_us\":100,\"estimate\":null,";
    r.deadline = "100";
    assert_true(isnan(row_of(&r, &arena).p_on_time));
    rb_arena_finish(&arena);
}

static void compare(const struct run *a, const struct run *b, struct rb_buf *out)
{
    struct rb_doc first = document_of(a), second = document_of(b);
    const struct rb_compared two[2] = {{"a", NULL, first.root}, {"b", "team", second.root}};
    struct rb_err err;
    if (!rb_compare_document(two, out, &err))
        fail_msg("%s", err.message);
    rb_doc_finish(&first);
    rb_doc_finish(&second);
}

static void holds(const struct rb_buf *text, const char *part)
{
    if (!strstr(rb_buf_str(text), part))
        fail_msg("%s\nis not in\n%s", part, rb_buf_str(text));
}

static void curves_and_rungs(void **state)
{
    (void)state;
    struct run down = plain;
    struct rb_buf out = RB_BUF_INIT;
    down.goal = "minimize";
    compare(&plain, &down, &out);
    // 12: a fifth of the way from $100 to $300. 15 and 30: halfway. What is malformed is left out.
    holds(&out, "\"rows\":[[12,140,0.2,1,1],[15,200,0.3,0,1],[30,650,0.5,1,2]]");
    holds(&out, "\"rows\":[[12,140,0.2,1,1]]");
    holds(&out, "\"end_us\":25,\"cost_uusd\":400,\"spent_uusd\":475,\"best_metric\":0.3}");
    holds(&out, "\"end_us\":null,\"cost_uusd\":600,\"spent_uusd\":null,\"best_metric\":null}");
    holds(&out, "\"best\":[{\"trial\":1,\"metric\":0.5,\"params\":{\"lr\":\"0.1\",\"opt\":\"sgd\"}},");
    holds(&out, "\"differences\":[{\"key\":\"metric.goal\",\"values\":[\"maximize\",\"minimize\"]}]");
    rb_buf_finish(&out);
}

static void differences_are_found_in_both(void **state)
{
    (void)state;
    struct run a = plain, b = plain;
    struct rb_buf out = RB_BUF_INIT;
    a.job = "\"only_a\":{\"x\":1,\"y\":null},\"list\":[1,2],\"mixed\":{\"k\":1},\"same\":{\"z\":[{}]},";
    b.job = "\"list\":[1,3],\"mixed\":7,\"same\":{\"z\":[{}]},\"only_b\":true,";
    compare(&a, &b, &out);
    holds(&out, "\"differences\":[{\"key\":\"only_a.x\",\"values\":[\"1\",null]},{\"key\":\"only_a.y\",\"values\":["
                "\"null\",null]},"
                "{\"key\":\"list\",\"values\":[\"[1,2]\",\"[1,3]\"]},{\"key\":\"mixed\",\"values\":[null,\"7\"]},"
                "{\"key\":\"mixed.k\",\"values\":[\"1\",null]},{\"key\":\"only_b\",\"values\":[null,\"true\"]}]");
    rb_buf_finish(&out);
}

static void the_page_compares_only_what_can_be(void **state)
{
    static const char one_run[] = "{\"format\":\"rb-compare/1\",\"runs\":[{}]}";
    (void)state;
    struct run down = plain;
    struct rb_buf same = RB_BUF_INIT, other = RB_BUF_INIT, page = RB_BUF_INIT;
    struct rb_err err;
    compare(&plain, &plain, &same);
    assert_true(rb_compare_page_write(rb_buf_str(&same), same.len, (const char *const[]){"a/", "b/"}, &page, &err));
    holds(&page, "data-chart=\"compare-dollars\"");
    holds(&page, "data-chart=\"compare-time\"");
    holds(&page, "<a href=\"b/\">b</a>");
    holds(&page, "both jobs are the same");
    rb_buf_clear(&page);
    down.goal = "minimize";
    compare(&plain, &down, &other);
    assert_true(rb_compare_page_write(rb_buf_str(&other), other.len, NULL, &page, &err));
    assert_null(strstr(rb_buf_str(&page), "data-chart="));
    holds(&page, "their curves cannot be compared");
    assert_false(rb_compare_page_write(one_run, strlen(one_run), NULL, &page, &err));
    rb_buf_finish(&same);
    rb_buf_finish(&other);
    rb_buf_finish(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_has_what_the_report_says),         cmocka_unit_test(deadlines_are_kept_or_not),
        cmocka_unit_test(only_the_planned_deadline_was_promised), cmocka_unit_test(curves_and_rungs),
        cmocka_unit_test(differences_are_found_in_both),          cmocka_unit_test(the_page_compares_only_what_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
