// Which lines of a training script are reports, and what they say.
#include "executor/metric_line.h"

#include "base/limits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define ABSENT (-1)

struct line_case {
    const char *line;
    int64_t resource; // ABSENT: not a report
    double metric;
};

static const struct line_case cases[] = {
    {"epoch=4 val_acc=0.81", 4, 0.81},
    {"epoch=4, loss=0.3, val_acc=0.81", 4, 0.81},
    {"2026-08-01 INFO epoch=4 val_acc=8.1e-1 lr=3e-4", 4, 0.81},
    {"val_acc=0.81;resource=4", 4, 0.81},
    {"\tepoch=0 val_acc=-3\r", 0, -3},
    {"epoch=3 val_acc=0.1 epoch=4 val_acc=0.81", 4, 0.81},
    {"epoch=4.0 val_acc=1", 4, 1},
    {"epoch=1e3 val_acc=1", 1000, 1},
    {"epoch=4 val_acc=nan", 4, NAN},
    {"epoch=4 val_acc=-NaN", 4, NAN},
    {"epoch=4 val_acc=inf", 4, INFINITY},
    {"epoch=4 val_acc=-Infinity", 4, -INFINITY},
    {"{\"epoch\": 4, \"val_acc\": 0.81}", 4, 0.81},
    {"  {\"val_acc\": 1, \"resource\": 4, \"nested\": {\"epoch\": 9}}", 4, 1},
    {"{\"epoch\": 4, \"val_acc\": NaN}", 4, NAN},
    {"{\"epoch\": 4, \"val_acc\": -Infinity}", 4, -INFINITY},
    {"{\"epoch\": 4, \"val_acc\": \"nan\"}", 4, NAN},
    {"{\"note\": \"NaN \\\" Infinity\", \"epoch\": 4, \"val_acc\": 2}", 4, 2},
    // ordinary output
    {"", ABSENT, 0},
    {"epoch=4", ABSENT, 0},
    {"val_acc=0.81", ABSENT, 0},
    {"epoch = 4 val_acc = 0.81", ABSENT, 0},
    {"epoch=4 my_val_acc=0.81", ABSENT, 0},
    {"epoch=4 val_acc=0.81%", ABSENT, 0},
    {"epoch=4 val_acc=0x10", ABSENT, 0},
    {"epoch=4 val_acc=", ABSENT, 0},
    {"epoch=-1 val_acc=1", ABSENT, 0},
    {"epoch=1.5 val_acc=1", ABSENT, 0},
    {"epoch=nan val_acc=1", ABSENT, 0},
    {"epoch=inf val_acc=1", ABSENT, 0},
    {"epoch=99999999999999999999 val_acc=1", ABSENT, 0},
    {"epoch=4 val_acc=1e999", ABSENT, 0},
    {"{\"epoch\": 4, \"val_acc\": 0.81", ABSENT, 0},
    {"{\"epoch\": 4, \"epoch\": 5, \"val_acc\": 1}", ABSENT, 0},
    {"[{\"epoch\": 4, \"val_acc\": 1}]", ABSENT, 0},
};

static void reads_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rb_metric_line line;
        rb_metric_line_parse(cases[i].line, strlen(cases[i].line), "epoch", "val_acc", &line);
        const bool is_report = cases[i].resource != ABSENT;
        bool same = line.is_report == is_report;
        if (same && is_report)
            same = line.resource == cases[i].resource &&
                   (isnan(cases[i].metric) ? isnan(line.metric)
                                           : line.metric >= cases[i].metric && line.metric <= cases[i].metric);
        if (!same)
            fail_msg("\"%s\": report %d, resource %lld, metric %g", cases[i].line, line.is_report,
                     (long long)line.resource, line.metric);
    }
}

static void bytes_need_no_terminator_and_may_hold_zeros(void **state)
{
    (void)state;
    struct rb_metric_line line;
    static const char bytes[] = {'e', 'p', 'o', 'c', 'h', '=', '4', ' ', 'v', 'a', 'l', '_', 'a', 'c', 'c', '=', '7'};
    rb_metric_line_parse(bytes, sizeof bytes, "epoch", "val_acc", &line);
    assert_true(line.is_report && line.metric >= 7 && line.metric <= 7);
    static const char zero[] = "epoch=4\0 val_acc=7";
    rb_metric_line_parse(zero, sizeof zero - 1, "epoch", "val_acc", &line);
    assert_false(line.is_report);
}

static void a_line_past_the_limit_is_no_report(void **state)
{
    (void)state;
    struct rb_metric_line line;
    char *bytes = malloc(RB_LIMIT_METRIC_LINE + 32);
    memset(bytes, ' ', RB_LIMIT_METRIC_LINE + 32);
    memcpy(bytes, "epoch=4 val_acc=7", 17);
    rb_metric_line_parse(bytes, RB_LIMIT_METRIC_LINE, "epoch", "val_acc", &line);
    assert_true(line.is_report);
    rb_metric_line_parse(bytes, RB_LIMIT_METRIC_LINE + 1, "epoch", "val_acc", &line);
    assert_false(line.is_report);
    free(bytes);
}

static void knows_a_paced_accelerator(void **state)
{
    (void)state;
    struct rb_metric_line line;
    static const char paced[] = "RB_PACED=1 accelerator speed is emulated";
    rb_metric_line_parse(paced, strlen(paced), "epoch", "val_acc", &line);
    assert_true(line.paced && !line.is_report);
    rb_metric_line_parse("RB_PACED=0", 10, "epoch", "val_acc", &line);
    assert_false(line.paced);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_lines),
        cmocka_unit_test(bytes_need_no_terminator_and_may_hold_zeros),
        cmocka_unit_test(a_line_past_the_limit_is_no_report),
        cmocka_unit_test(knows_a_paced_accelerator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
