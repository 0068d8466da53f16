// What frameworks print and write, as reports. The lines were taken from the sources named in
// executor/metrics/metric_formats.h.
#include "executor/metrics/metric_reader.h"

#include "base/text/buf.h"
#include "profiles/job/metric_pattern.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

struct reader_case {
    enum rb_metric_format format;
    int base;
    const char *unit, *metric, *lines, *reports; // lines: as frames between \n; reports: "1=0.5 2=0.75"
    int start;
};

#define OF_FORMAT RB_METRIC_BASE_OF_FORMAT

static const struct reader_case output_cases[] = {
    {RB_METRIC_AUTO, OF_FORMAT, "epoch", "val_acc", "epoch=1 val_acc=0.5\nepoch=2 val_acc=0.75", "1=0.5 2=0.75", 0},
    {RB_METRIC_AUTO, 0, "epoch", "val_acc", "epoch=0 val_acc=0.5\nepoch=1 val_acc=0.75", "1=0.5 2=0.75", 0},
    {RB_METRIC_JSON, OF_FORMAT, "iteration", "bbox/AP", "{\"iteration\": 19, \"bbox/AP\": 0.25}", "19=0.25", 0},
    {RB_METRIC_HF, OF_FORMAT, "epoch", "eval_loss",
     "{'loss': 0.7, 'learning_rate': 2e-05, 'epoch': 0.5}\n"
     "{'eval_loss': 0.31, 'eval_accuracy': 0.9, 'epoch': 1.0}\n"
     "{'eval_loss': '0.25', 'eval_runtime': '1.2', 'epoch': '2'}\n"
     "{'eval_loss': 0.125, 'epoch': 2.99}\n"
     "{'train_runtime': 3.1, 'train_loss': 0.1, 'epoch': 3.0}",
     "1=0.31 2=0.25 3=0.125", 0},
    {RB_METRIC_AUTO, OF_FORMAT, "epoch", "eval_accuracy",
     " 33%|###   | 3/9 [00:01<00:02]\n 33%|### | 3/9 {'eval_loss': 0.31, 'eval_accuracy': 0.9, 'epoch': 1.0}", "1=0.9",
     0},
    {RB_METRIC_AUTO, OF_FORMAT, "epoch", "val_loss",
     "Epoch 3/9\n"
     "\033[1m  1/938\033[0m \033[37m----\033[0m \033[1m2:05\033[0m 134ms/step - accuracy: 0.1 - loss: 2.3\n"
     "\b\b\b\b\033[1m938/938\033[0m ==== 5s 5ms/step - accuracy: 0.97 - loss: 0.1\n"
     "\033[1m938/938\033[0m ==== 5s 5ms/step - accuracy: 0.97 - loss: 0.1 - val_loss: 9.1234e-04\n"
     "Epoch 4/9\n938/938 - 5s - 5ms/step - accuracy: 0.98 - val_loss: 8e-04",
     "3=0.00091234 4=0.0008", 0},
    {RB_METRIC_KERAS, OF_FORMAT, "epoch", "accuracy", "938/938 [======] - 5s 5ms/step - loss: 0.1 - accuracy: 0.97",
     "1=0.97", 0},
    {RB_METRIC_AUTO, OF_FORMAT, "round", "validation-auc",
     "[0]\ttrain-auc:0.93\tvalidation-auc:0.91\n[1]\ttrain-auc:0.94+0.01\tvalidation-auc:0.92+0.02\n[10:33:20] "
     "WARNING: x",
     "1=0.91 2=0.92", 0},
    {RB_METRIC_XGBOOST, 0, "round", "validation-rmse", "[2]\ttrain-rmse:8.1e-01\tvalidation-rmse:8.25", "3=8.25", 0},
    {RB_METRIC_AUTO, OF_FORMAT, "iteration", "valid_0-auc",
     "[10]\tvalid_0's auc: 0.641154\tvalid_0's binary_logloss: 0.5\n[20]\tvalid_0's auc: 0.7", "10=0.641154 20=0.7", 0},
    {RB_METRIC_LIGHTGBM, OF_FORMAT, "iteration", "auc", "[10]\tcv_agg's auc: 0.64 + 0.01", "10=0.64", 0},
    {RB_METRIC_AUTO, OF_FORMAT, "epoch", "accuracy",
     "epoch     train_loss  valid_loss  accuracy  time    \n"
     "0         0.612345    0.532       0.78      00:05     \n"
     "1         0.5         None        0.8       00:05     ",
     "4=0.78 5=0.8", 3},
    // what is no report
    {RB_METRIC_AUTO, OF_FORMAT, "epoch", "val_acc",
     "Epoch 3\n[1/2]\n{'epoch': 1.5, 'val_acc': 1}\n5/9 - val_acc: 1\n[]\n{\n[1", "", 0},
    {RB_METRIC_KERAS, OF_FORMAT, "epoch", "val_acc", "epoch=1 val_acc=1", "", 0},
};

