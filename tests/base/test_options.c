// Command lines: forms, checks, mistakes and what is said about them, help.
#include "base/options.h"

#include "base/document/doc.h"

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct rb_option options[] = {
    {.name = "deadline", .type = RB_OPT_DURATION, .metavar = "D", .help = "finish within D"},
    {.name = "budget", .type = RB_OPT_MONEY, .metavar = "USD", .help = "spend at most USD"},
    {.name = "confidence", .type = RB_OPT_DOUBLE, .metavar = "P", .help = "0.5 to 0.999", .min = 0.5, .max = 0.999},
    {.name = "seed", .letter = 'n', .type = RB_OPT_INT, .metavar = "N", .help = "seed", .min = 0, .max = 100},
    {.name = "any", .type = RB_OPT_INT, .help = "any whole number"},
    {.name = "out", .letter = 'o', .type = RB_OPT_STRING, .metavar = "FILE", .help = "where the plan goes"},
    {.name = "what-if", .type = RB_OPT_STRING, .repeatable = true, .metavar = "K=V", .help = "also try K=V"},
    {.name = "json", .type = RB_OPT_FLAG, .help = "print JSON"},
    {0},
};

static const struct rb_subcommand subcommands[] = {
    {"diff", "compares \"two\"", NULL},
    {"--many", "several at once", NULL},
    {0},
};

static const struct rb_command command = {
    .name = "rbplan",
    .usage = "[options] JOB.yaml",
    .summary = "Finds the cheapest plan.",
    .examples = "  rbplan --deadline 2h job.yaml\n",
    .options = options,
    .min_args = 1,
    .max_args = 2,
    .subcommands = subcommands,
};

// Splits at spaces; argv[0] is the command. The words live in a static buffer.
static bool parse(struct rb_args *a, const char *line, struct rb_err *err)
{
    static char words[256];
    char *argv[32] = {"rbplan"};
    int argc = 1;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    return rb_args_parse(a, &command, argc, argv, err);
}

static void every_form_is_understood(void **state)
{
    (void)state;
    struct rb_args a;
    struct rb_err err;
    if (!parse(&a,
               "--deadline 2h job.yaml --budget=$18.40 --confidence 0.9 -n 7 -oplan.json --what-if a=1 --json "
               "--what-if=b=2 --any -5 -- --odd",
               &err))
        fail_msg("%s", err.message);
    assert_int_equal(rb_args_duration_us(&a, "deadline", 0), INT64_C(7200000000));
    assert_int_equal(rb_args_money_uusd(&a, "budget", 0), 18400000);
    assert_true(fabs(rb_args_double(&a, "confidence", 0) - 0.9) <= 0);
    assert_int_equal(rb_args_int(&a, "seed", 0), 7);
    assert_int_equal(rb_args_int(&a, "any", 0), -5);
    assert_string_equal(rb_args_string(&a, "out", "-"), "plan.json");
    assert_true(rb_args_flag(&a, "json"));
    assert_string_equal(rb_args_nth(&a, "what-if", 0), "a=1");
    assert_string_equal(rb_args_nth(&a, "what-if", 1), "b=2");
    assert_null(rb_args_nth(&a, "what-if", 2));
    assert_int_equal(a.n_args, 2);
    assert_string_equal(a.args[0], "job.yaml");
    assert_string_equal(a.args[1], "--odd");
    assert_false(a.help);
    rb_args_finish(&a);
}

