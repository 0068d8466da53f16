// Which lines of a training script are reports, and what they say.
#include "executor/metrics/metric_line.h"

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

struct announcement {
    const char *line, *name;
    bool is_name;
};

// A name leads to no other folder and needs no quoting, or it is none.
static void announcements(void **state)
{
    static const struct announcement rows[] = {
        {"epoch=3 val_acc=0.81 checkpoint=epoch-3", "epoch-3", true},
        {"checkpoint=3 epoch=3 val_acc=0.81", "3", true},
        {"{\"epoch\": 3, \"val_acc\": 0.81, \"checkpoint\": \"Step_3.new\"}", "Step_3.new", true},
        {"epoch=3 val_acc=0.81", "", false},
        {"epoch=3 val_acc=0.81 checkpoint=", "", false},
        {"{\"epoch\": 3, \"val_acc\": 0.81, \"checkpoint\": 3}", "", false},
        {"epoch=3 val_acc=0.81 checkpoint=../x", "../x", false},
        {"epoch=3 val_acc=0.81 checkpoint=/etc", "/etc", false},
        {"epoch=3 val_acc=0.81 checkpoint=.rb", ".rb", false},
        {"epoch=3 val_acc=0.81 checkpoint=-rf", "-rf", false},
        {"epoch=3 val_acc=0.81 checkpoint=a*", "a*", false},
        {"epoch=3 val_acc=0.81 checkpoint=$(id)", "$(id)", false},
        {"{\"epoch\": 3, \"val_acc\": 0.81, \"checkpoint\": \"a b\"}", "a b", false},
        {"epoch=3 val_acc=0.81 checkpoint=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
         "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", true},
        {"epoch=3 val_acc=0.81 checkpoint=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdefghi",
         "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdefg", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rb_metric_line line;
        rb_metric_line_parse(rows[i].line, strlen(rows[i].line), "epoch", "val_acc", &line);
        assert_true(line.is_report && line.resource == 3);
        assert_string_equal(line.checkpoint, rows[i].name);
        if (rb_is_checkpoint_name(line.checkpoint) != rows[i].is_name)
            fail_msg("%s", rows[i].line);
    }
}

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

static void reads_what_steps_take_and_how_noisy_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        struct rb_step_stats steps;
    } lines[] = {
        {"epoch=4 val_acc=1 grad_sqr=0.5 grad_var=8 step_s=0.2 sync_s=0.05", {true, {0.5, 8}, 0.2, true, 0.05}},
        {"{\"grad_sqr\": -0.5, \"grad_var\": 8}", {true, {-0.5, 8}, 0, false, 0}},
        {"step_s=2 sync_s=0", {false, {0, 0}, 2, true, 0}},
        {"grad_sqr=1", {0}},
        {"grad_sqr=1 grad_var=nan", {0}},
        {"step_s=0 sync_s=1", {0}},
        {"step_s=-1", {0}},
        {"step_s=inf", {0}},
        {"step_s=2 sync_s=2", {false, {0, 0}, 2, false, 0}},
        {"step_s=2 sync_s=-1", {false, {0, 0}, 2, false, 0}},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct rb_metric_line line;
        rb_metric_line_parse(lines[i].line, strlen(lines[i].line), "epoch", "val_acc", &line);
        const struct rb_step_stats *a = &line.steps, *b = &lines[i].steps;
        if (a->has_noise != b->has_noise || fabs(a->noise.sqr - b->noise.sqr) > 0 ||
            fabs(a->noise.var - b->noise.var) > 0 || fabs(a->step_s - b->step_s) > 0 || a->has_sync != b->has_sync ||
            fabs(a->sync_s - b->sync_s) > 0)
            fail_msg("\"%s\": noise %d %g %g, step %g, sync %d %g", lines[i].line, a->has_noise, a->noise.sqr,
                     a->noise.var, a->step_s, a->has_sync, a->sync_s);
        assert_int_equal(line.is_report, i == 0);
    }
    // a job may well tune one of them
    struct rb_metric_line line;
    rb_metric_line_parse("epoch=1 step_s=3", 16, "epoch", "step_s", &line);
    assert_true(line.is_report && line.steps.step_s <= 0);
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
        cmocka_unit_test(announcements),
        cmocka_unit_test(reads_what_steps_take_and_how_noisy_they_are),
        cmocka_unit_test(bytes_need_no_terminator_and_may_hold_zeros),
        cmocka_unit_test(a_line_past_the_limit_is_no_report),
        cmocka_unit_test(knows_a_paced_accelerator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