static const char mnist[] = "Train Epoch: {resource} [";
static const char mnist_test[] = "Test set: Average loss: {test_loss}, Accuracy: {*} ({acc}%)";
static const char gpt[] = "step {resource}: train loss {train_loss}, val loss {val_loss}";

static const char gpt_lines[] = "iter 3: loss 4.2\nstep 2000: train loss 1.5, val loss 1.75";
static const char mnist_lines[] =
    "Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.3\nTrain Epoch: 1 [640/60000 (1%)]\tLoss: 1\n\n"
    "Test set: Average loss: 0.0625, Accuracy: 9821/10000 (98%)\n"
    "Train Epoch: 2 [0/60000 (0%)]\tLoss: 1\n"
    "Test set: Average loss: 0.05, Accuracy: 9900/10000 (99%)";

static void append_report(void *ctx, const struct rb_metric_line *line)
{
    struct rb_buf *out = ctx;
    if (line->is_report)
        rb_buf_printf(out, "%s%lld=%g", out->len > 0 ? " " : "", (long long)line->resource, line->metric);
}

static void feed(struct rb_metric_reader *r, const char *lines, struct rb_buf *out)
{
    for (const char *p = lines;;) {
        const char *end = strchrnul(p, '\n');
        rb_metric_reader_line(r, p, (size_t)(end - p), append_report, out);
        if (!*end)
            return;
        p = end + 1;
    }
}

static void check_output(const struct rb_report_form *form, const struct reader_case *c)
{
    struct rb_buf out = RB_BUF_INIT;
    struct rb_metric_reader *r = rb_metric_reader_new(
        &(struct rb_metric_reader_config){.form = form, .unit = c->unit, .metric_name = c->metric, .start = c->start});
    feed(r, c->lines, &out);
    rb_metric_reader_end(r, append_report, &out);
    assert_string_equal(rb_buf_str(&out), c->reports);
    rb_metric_reader_free(r);
    rb_buf_finish(&out);
}

static void formats_of_output_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof output_cases / sizeof output_cases[0]; i++) {
        const struct rb_report_form form = {.format = output_cases[i].format, .base = output_cases[i].base};
        check_output(&form, &output_cases[i]);
    }
}

static void patterns_find_the_unit_and_the_metric(void **state)
{
    (void)state;
    static const char *const two[] = {mnist, mnist_test}, *const one[] = {gpt};
    const struct rb_report_form of_two = {.base = OF_FORMAT, .patterns = {two, 2}},
                                of_one = {.base = OF_FORMAT, .patterns = {one, 1}};
    check_output(&of_two,
                 &(struct reader_case){
                     .unit = "epoch", .metric = "test_loss", .lines = mnist_lines, .reports = "1=0.0625 2=0.05"});
    check_output(&of_two,
                 &(struct reader_case){.unit = "epoch", .metric = "acc", .lines = mnist_lines, .reports = "1=98 2=99"});
    check_output(&of_one, &(struct reader_case){
                              .unit = "step", .metric = "val_loss", .lines = gpt_lines, .reports = "2000=1.75"});
}

struct pattern_case {
    const char *pattern, *line;
    int n; // captures; -1: no match
    double first;
};

static const struct pattern_case pattern_cases[] = {
    {"loss {x}", "the loss   -1.5e-3 is", 1, -1.5e-3},
    {"loss {x}", "loss nan", 1, NAN},
    {"loss {x}", "loss -inf", 1, -INFINITY},
    {"acc {x}", "acc 87.5%", 1, 0.875},
    {"acc ({x}%)", "acc (87.5%)", 1, 87.5},
    {"{{{x}}}", "{7}", 1, 7},
    {"a{*}b{*}c {x}", "a b b c 1 c 2", 1, 1},
    {"a{*}b {x}", "a c", -1, 0},
    {"x={x}", "x=abc", -1, 0},
    {"x={x}", "x=", -1, 0},
    {"x={x}", "x=.", -1, 0},
    {"x={x}y", "x=1ey", -1, 0},
    {"x={x}e", "x=1e", 1, 1},
    {"{a} {b}", "1 2", 2, 1},
};

