// The keys of scripts that were not written for this program: what is refused and why, and which words a script gets.
#include "check.h"

#include "profiles/job/job.h"

struct fixture {
    struct rb_arena arena;
    struct rb_job job;
};

static bool load(struct fixture *f, const char *metric, const char *trial, const char *rest, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf yaml = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    rb_buf_printf(
        &yaml,
        "name: a\nmetric: {name: loss, goal: minimize%s}\n"
        "parameters: {lr: {values: [1.0]}, depth: {values: [3]}, amp: {flag: true, values: [true]}, opt: \"a b\"}\n"
        "scheduler: {type: sha, num_trials: 1, min_resource: 2, max_resource: 9}\ntrial: {%s}\n%s\n",
        metric, trial, rest);
    if (!strstr(rest, "run:"))
        rb_buf_puts(&yaml, "run: python train.py \"$@\"\n");
    doc = parse_yaml(rb_buf_str(&yaml));
    rb_arena_init(&f->arena);
    return rb_job_read(doc.root, NULL, 0, &f->arena, &f->job, err);
}

static void refused(const char *metric, const char *trial, const char *rest, int number, const char *key,
                    const char *words)
{
    struct fixture f;
    struct rb_err err = {0};
    if (load(&f, metric, trial, rest, &err))
        fail_msg("accepted: metric %s, trial %s, %s", metric, trial, rest);
    assert_int_equal(rb_err_number(&err), number);
    assert_string_equal(err.key, key);
    assert_says(&err, words);
    rb_arena_finish(&f.arena);
}

static struct fixture loaded(const char *metric, const char *trial, const char *rest)
{
    struct fixture f;
    struct rb_err err = {0};
    if (!load(&f, metric, trial, rest, &err))
        fail_msg("%s: %s", err.key, err.message);
    return f;
}

static struct rb_args_order order_of(struct fixture *f, const char *resume)
{
    struct rb_value *values = rb_arena_array(&f->arena, 4, sizeof *values);
    rb_space_sample(&f->job.space, f->job.seed, 0, values);
    return (struct rb_args_order){.job = &f->job,
                                  .values = values,
                                  .start = 2,
                                  .end = 6,
                                  .seed = 77,
                                  .gpus = 4,
                                  .nodes = 2,
                                  .checkpoint = "/c",
                                  .resume = resume};
}

static void gives(const char *args, const char *resume, const char *expected)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    RB_AUTO(rb_buf_finish) struct rb_buf trial = RB_BUF_INIT, got = RB_BUF_INIT;
    rb_arena_init(&arena);
    rb_buf_printf(&trial, "args: {%s}", args);
    struct fixture f = loaded("", rb_buf_str(&trial), "");
    const struct rb_args_order order = order_of(&f, resume);
    const struct rb_string_list words = rb_trial_args_render(&order, &arena);
    for (int i = 0; i < words.n; i++)
        rb_buf_printf(&got, "[%s]", words.items[i]);
    assert_string_equal(rb_buf_str(&got), expected);
    rb_arena_finish(&f.arena);
}

static void test_styles_of_parameters(void **state)
{
    (void)state;
    gives("", NULL, "[--lr=1.0][--depth=3][--amp][--opt=a b]");
    gives("style: space", NULL, "[--lr][1.0][--depth][3][--amp][--opt][a b]");
    gives("style: bare", NULL, "[lr=1.0][depth=3][amp=True][opt=a b]");
    gives("style: pairs, rename: {lr: SOLVER.BASE_LR}", NULL, "[SOLVER.BASE_LR][1.0][depth][3][amp][True][opt][a b]");
    gives("switches: {amp: [--fp16, --no-fp16]}, rename: {opt: optim.name}", NULL,
          "[--lr=1.0][--depth=3][--fp16][--optim.name=a b]");
}

