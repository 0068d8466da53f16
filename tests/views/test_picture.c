// Charts without a browser: the SVG has what the document says, and what cannot be drawn is an error.
#include "views/pages/picture.h"

#include "tests/base/says.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char frontier[] =
    "{\"frontier\":{\"points\":["
    "{\"deadline_us\":3600000000,\"planner\":\"optimal\",\"estimate\":{\"cost_uusd\":{\"p50\":9000000,\"p95\":9500000},"
    "\"time_us\":{\"p50\":3400000000,\"p95\":3500000000}}},"
    "{\"deadline_us\":7200000000,\"planner\":\"optimal\",\"estimate\":{\"cost_uusd\":{\"p50\":4000000,\"p95\":4200000},"
    "\"time_us\":{\"p50\":6800000000,\"p95\":7100000000}}},"
    "{\"deadline_us\":3600000000,\"planner\":\"static\",\"estimate\":{\"cost_uusd\":{\"p50\":9900000,\"p95\":9950000},"
    "\"time_us\":{\"p50\":3300000000,\"p95\":3500000000}}}]}}";

static void a_frontier_is_drawn_with_its_planners(void **state)
{
    (void)state;
    struct rb_buf out = RB_BUF_INIT;
    struct rb_err err = {0};
    assert_true(rb_picture_write("frontier", frontier, &out, &err));
    assert_memory_equal(out.data, "<svg ", 5);
    assert_non_null(strstr(out.data, "optimal"));
    assert_non_null(strstr(out.data, "static"));
    assert_non_null(strstr(out.data, ">deadline<"));
    rb_buf_finish(&out);
}

// The plan at the deadline that was asked for, what more time is worth there, and a legend that distinguishes the two blue lines.
static void a_frontier_marks_the_plan_and_what_time_is_worth(void **state)
{
    (void)state;
    static const char marginal[] = ",\"marginal\":{\"deadline_us\":7200000000,\"more\":{\"deadline_us\":7800000000,"
                                   "\"cost_uusd\":-128547,\"uusd_per_minute\":-12855},\"less\":null}}}";
    struct rb_buf document = RB_BUF_INIT, out = RB_BUF_INIT;
    struct rb_err err = {0};
    rb_buf_append(&document, frontier, sizeof frontier - 3); // but its two last braces
    rb_buf_puts(&document, marginal);
    assert_true(rb_picture_write("frontier", rb_buf_str(&document), &out, &err));
    assert_non_null(strstr(out.data, "deadline 2 h 0 m: more time saves $0.0129 a minute"));
    assert_non_null(strstr(out.data, ">this plan<"));
    assert_non_null(strstr(out.data, "ZM6.5 3.5L11.5 3.5")); // dashes
    rb_buf_finish(&document);
    rb_buf_finish(&out);
}