static void absent_options_give_the_fallback(void **state)
{
    (void)state;
    struct rb_args a;
    assert_true(parse(&a, "-", NULL)); // a lone dash is an argument: standard input
    assert_string_equal(a.args[0], "-");
    assert_int_equal(rb_args_duration_us(&a, "deadline", -1), -1);
    assert_int_equal(rb_args_money_uusd(&a, "budget", -1), -1);
    assert_int_equal(rb_args_int(&a, "seed", 42), 42);
    assert_true(rb_args_double(&a, "confidence", 0.95) > 0.9);
    assert_null(rb_args_string(&a, "out", NULL));
    assert_false(rb_args_flag(&a, "json"));
    assert_null(rb_args_nth(&a, "what-if", 0));
    rb_args_finish(&a);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"--budgte 3 job.yaml", "unknown option --budgte; did you mean --budget? (see rbplan --help)"},
        {"--budgte=3 job.yaml", "did you mean --budget?"},
        {"--zzzzzzz job.yaml", "unknown option --zzzzzzz (see"},
        {"-x job.yaml", "unknown option -x"},
        {"--hlep", "did you mean --help?"},
        {"--dead 2h job.yaml", "unknown option --dead"}, // no abbreviations: they break when options are added
        {"--deadline", "--deadline needs a value: --deadline=D"},
        {"--out --json job.yaml", "--out needs a value"},
        {"--json=yes job.yaml", "--json takes no value"},
        {"--seed 1 --seed 2 job.yaml", "--seed is given twice"},
        {"--json --json job.yaml", "--json is given twice"},
        {"--deadline 90 job.yaml", "--deadline: the duration \"90\" has no unit"},
        {"--budget -5 job.yaml", "--budget: an amount may not be negative"},
        {"--confidence 1.5 job.yaml", "--confidence: expected a number in 0.5..0.999, got \"1.5\""},
        {"--confidence nan job.yaml", "expected a number in"},
        {"--confidence=0,9 job.yaml", "expected a number in"},
        {"--seed 101 job.yaml", "--seed: expected a whole number in 0..100, got \"101\""},
        {"--seed 1.5 job.yaml", "expected a whole number"},
        {"--any 9223372036854775808 job.yaml", "--any: expected a whole number, got"},
        {"--seed= job.yaml", "expected a whole number"},
        {"", "an argument is missing; usage: rbplan [options] JOB.yaml"},
        {"a b c", "unexpected argument \"c\""},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_args a = {.n_args = -42};
        struct rb_err err = {0};
        if (parse(&a, cases[i].line, &err))
            fail_msg("accepted %s", cases[i].line);
        assert_says(&err, cases[i].says);
        assert_int_equal(rb_err_exit_code(&err), 2);
        assert_int_equal(a.n_args, -42);
    }
}

static void help_needs_no_arguments(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "--help", "-h", "--seed 7 --help", "a b c --help", "--seed --help", "--sede 7 --help", "--help=json"};
    for (size_t i = 0; i < N_OF(lines); i++) {
        struct rb_args a;
        assert_true(parse(&a, lines[i], NULL));
        assert_true(a.help);
        rb_args_finish(&a);
    }
    struct rb_args a;
    assert_true(parse(&a, "-- --help", NULL));
    assert_false(a.help);
    rb_args_finish(&a);
}

// What is printed to stdout for `line`; [size].
static void help_of(const char *line, char *text, size_t size)
{
    struct rb_args a;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_true(parse(&a, line, NULL));
    fflush(stdout);
    const int saved = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    rb_args_help(&a);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    rb_args_finish(&a);
}

static void help_shows_examples_first_and_every_option(void **state)
{
    (void)state;
    char text[4096];
    help_of("--help", text, sizeof text);
    const char *examples = strstr(text, "Examples:"), *usage = strstr(text, "Usage: rbplan [options] JOB.yaml");
    assert_ptr_equal(examples, text);
    assert_non_null(usage);
    for (const struct rb_option *o = options; o->name; o++) {
        char row[64];
        snprintf(row, sizeof row, "--%s", o->name);
        assert_non_null(strstr(usage, row));
        assert_non_null(strstr(usage, o->help));
    }
    assert_non_null(strstr(text, "  -o, --out FILE"));
    assert_non_null(strstr(text, "  -h, --help"));
    assert_non_null(strstr(text, "      --version"));
    assert_non_null(strstr(text, "  diff        compares \"two\"\n"));
}

static void help_as_json_has_the_whole_table(void **state)
{
    (void)state;
    char text[4096];
    struct rb_doc doc;
    help_of("--help=json", text, sizeof text);
    assert_true(rb_doc_parse_json(&doc, "help", text, strlen(text), NULL));
    const struct rb_node *list = rb_node_member(doc.root, "options"), *o = list->first;
    for (size_t i = 0; options[i].name; i++, o = o->next) {
        const struct rb_node *metavar = rb_node_member(o, "metavar");
        assert_string_equal(rb_node_member(o, "name")->text, options[i].name);
        assert_string_equal(rb_node_member(o, "help")->text, options[i].help);
        assert_int_equal(metavar->kind == RB_NODE_NULL, options[i].type == RB_OPT_FLAG);
        assert_int_equal(rb_node_member(o, "repeatable")->boolean, options[i].repeatable);
    }
    assert_null(o);
    list = rb_node_member(doc.root, "subcommands");
    assert_int_equal(list->n_children, 2);
    assert_string_equal(rb_node_member(list->first, "summary")->text, "compares \"two\"");
    rb_doc_finish(&doc);
}

static void subcommands_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(rb_subcommand_find(&command, "diff"), &subcommands[0]);
    assert_null(rb_subcommand_find(&command, "dif"));
    assert_null(rb_subcommand_find(&(struct rb_command){.name = "none"}, "diff"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_understood),
        cmocka_unit_test(absent_options_give_the_fallback),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(help_needs_no_arguments),
        cmocka_unit_test(help_shows_examples_first_and_every_option),
        cmocka_unit_test(help_as_json_has_the_whole_table),
        cmocka_unit_test(subcommands_are_found_by_name),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
