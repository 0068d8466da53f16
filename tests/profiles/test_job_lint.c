// Warnings about jobs: where each stands and which number it has, and that no command harms, however it ends. What they say is
// in tests/cli/cases/rbplan_lint.txt.
#include "base/text/buf.h"
#include "profiles/lint/job_lint.h"

#include "check.h"

#include <string.h>

#define HEAD "name: x\nmetric: {name: acc, goal: maximize}\nscheduler: {type: sha, num_trials: 4, max_resource: 4}\n"

// number@line:column of each.
static void lint(const char *yaml, struct rb_buf *out)
{
    struct rb_doc doc = parse_yaml(yaml);
    struct rb_arena arena;
    struct rb_job job;
    struct rb_job_warnings warnings;
    struct rb_err err = {0};
    rb_arena_init(&arena);
    if (!rb_job_read(doc.root, NULL, 0, &arena, &job, &err))
        fail_msg("%s: %s", err.key, err.message);
    rb_job_lint(&job, doc.root, yaml, RB_SOURCE_ROOT "/tests/cli/scripts/job.yaml", &arena, &warnings);
    for (int i = 0; i < warnings.n; i++)
        rb_buf_printf(out, "%d@%d:%d ", rb_err_number(&warnings.items[i]), warnings.items[i].line,
                      warnings.items[i].column);
    rb_arena_finish(&arena);
    rb_doc_finish(&doc);
}

static void each_has_its_place(void **unused)
{
    (void)unused;
    static const struct {
        const char *yaml, *warnings;
    } cases[] = {
        {"run: python3 mnist.py $RB_ARGS\n", ""},
        {"run: python3 mnits.py $RB_ARGS\n", "1225@4:14 "},
        {"run: \"python3 mnist.py \\\"$RB_ARGS\\\" $RB_X\"\n",
         "1230@4:6 1226@4:37 "}, // escaped: the place of the value
        {"run: >-\n  python3 mnist.py\n  $RB_TRIAL\n", "1226@6:3 "},
        {"run: python3 mnist.py $RB_ARGS --epochs $RB_RESOURCE_END\nparameters: {lr: 0.1, batch-size: 64, gamma: "
         "0.7}\n",
         ""},
        {"run: python3 mnist.py $RB_ARGS\nparameters: {lr: 0.1, batch_size: 64}\n", "1227@5:23 "},
        {"run: python3 mnist.py $RB_ARGS\nparameters: {ep: 3, dry-run: {flag: true}}\n",
         ""}, // argparse takes the beginning
        {"run: python3 mnist.py $RB_ARGS\nparameters: {epochs: 2.5}\n", "1227@5:14 "},
        {"run: python3 click_options.py $RB_ARGS\nparameters: {optimizer: {values: [adam, lion]}}\n",
         "1266@2:10 1227@5:14 "},
        {"run: python3 nanogpt.py $RB_ARGS\nparameters: {dropout: 0.5, depth: 3}\n", "1227@5:28 "},
        {"run: python3 hf_trainer.py $RB_ARGS\nparameters: {anything: 1}\n", ""},
        {"run: python3 mnist.py\nparameters: {lr: 0.1}\n", "1228@4:6 "},
        {"run: python3 contract.py\nparameters: {lr: 0.1}\n", "1266@2:10 1228@4:6 "}, // it prints val/f1
        {"run: python3 mnist.py --lr $RB_PARAM_LR\nparameters: {lr: 0.1}\n", ""},
        {"run: python3 mnist.py --lr $RB_PARAM_LRS\nparameters: {lr: 0.1}\n", "1226@4:28 "},
        {"run: \"true\"\nparameters: {a: {values: [16, 64 128]}, b: {values: [auto, 16]}, c: {values: [a, b 1]}}\n",
         "1229@5:31 "},
        {"run: python3 mnist.py TODO_data\n", "1231@4:23 "},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char yaml[600];
        struct rb_buf got = RB_BUF_INIT;
        snprintf(yaml, sizeof yaml, "%s%s", HEAD, cases[i].yaml);
        lint(yaml, &got);
        if (strcmp(rb_buf_str(&got), cases[i].warnings) != 0)
            fail_msg("%s: expected %s, got %s", cases[i].yaml, cases[i].warnings, rb_buf_str(&got));
        rb_buf_finish(&got);
    }
}

static void many_warnings_are_cut(void **unused)
{
    (void)unused;
    struct rb_buf yaml = RB_BUF_INIT, got = RB_BUF_INIT;
    rb_buf_puts(&yaml, HEAD "run: python3");
    for (int i = 0; i < 500; i++)
        rb_buf_printf(&yaml, " $RB_X%d TODO_%d", i, i);
    rb_buf_puts(&yaml, "\n");
    lint(rb_buf_str(&yaml), &got);
    assert_true(got.len > 100 && got.len < 2000);
    rb_buf_finish(&yaml);
    rb_buf_finish(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_place),
        cmocka_unit_test(many_warnings_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