// What a run with spot machines costs, or a plan without them, is a line of its own, and there is the plan.
static void a_frontier_has_a_line_for_spot(void **state)
{
    (void)state;
    static const struct {
        const char *key, *line, *deadline;
    } lines[] = {
        {"with_spot", ">with spot<", "deadline 2 h 0 m, on demand: more time saves $0.0129 a minute"},
        {"without_spot", ">without spot<", "deadline 2 h 0 m: more time saves $0.0129 a minute"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct rb_buf document = RB_BUF_INIT, out = RB_BUF_INIT;
        struct rb_err err = {0};
        rb_buf_append(&document, frontier, sizeof frontier - 3); // but its two last braces
        rb_buf_printf(&document,
                      ",\"%s\":[{\"deadline_us\":7200000000,\"estimate\":{\"cost_uusd\":{\"p50\":1500000,\"p95\":4300000},"
                      "\"time_us\":{\"p50\":6900000000,\"p95\":7150000000}}}],\"marginal\":{\"deadline_us\":7200000000,"
                      "\"more\":{\"deadline_us\":7800000000,\"cost_uusd\":-128547,\"uusd_per_minute\":-12855},\"less\":null}}}",
                      lines[i].key);
        assert_true(rb_picture_write("frontier", rb_buf_str(&document), &out, &err));
        assert_non_null(strstr(rb_buf_str(&out), lines[i].line));
        assert_non_null(strstr(rb_buf_str(&out), lines[i].deadline));
        rb_buf_finish(&document);
        rb_buf_finish(&out);
    }
}

#define EXPECTED(mean)                                                                                                 \
    "\"expected\":{\"better_than\":{\"mean\":" mean ",\"low\":0.8,\"high\":0.99},\"metric\":{\"mean\":null}}"

static void what_budgets_find_is_drawn_with_its_band(void **state)
{
    static const char document[] =
        "{\"best_for\":{\"metric\":\"f1\",\"law\":{\"metric_known\":false},\"chosen\":{\"budget_uusd\":4000000," EXPECTED(
            "0.95") "},\"frontier\":[{\"budget_uusd\":2000000,\"trials\":9," EXPECTED("0.9") "},{\"budget_uusd\":4000000,\"trials\":20," EXPECTED("0.95") "}]}}";
    struct rb_buf out = RB_BUF_INIT;
    struct rb_err err = {0};
    (void)state;
    assert_true(rb_picture_write("best", document, &out, &err));
    assert_non_null(strstr(rb_buf_str(&out), "% of random configurations that it beats"));
    assert_non_null(strstr(rb_buf_str(&out), "5 % of draws are worse"));
    assert_non_null(strstr(rb_buf_str(&out), "this plan"));
    assert_non_null(strstr(rb_buf_str(&out), ">$4<"));
    rb_buf_finish(&out);
}

#define OPEN(median) "\"expected\":{\"metric\":{\"mean\":null,\"low\":0.8,\"median\":" median ",\"high\":null}}"

// Earlier runs know nothing better than their best.
static void what_earlier_runs_let_expect_is_open_above(void **state)
{
    static const char document[] =
        "{\"best_for\":{\"metric\":\"f1\",\"law\":{\"metric_known\":true},\"chosen\":{\"budget_uusd\":4000000," OPEN(
            "0.85") "},\"frontier\":[{\"budget_uusd\":2000000,\"trials\":9," OPEN("0.83") "},{\"budget_uusd\":4000000,\"trials\":20," OPEN("0.85") "}]}}";
    struct rb_buf out = RB_BUF_INIT;
    struct rb_err err = {0};
    (void)state;
    assert_true(rb_picture_write("best", document, &out, &err));
    assert_non_null(strstr(rb_buf_str(&out), ">half of draws are as good or better<"));
    assert_non_null(strstr(rb_buf_str(&out), ">5 % of draws are worse<"));
    assert_null(strstr(rb_buf_str(&out), "5 % are better"));
    assert_null(strstr(rb_buf_str(&out), "NaN"));
    rb_buf_finish(&out);
}

#define SEARCH(costs, reached, target, mean, running)                                                                         \
    "\"search\":{\"reached\":" reached ",\"target_uusd\":" target ",\"regret_curve\":{\"cost_uusd\":[" costs "],"                          \
    "\"mean\":[1," mean "],\"low\":[1,0.5,-0.1,0],\"high\":[1,1.2,0.7,0.6],\"running\":" running "},\"prices\":[{\"infra\":"         \
    "\"aws/us-east-1\",\"instance_type\":\"g5.xlarge\",\"market\":\"spot\",\"uusd_per_hour\":400000,\"fetched_at\":null}]}"
#define BLACKBOX(target) "\"blackbox\":{\"table\":\"tables/toy_a.csv\",\"rows\":30,\"target\":" target "},\"replicates\":4,"
#define COSTS "0,1000000,2000000,3000000"
#define QUANTILES "{\"p5\":1000000,\"p50\":1500000,\"p95\":2000000}"

static void regret_is_drawn_with_targets_prices_and_table(void **state)
{
    static const char document[] = "{" BLACKBOX("0.9") "\"variants\":[{\"label\":\"asha/tpe:static\"," SEARCH(
        COSTS, "3", QUANTILES, "0.8,0.3,0.1", "[4,4,1,0]") "},{\"label\":\"sha:static\"," SEARCH(COSTS, "0", "null", "0.9,0.5,0.5", "[4,2,0,0]") "}]}";
    static const char *const said[] = {
        ">asha/tpe:static: 3 of 4 runs, $1.50 in half of them ($1.00 to $2.00)<",
        ">sha:static: none of 4 runs<",
        ">dollars to the target, 0.9<",
        ">Table toy_a.csv, 30 rows; 4 simulated runs of each search, on the same draws.<",
        ">Dollars: g5.xlarge spot at $0.4000 an hour (aws/us-east-1).<",
        ">0.125<", // a line that falls so low has doublings
        ">$3.00<"};
    struct rb_buf out = RB_BUF_INIT;
    struct rb_err err = {0};
    (void)state;
    assert_true(rb_picture_write("regret", document, &out, &err));
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        assert_non_null(strstr(rb_buf_str(&out), said[i]));
    rb_buf_finish(&out);
}

// Regret of 0 has no logarithm.
static void regret_that_ends_at_none_has_a_linear_axis(void **state)
{
    static const char document[] =
        "{" BLACKBOX("null") "\"tuner\":\"asha\",\"policy\":\"static\"," SEARCH(COSTS, "0", "null", "0.8,0.1,0", "[4,4,4,0]") "}";
    struct rb_buf out = RB_BUF_INIT;
    struct rb_err err = {0};
    (void)state;
    assert_true(rb_picture_write("regret", document, &out, &err));
    assert_non_null(strstr(rb_buf_str(&out), ">asha:static<"));
    assert_non_null(strstr(rb_buf_str(&out), ">0.2<"));
    assert_null(strstr(rb_buf_str(&out), ">0.25<"));
    assert_null(strstr(rb_buf_str(&out), "the target"));
    rb_buf_finish(&out);
}

// One search ends long before the other: dollars are doublings, from the last point at which nothing was found.
static void searches_that_end_far_apart_are_drawn_over_doublings(void **state)
{
    static const char document[] = "{" BLACKBOX("null") "\"variants\":[{\"label\":\"a\"," SEARCH(
        "0,1000000,2000000,16000000", "0", "null", "1,0.3,0.3", "[4,4,0,0]") "},{\"label\":\"b\"," SEARCH(
        "0,1000000,2000000,16000000", "0", "null", "1,0.9,0.5", "[4,4,4,0]") "}]}";
    struct rb_buf out = RB_BUF_INIT;
    struct rb_err err = {0};
    (void)state;
    assert_true(rb_picture_write("regret", document, &out, &err));
    assert_non_null(strstr(rb_buf_str(&out), ">$2<"));
    assert_non_null(strstr(rb_buf_str(&out), ">$8<"));
    assert_null(strstr(rb_buf_str(&out), ">$0"));
    rb_buf_finish(&out);
}

static void what_cannot_be_drawn_is_an_error(void **state)
{
    (void)state;
    const char *cases[][3] = {{"frontier", "{", "SyntaxError"}, {"frontier", "{}", "RB7003 TypeError"}, {"pie", "{}", "no chart is called pie"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rb_buf out = RB_BUF_INIT;
        struct rb_err err = {0};
        assert_false(rb_picture_write(cases[i][0], cases[i][1], &out, &err));
        assert_true(error_says(&err, cases[i][2]));
        assert_int_equal(out.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frontier_is_drawn_with_its_planners),
        cmocka_unit_test(a_frontier_has_a_line_for_spot),
        cmocka_unit_test(a_frontier_marks_the_plan_and_what_time_is_worth),
        cmocka_unit_test(what_budgets_find_is_drawn_with_its_band),
        cmocka_unit_test(what_earlier_runs_let_expect_is_open_above),
        cmocka_unit_test(regret_is_drawn_with_targets_prices_and_table),
        cmocka_unit_test(regret_that_ends_at_none_has_a_linear_axis),
        cmocka_unit_test(searches_that_end_far_apart_are_drawn_over_doublings),
        cmocka_unit_test(what_cannot_be_drawn_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