static void patterns_match_as_their_header_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pattern_cases / sizeof pattern_cases[0]; i++) {
        const struct pattern_case *c = &pattern_cases[i];
        struct rb_pattern_capture captures[RB_PATTERN_CAPTURES];
        const int n = rb_metric_pattern_match(c->pattern, c->line, strlen(c->line), captures);
        if (n != c->n)
            fail_msg("%s on %s: %d", c->pattern, c->line, n);
        if (n > 0 && !(isnan(c->first) ? isnan(captures[0].value) : captures[0].value == c->first)) // NOLINT: exact
            fail_msg("%s on %s: %g", c->pattern, c->line, captures[0].value);
    }
}

static void wrong_patterns_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",      "no capture", "{",
                                        "}",     "{}",         "{a b}",
                                        "{x} }", "{*}",        "{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}{k}{l}{m}{n}{o}{p}{q}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct rb_err err = {0};
        if (rb_metric_pattern_check(wrong[i], &err) || err.number != RB_E_METRIC_PATTERN)
            fail_msg("%s was not refused", wrong[i]);
    }
    assert_true(rb_metric_pattern_check(mnist_test, NULL));
    assert_true(rb_metric_pattern_check("{{{x}}}", NULL));
}

// --- files ---

// A version record, then accuracy at steps 0 (simple value), 1 (tensor, content) and 2 (tensor, float_val), and a loss.
static const char events[] =
    "\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7f\x4b\x22\x09\x00\x00\x00\xc0\x0b\x5a\xd6\x41\x1a\x0d\x62\x72\x61\x69\x6e"
    "\x2e\x45\x76\x65\x6e\x74\x3a\x32\x4c\xa9\xa4\x64\x1e\x00\x00\x00\x00\x00\x00\x00\xd9\xdc\x12\x32\x09\x00\x00\x00"
    "\xc0\x0b\x5a\xd6\x41\x10\x00\x2a\x11\x0a\x0f\x0a\x08\x61\x63\x63\x75\x72\x61\x63\x79\x15\x00\x00\x00\x3f\xb6\x43"
    "\xa6\xa7\x1a\x00\x00\x00\x00\x00\x00\x00\x12\x9b\xd8\x2d\x09\x00\x00\x00\xc0\x0b\x5a\xd6\x41\x10\x00\x2a\x0d\x0a"
    "\x0b\x0a\x04\x6c\x6f\x73\x73\x15\x00\x00\x00\x40\xeb\x89\x12\xe8\x32\x00\x00\x00\x00\x00\x00\x00\x24\x19\x56\xec"
    "\x09\x00\x00\x00\xc0\x0b\x5a\xd6\x41\x10\x01\x2a\x25\x0a\x23\x0a\x08\x61\x63\x63\x75\x72\x61\x63\x79\x4a\x0b\x0a"
    "\x09\x0a\x07\x73\x63\x61\x6c\x61\x72\x73\x42\x0a\x08\x01\x12\x00\x22\x04\x00\x00\x40\x3f\x41\x76\x78\xae\x23\x00"
    "\x00\x00\x00\x00\x00\x00\xb0\x9f\x77\x43\x09\x00\x00\x00\xc0\x0b\x5a\xd6\x41\x10\x02\x2a\x16\x0a\x14\x0a\x08\x61"
    "\x63\x63\x75\x72\x61\x63\x79\x42\x08\x08\x01\x2a\x04\x00\x00\x60\x3f\xb0\xc2\x4b\xef";

static const char csv[] = "epoch,\"eval_top1\",eval_loss\r\n0,50.5,\r\n1,nan,0.5\r\n";
static const char lightning[] =
    "epoch,step,val_loss\n0,9,\n0,9,0.5\nepoch,step,train_loss,val_loss\n0,9,,0.5\n1,19,0.1,0.25";

static const char words[] = "epoch=1 val_acc=0.5\n{\"epoch\":2,\"val_acc\":1}";

struct file_case {
    enum rb_metric_format format;
    int base;
    const char *metric, *name, *bytes;
    size_t n;
    const char *reports;
};