static void test_words_of_a_start(void **state)
{
    (void)state;
    static const char parameters[] = "[--lr=1.0][--depth=3][--amp][--opt=a b]";
    char expected[300];
    const char *args = "fixed: [--x, \"{{n}}\", 5], start: \"--from={start}\", end: \"--epochs={end}/{max}\", "
                       "seed: \"--seed={seed}\", gpus: \"--gpus={gpus}\", nodes: \"--nodes={nodes}\", "
                       "checkpoint: \"--out={checkpoint}/o\", resume: [--resume, \"{resume}/a\", \"{resume:c-*}/x\"]";
    const char *first = "[--x][{n}][5][--from=2][--epochs=6/9][--seed=77][--gpus=4][--nodes=2][--out=/c/o]";
    snprintf(expected, sizeof expected, "%s%s", first, parameters);
    gives(args, NULL, expected);
    snprintf(expected, sizeof expected, "%s[--resume][/r/a][/r/c-*/x]%s", first, parameters);
    gives(args, "/r", expected);
    gives("file: {path: h.yaml, base: b.yaml}, fixed: \"--hyp={file}\"", NULL, "[--hyp=/c/h.yaml]");
}

static void test_the_same_words_in_sh(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf got = RB_BUF_INIT, values = RB_BUF_INIT;
    struct fixture f = loaded("",
                              "args: {fixed: \"it's\", gpus: \"{gpus}\", checkpoint: \"--out={checkpoint}/o\", "
                              "resume: [\"{resume}\", \"--r={resume:c-*}\"], switches: {amp: [\"\", \"\"]}}",
                              "");
    struct rb_args_order order = order_of(&f, "");
    rb_trial_args_shell(&order, &got);
    assert_string_equal(rb_buf_str(&got),
                        "'it'\\''s' \"$RB_GPUS_PER_NODE\" '--out='\"$RB_CHECKPOINT_DIR\"'/o' \"$RB_RESUME_FROM\" "
                        "'--r='\"$(newest 'c-*')\" '--lr=1.0' '--depth=3' '--opt=a b'");
    rb_trial_args_file(&order, &values);
    assert_string_equal(rb_buf_str(&values), "lr 1.0\ndepth 3\namp true\nopt \"a b\"\n");
    rb_arena_finish(&f.arena);
}

static void test_what_args_refuse(void **state)
{
    (void)state;
    refused("", "args: {end: \"--n={epochs}\"}", "", RB_E_ARGS_WORD, "trial.args.end", "{epochs} is not a word");
    refused("", "args: {end: \"--n={end\"}", "", RB_E_ARGS_WORD, "trial.args.end", "{end is not a word");
    refused("", "args: {end: \"--n=}\"}", "", RB_E_ARGS_WORD, "trial.args.end", "} is not a word");
    refused("", "args: {fixed: [a, \"{resume}\"]}", "", RB_E_ARGS_WORD, "trial.args.fixed[1]", "no meaning on a first");
    refused("", "args: {fixed: \"{file}\"}", "", RB_E_ARGS_WORD, "trial.args.fixed", "give args.file");
    refused("", "args: {resume: a}", "checkpoint: {resume: false}", RB_E_ARGS_WORD, "trial.args.resume", "never used");
    refused("", "args: {}", "run: python train.py $RB_ARGS", RB_E_ARGS_UNUSED, "trial.args", "in place of $RB_ARGS");
    refused("", "args: {}", "run: python train.py", RB_E_ARGS_UNUSED, "trial.args", "write \"$@\"");
    refused("", "args: {rename: {lrr: x}}", "", RB_E_ARGS_PARAMETER, "trial.args.rename.lrr", "not one of");
    refused("", "args: {switches: {lr: [a, b]}}", "", RB_E_ARGS_PARAMETER, "trial.args.switches.lr", "true or false");
    refused("", "args: {switches: {amp: [a]}}", "", RB_E_TYPE_WRONG, "trial.args.switches.amp", "two words");
    refused("", "args: {style: dashes}", "", RB_E_CHOICE, "trial.args.style", "eq");
    refused("", "args: {file: {path: ../x, base: b}}", "", RB_E_TEXT_FORM, "trial.args.file.path", "inside");
    refused("", "args: {end: {a: b}}", "", RB_E_TYPE_WRONG, "trial.args.end", "quotes");
}

