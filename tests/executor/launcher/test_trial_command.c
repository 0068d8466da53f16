// A configuration as a command: what is pasted into a shell starts the script with exactly the trial's parameters.
#include "executor/launcher/trial_command.h"

#include "base/errors/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

// With one value each, every trial has the same configuration.
static const char job_text[] = "name: c\nmetric: {name: m, goal: maximize}\n"
                               "parameters: {lr: {values: [0.25]}, note: {values: [\"it's $HOME\"]}}\n"
                               "scheduler: {type: sha, num_trials: 9, max_resource: 27, eta: 3, unit: epoch}\n"
                               "trial: {gpus: {min: 1, max: 1}, timeout: 1m}\nprofile: p\ncheckpoint: {dir: ckpt}\n"
                               "resources: {infra: [local], max_nodes: 1}\nenvs: {DATA: \"a b\"}\nrun: |\n  ";

static void command_of(const char *run, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_arena arena;
    struct rb_job job;
    struct rb_err err = {0};
    rb_arena_init(&arena);
    rb_buf_printf(&text, "%s", job_text);
    for (; *run; run++)
        rb_buf_puts(&text, *run == '\n' ? "\n  " : (char[]){*run, '\0'});
    rb_buf_putc(&text, '\n');
    struct rb_doc doc;
    if (!rb_doc_parse_yaml(&doc, "job.yaml", rb_buf_str(&text), text.len, &err) ||
        !rb_job_read(doc.root, NULL, 0, &arena, &job, &err))
        fail_msg("%s", err.message);
    rb_doc_finish(&doc);
    rb_trial_command_write(&job, 3, NULL, out);
    rb_arena_finish(&arena);
}

static void the_parameters_stand_in_the_command(void **state)
{
    (void)state;
#define ARGS "--lr=0.25 '--note=it'\\''s $HOME'"
#define ALL \
    "RB_PARAM_LR=0.25 RB_PARAM_NOTE='it'\\''s $HOME' RB_ARGS='--lr=0.25 '\\''--note=it'\\''\\'\\'''\\''s $HOME'\\''' "
    static const char *const cases[][2] = {
        {"python train.py $RB_ARGS", "python train.py " ARGS},
        {"python train.py ${RB_ARGS} --fast", "python train.py " ARGS " --fast"},
        {"cd src && python train.py $RB_ARGS", "cd src && python train.py " ARGS},
        {"python train.py $RB_ARGS --epochs $RB_RESOURCE_END",
         "RB_RESOURCE_END=27 sh -c 'python train.py --lr=0.25 '\\''--note=it'\\''\\'\\'''\\''s $HOME'\\'' --epochs "
         "$RB_RESOURCE_END'"},
        {"python train.py $RB_ARGSX $RB_ARGS", "python train.py $RB_ARGSX " ARGS},
        {"sh train.sh", ALL "sh train.sh"},
        {"sh train.sh --lr=$RB_PARAM_LR", ALL "sh -c 'sh train.sh --lr=$RB_PARAM_LR'"},
        {"python train.py \"$RB_ARGS\"", ALL "sh -c 'python train.py \"$RB_ARGS\"'"},
        {"python train.py $RB_ARGS $DATA",
         "DATA='a b' sh -c 'python train.py --lr=0.25 '\\''--note=it'\\''\\'\\'''\\''s $HOME'\\'' $DATA'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
        command_of(cases[i][0], &command);
        assert_string_equal(rb_buf_str(&command), cases[i][1]);
    }
}

// A real shell, a script that prints its words and variables.
static void a_shell_takes_it_as_it_is(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"printf '[%s]' $RB_ARGS", "[--lr=0.25][--note=it's $HOME]"},
        {"printf '[%s]' $RB_ARGS $RB_RESOURCE_END", "[--lr=0.25][--note=it's $HOME][27]"},
        {"for v in \"$RB_PARAM_NOTE\" \"$RB_PARAM_LR\"\ndo printf '[%s]' \"$v\"\ndone", "[it's $HOME][0.25]"},
        {"sh -c 'printf \"[%s]\" \"$RB_PARAM_NOTE\"'", "[it's $HOME]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
        char said[256] = {0};
        command_of(cases[i][0], &command);
        FILE *shell = popen(rb_buf_str(&command), "r"); // NOLINT(cert-env33-c): this is what is tested
        assert_non_null(shell);
        assert_true(fread(said, 1, sizeof said - 1, shell) > 0);
        assert_int_equal(pclose(shell), 0);
        assert_string_equal(said, cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parameters_stand_in_the_command),
        cmocka_unit_test(a_shell_takes_it_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
