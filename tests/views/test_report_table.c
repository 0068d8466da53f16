// The report as text: shares of dollars where there are any, of GPU time where there are none, and the best as a command.
#include "views/tables/report_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define BY(train, boot, minimum) \
    "{\"train\":" train ",\"boot\":" boot ",\"idle_barrier\":0,\"minimum\":" minimum ",\"lost\":0,\"checkpoint\":0}"

static const char *nodes_in; // infra of the report's one node; NULL: there is none

// predicted, actual, by: of the cost.
static void report_of(const char *predicted, const char *actual, const char *by, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_err err = {0};
    rb_buf_printf(&text,
                  "{\"format\":\"rb-report/1\",\"run\":\"r-1\",\"outcome\":\"complete\",\"best\":{\"trial\":3,"
                  "\"metric_name\":\"acc\",\"metric\":0.5,\"params\":{\"lr\":0.139},"
                  "\"command\":\"python train.py --lr=0.139\",\"checkpoint\":null,\"remark\":null},"
                  "\"time_us\":{\"predicted\":null,\"actual\":20000000},"
                  "\"cost_uusd\":{\"predicted\":%s,\"actual\":%s,\"by\":%s},"
                  "\"node_time_us\":{\"actual\":80000000,\"by\":" BY(
                      "60000000", "20000000",
                      "0") "},"
                           "\"stages\":[{\"stage\":0,\"trials\":2,\"resource_end\":9,\"gpus_per_trial\":1,\"nodes\":1,"
                           "\"start_us\":0,\"end_us\":9000000,\"predicted_time_us\":null,\"predicted_cost_uusd\":null,"
                           "\"cost_uusd\":%s}],\"trials\":[{\"trial\":2,\"origin\":\"start\"},{\"trial\":3,\"origin\":\"optuna\",\"because\":\"as\\u001b[2J\\ndense\"}],\"nodes\":[%s%s%s],\"leak_check\":null}",
                  predicted, actual, by, actual, nodes_in ? "{\"infra\":\"" : "", nodes_in ? nodes_in : "",
                  nodes_in ? "\"}" : "");
    if (!rb_doc_parse_json(&doc, "report", rb_buf_str(&text), text.len, &err) ||
        !rb_report_table_write(doc.root, &(struct rb_text_style){0}, out, &err))
        fail_msg("%s", err.message);
}

static void dollars_where_there_are_any(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    report_of("null", "100000", BY("70000", "25000", "5000"), &out);
    const char *text = rb_buf_str(&out);
    assert_non_null(strstr(text, "where the money went"));
    assert_non_null(strstr(text, "training                   $0.0700  70 %"));
    assert_non_null(strstr(text, "the 60 s minimum           $0.0050   5 %"));
    assert_null(strstr(text, "GPU time"));
    assert_non_null(strstr(text, "\n  as a command: python train.py --lr=0.139\n"));
    assert_non_null(strstr(text, "\n  suggested by optuna: as?[2J?dense\n")); // another program wrote it
}

// Of a cluster that sends no bill.
static void dollars_may_be_attributed(void **state)
{
    (void)state;
    static const char *const infras[] = {"k8s/lab", "aws/us-east-1"};
    for (size_t i = 0; i < 2; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
        nodes_in = infras[i];
        report_of("null", "100000", BY("70000", "25000", "5000"), &out);
        assert_int_equal(strstr(rb_buf_str(&out), "the cost is attributed: ") != NULL, i == 0);
    }
    nodes_in = NULL;
}

// A part of them: spot machines of a cloud that does not tell their prices.
static void a_part_may_be_attributed(void **state)
{
    (void)state;
    static const char said[] = "\n$0.0400 of the cost is attributed: the cloud does not say what its spot machines cost over time";
    for (int i = 0; i < 2; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
        report_of("null", i ? "100000,\"attributed_uusd\":40000" : "100000", BY("70000", "25000", "5000"), &out);
        assert_int_equal(strstr(rb_buf_str(&out), said) != NULL, i);
    }
}

static void time_where_nothing_has_a_price(void **state)
{
    (void)state;
    static const char zero[] = "{\"mean\":0,\"p5\":0,\"p50\":0,\"p95\":0,\"p99\":0}";
    static const char *const predicted[] = {"null", zero};
    for (size_t i = 0; i < sizeof predicted / sizeof *predicted; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
        report_of(predicted[i], "0", BY("0", "0", "0"), &out);
        const char *text = rb_buf_str(&out);
        assert_non_null(strstr(text, "where the GPU time went"));
        assert_non_null(strstr(text, "  training                1 m 0 s  75 %\n"
                                     "  booting and setting up   20.0 s  25 %\n"));
        assert_null(strstr(text, "$"));
        assert_null(strstr(text, "cost"));
        assert_null(strstr(text, "minimum"));
    }
}

// One that was expected to cost something and has not yet.
static void nothing_yet_is_not_free(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    report_of("{\"mean\":9,\"p5\":9,\"p50\":9,\"p95\":9,\"p99\":9}", "0", BY("0", "0", "0"), &out);
    assert_non_null(strstr(rb_buf_str(&out), "cost  $0.000009"));
    assert_null(strstr(rb_buf_str(&out), "GPU time"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dollars_where_there_are_any), cmocka_unit_test(dollars_may_be_attributed),
        cmocka_unit_test(a_part_may_be_attributed),
        cmocka_unit_test(time_where_nothing_has_a_price),
        cmocka_unit_test(nothing_yet_is_not_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