static void test_what_metric_refuses(void **state)
{
    (void)state;
    refused(", format: csv", "", "", RB_E_METRIC_FORM, "metric.format", "add `file`");
    refused(", format: tensorboard", "", "", RB_E_METRIC_FORM, "metric.format", "{checkpoint}/logs");
    refused(", format: keras, pattern: \"{loss}\"", "", "", RB_E_METRIC_FORM, "metric.pattern", "remove one");
    refused(", format: csv, file: metrics.csv", "", "", RB_E_METRIC_FORM, "metric.file", "share the work directory");
    refused(", format: csv, file: \"{checkpoint}/{resume}\"", "", "", RB_E_ARGS_WORD, "metric.file", "first start");
    refused(", pattern: [\"loss\"]", "", "", RB_E_METRIC_PATTERN, "metric.pattern[0]", "");
    refused(", base: 2", "", "", RB_E_OUT_OF_RANGE, "metric.base", "");
    refused("", "", "checkpoint: {files: [/tmp/x]}", RB_E_CHECKPOINT_FILES, "checkpoint.files[0]", "checkpoint folder");
    refused("", "", "checkpoint: {files: ../x}", RB_E_CHECKPOINT_FILES, "checkpoint.files", "**");
}

static void test_defaults(void **state)
{
    (void)state;
    struct fixture f = loaded("", "", "");
    assert_true(f.job.form.format == RB_METRIC_AUTO && !f.job.form.file &&
                f.job.form.base == RB_METRIC_BASE_OF_FORMAT && f.job.form.patterns.n == 0);
    assert_true(f.job.trial.stop == RB_STOP_SELF && !f.job.trial.args.given && !f.job.in_place && !f.job.starts_over &&
                f.job.checkpoint_files.n == 0);
    rb_arena_finish(&f.arena);
    f = loaded(", format: lightning", "stop: saved", "checkpoint: {files: \"**\"}");
    assert_string_equal(f.job.form.file, "{checkpoint}/lightning_logs/version_*/metrics.csv");
    assert_true(f.job.trial.stop == RB_STOP_SAVED && f.job.checkpoint_files.n == 0);
    rb_arena_finish(&f.arena);
}

static void written(const struct rb_job *job, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_job_write(job, &j);
}

static void test_the_keys_are_written_and_read_back(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"", "", ""},
        {", format: csv, file: \"{checkpoint}/a\", base: 0", "stop: saved",
         "checkpoint: {in_place: true, files: [a, b]}"},
        {", pattern: [\"a {loss}\", \"b {resource}\"]",
         "args: {style: pairs, switches: {amp: [a, \"\"]}, rename: {lr: x}, file: {path: p, base: b}, fixed: [a, a], "
         "end: \"{end}\", resume: \"{resume:x*}\"}",
         ""},
        {"", "args: {}", "checkpoint: {resume: false}"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT, again = RB_BUF_INIT;
        RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
        struct fixture f = loaded(cases[i][0], cases[i][1], cases[i][2]);
        struct rb_job back;
        written(&f.job, &text);
        doc = parse_json(rb_buf_str(&text));
        assert_true(rb_job_read(doc.root, NULL, 0, &f.arena, &back, NULL));
        written(&back, &again);
        assert_string_equal(rb_buf_str(&text), rb_buf_str(&again));
        assert_true(back.form.format == f.job.form.format && back.form.base == f.job.form.base &&
                    back.trial.args.given == f.job.trial.args.given && back.starts_over == f.job.starts_over &&
                    back.in_place == f.job.in_place && back.trial.stop == f.job.trial.stop);
        rb_arena_finish(&f.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_styles_of_parameters),
        cmocka_unit_test(test_words_of_a_start),
        cmocka_unit_test(test_the_same_words_in_sh),
        cmocka_unit_test(test_what_args_refuse),
        cmocka_unit_test(test_what_metric_refuses),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_the_keys_are_written_and_read_back),
    };
    return cmocka_run_group_tests_name("job_args", tests, NULL, NULL);
}