static const struct file_case file_cases[] = {
    {RB_METRIC_CSV, 0, "eval_top1", "", csv, sizeof csv - 1, "1=50.5 2=nan"},
    {RB_METRIC_CSV, 0, "eval_loss", "", csv, sizeof csv - 1, "2=0.5"},
    {RB_METRIC_LIGHTNING, OF_FORMAT, "val_loss", "", lightning, sizeof lightning - 1, "1=0.5 1=0.5 2=0.25"},
    {RB_METRIC_TENSORBOARD, 0, "test/accuracy", "test/events.out.tfevents.1.h", events, sizeof events - 1,
     "1=0.5 2=0.75 3=0.875"},
    {RB_METRIC_TENSORBOARD, 0, "accuracy", "events.out.tfevents.1.h", events, sizeof events - 1,
     "1=0.5 2=0.75 3=0.875"},
    {RB_METRIC_TENSORBOARD, 0, "accuracy", "test/events.out.tfevents.1.h", events, sizeof events - 1, ""},
    {RB_METRIC_AUTO, OF_FORMAT, "val_acc", "", words, sizeof words - 1, "1=0.5 2=1"},
};

static void check_file(const struct file_case *c, size_t split)
{
    struct rb_buf out = RB_BUF_INIT;
    const struct rb_report_form form = {.format = c->format, .base = c->base, .file = "x"};
    struct rb_metric_reader *r = rb_metric_reader_new(
        &(struct rb_metric_reader_config){.form = &form, .unit = "epoch", .metric_name = c->metric});
    rb_metric_reader_file(r, c->name, "epoch,old\n", c->format == RB_METRIC_CSV ? 10 : 0, append_report, &out);
    rb_metric_reader_file_restart(r, c->name);
    rb_metric_reader_file(r, c->name, c->bytes, split, append_report, &out);
    rb_metric_reader_file(r, c->name, c->bytes + split, c->n - split, append_report, &out);
    rb_metric_reader_end(r, append_report, &out);
    if (strcmp(rb_buf_str(&out), c->reports) != 0)
        fail_msg("%s, split at %zu: %s", c->metric, split, rb_buf_str(&out));
    rb_metric_reader_free(r);
    rb_buf_finish(&out);
}

static void files_give_the_same_reports_however_they_are_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof file_cases / sizeof file_cases[0]; i++)
        for (size_t split = 0; split <= file_cases[i].n; split++)
            check_file(&file_cases[i], split);
}

static void a_damaged_event_file_ends_there(void **state)
{
    (void)state;
    char damaged[sizeof events];
    for (size_t i = 0; i < sizeof events - 1; i++) {
        struct rb_buf out = RB_BUF_INIT;
        const struct rb_report_form form = {.format = RB_METRIC_TENSORBOARD, .base = 0, .file = "x"};
        struct rb_metric_reader *r = rb_metric_reader_new(
            &(struct rb_metric_reader_config){.form = &form, .unit = "epoch", .metric_name = "accuracy"});
        memcpy(damaged, events, sizeof events);
        damaged[i] ^= 0x20;
        rb_metric_reader_file(r, "", damaged, sizeof events - 1, append_report, &out);
        static const char whole[] = "1=0.5 2=0.75 3=0.875"; // any record may be missing, none may be wrong
        for (char *word = out.len > 0 ? strtok(out.data, " ") : NULL; word; word = strtok(NULL, " "))
            assert_non_null(strstr(whole, word));
        rb_metric_reader_free(r);
        rb_buf_finish(&out);
    }
}

static void what_was_seen_instead_is_said(void **state)
{
    (void)state;
    struct rb_buf out = RB_BUF_INIT;
    char text[256];
    const struct rb_report_form form = {.base = OF_FORMAT};
    struct rb_metric_reader *r = rb_metric_reader_new(
        &(struct rb_metric_reader_config){.form = &form, .unit = "epoch", .metric_name = "val_acc"});
    assert_string_equal(rb_metric_reader_seen(r, text, sizeof text), "no metric was recognised in its output");
    feed(r, "epoch=1 train_loss=0.5 a\033[0mb=1 \001=3\nEpoch 1/2\n9/9 - 1s - loss: 0.5", &out);
    assert_string_equal(rb_metric_reader_seen(r, text, sizeof text), "metrics seen: train_loss, ab, loss");
    assert_string_equal(rb_metric_reader_seen(r, text, 20), "metrics seen: train");
    feed(r, "epoch=4 val_acc=1", &out);
    assert_non_null(strstr(rb_metric_reader_seen(r, text, sizeof text), "; highest epoch: 4"));
    rb_metric_reader_free(r);
    rb_buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_of_output_are_read),
        cmocka_unit_test(patterns_find_the_unit_and_the_metric),
        cmocka_unit_test(patterns_match_as_their_header_says),
        cmocka_unit_test(wrong_patterns_are_refused),
        cmocka_unit_test(files_give_the_same_reports_however_they_are_split),
        cmocka_unit_test(a_damaged_event_file_ends_there),
        cmocka_unit_test(what_was_seen_instead_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
