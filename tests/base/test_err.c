// Errors: what they hold, what is printed, how a command ends; and untrusted text on its way to a terminal.
#include "base/document/doc.h"
#include "base/errors/log.h"

#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void codes_have_the_documented_exit_codes(void **state)
{
    (void)state;
    static const struct {
        enum rb_err_code code;
        int exit_code;
        const char *name;
    } cases[] = {
        {RB_ERR_INVALID, 2, "invalid"},     {RB_ERR_IO, 1, "io"},
        {RB_ERR_NOT_FOUND, 1, "not_found"}, {RB_ERR_INFEASIBLE, 3, "infeasible"},
        {RB_ERR_STOPPED, 4, "stopped"},     {RB_ERR_DENIED, 5, "denied"},
        {RB_ERR_CAPACITY, 6, "capacity"},   {RB_ERR_PRICE, 7, "price"},
        {RB_ERR_THROTTLED, 1, "throttled"}, {RB_ERR_UNKNOWN_OUTCOME, 1, "unknown_outcome"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_err err;
        assert_false(rb_err_set(&err, cases[i].code, "x"));
        assert_int_equal(rb_err_exit_code(&err), cases[i].exit_code);
        assert_string_equal(rb_err_code_name(cases[i].code), cases[i].name);
    }
}

static void numbers_decide_the_class(void **state)
{
    (void)state;
    struct rb_err err = {0};
    rb_err_set(&err, RB_E_FILE_MISSING, "x");
    assert_int_equal(err.code, RB_ERR_NOT_FOUND);
    assert_int_equal(rb_err_number(&err), RB_E_FILE_MISSING);
    rb_err_set(&err, RB_ERR_PRICE, "a class stands for its general number");
    assert_int_equal(err.code, RB_ERR_PRICE);
    assert_int_equal(rb_err_number(&err), RB_E_ANY_PRICE);
    const struct rb_err by_hand = {.code = RB_ERR_IO, .message = "x"};
    assert_int_equal(rb_err_number(&by_hand), RB_E_ANY_IO);
    rb_err_set_at(&err, RB_E_KEY_UNKNOWN, (struct rb_place){"job.yaml", 3, 9}, "a.b", "x");
    rb_err_renumber(&err, RB_E_OUTCOME_UNKNOWN);
    assert_int_equal(err.code, RB_ERR_UNKNOWN_OUTCOME);
    assert_int_equal(rb_err_number(&err), RB_E_OUTCOME_UNKNOWN);
    assert_string_equal(err.key, "a.b");
    assert_int_equal(err.line, 3);
    rb_err_set(&err, RB_ERR_NONE, "of a table in which some answers are no errors");
    assert_int_equal(err.code, RB_ERR_NONE);
}

static void prefixes_pile_up_and_keep_the_place(void **state)
{
    (void)state;
    struct rb_err err;
    rb_err_set_at(&err, RB_ERR_INVALID, (struct rb_place){"plan.json", 3, 9}, "stages[2]", "expected %d", 1);
    assert_false(rb_err_prefix(&err, "cannot resume %s", "r1"));
    assert_false(rb_err_prefix(&err, "rbrun"));
    assert_string_equal(err.message, "rbrun: cannot resume r1: expected 1");
    assert_int_equal(err.line, 3);
    assert_string_equal(err.key, "stages[2]");
    assert_false(rb_err_prefix(NULL, "x"));
    assert_false(rb_err_set(NULL, RB_ERR_IO, "x"));
    rb_err_set(&err, RB_ERR_IO, "again: %s", err.message); // an error made of itself
    assert_string_equal(err.message, "again: rbrun: cannot resume r1: expected 1");
    assert_string_equal(err.file, "");
}

static void long_and_hostile_text_stays_one_valid_line(void **state)
{
    (void)state;
    char text[2000];
    memset(text, 'x', sizeof text);
    memcpy(text, "a\nb\x1b[31m\x7f", 9);
    text[sizeof text - 1] = '\0';
    struct rb_err err;
    rb_err_set(&err, RB_ERR_INVALID, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_memory_equal(err.message, "a?b?[31m?", 9);
    for (int i = 0; i < 20; i++)
        rb_err_prefix(&err, "%.100s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    // 767 bytes do not hold a whole number of two-byte characters: the half one goes.
    for (size_t i = 0; i < 1000; i++)
        memcpy(text + 2 * i, "\xc3\xa9", 2);
    text[1998] = '\0';
    rb_err_set(&err, RB_ERR_INVALID, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 2);
    // ... and 255 bytes a whole number of three-byte ones: none goes.
    for (size_t i = 0; i < 600; i++)
        memcpy(text + 3 * i, "\xe2\x82\xac", 3);
    text[1800] = '\0';
    rb_err_set_at(&err, RB_ERR_INVALID, (struct rb_place){.file = text}, NULL, "x");
    assert_int_equal(strlen(err.file), sizeof err.file - 1);
}

// Runs the printer with the stream `fd` sent to a file, and returns what was printed.
static char *printed(const struct rb_err *err, bool json, int fd, char *text, size_t size)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    const int saved = dup(fd);
    dup2(fileno(file), fd);
    rb_err_print(err, "rbplan", json);
    fflush(stdout);
    dup2(saved, fd);
    close(saved);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void lines_name_file_line_column_and_key(void **state)
{
    (void)state;
    char text[1024];
    struct rb_err err;
    rb_err_set_at(&err, RB_ERR_INVALID, (struct rb_place){"job.yaml", 3, 9}, "scheduler.etta", "unknown key");
    assert_string_equal(printed(&err, false, STDERR_FILENO, text, sizeof text),
                        "rbplan: job.yaml:3:9: scheduler.etta: unknown key [RB1001]\n");
    rb_err_set_at(&err, RB_E_CSV_SYNTAX, (struct rb_place){"x.csv", 3, 0}, NULL, "ragged");
    assert_string_equal(printed(&err, false, STDERR_FILENO, text, sizeof text), "rbplan: x.csv:3: ragged [RB1131]\n");
    rb_err_set(&err, RB_ERR_IO, "no route");
    assert_string_equal(printed(&err, false, STDERR_FILENO, text, sizeof text), "rbplan: no route [RB1002]\n");
}

static void json_has_every_field(void **state)
{
    (void)state;
    char text[1024];
    struct rb_err err;
    rb_err_set_at(&err, RB_E_KEY_UNKNOWN, (struct rb_place){"job.yaml", 3, 9}, "a.b", "got \"x\"");
    assert_string_equal(
        printed(&err, true, STDOUT_FILENO, text, sizeof text),
        "{\"format\":\"rb-error/1\",\"code\":\"invalid\",\"number\":\"RB1112\",\"message\":\"got \\\"x\\\"\","
        "\"remedy\":\"Use the name that the message suggests, or remove the key.\","
        "\"file\":\"job.yaml\",\"line\":3,\"column\":9,\"key\":\"a.b\"}\n");
    rb_err_set(&err, RB_ERR_CAPACITY, "none left");
    assert_string_equal(
        printed(&err, true, STDOUT_FILENO, text, sizeof text),
        "{\"format\":\"rb-error/1\",\"code\":\"capacity\",\"number\":\"RB1007\",\"message\":\"none left\","
        "\"remedy\":\"Try later, or allow other resources.instance_types or resources.infra.\","
        "\"file\":null,\"line\":null,\"column\":null,\"key\":null}\n");
}

static void untrusted_text_cannot_drive_a_terminal(void **state)
{
    (void)state;
    char out[16];
    assert_string_equal(rb_log_sanitise("a\x1b[2Jb\r\n\x9b\0c", 11, out, sizeof out), "a?[2Jb????c");
    assert_string_equal(rb_log_sanitise("\xc3\xa9\xc2\x9b\xc2\xa0\x7f", 7, out, sizeof out), "\xc3\xa9?\xc2\xa0?");
    assert_string_equal(rb_log_sanitise("ab\xc3\xa9", 4, out, 4), "ab"); // no half characters
    assert_string_equal(rb_log_sanitise("0123456789abcdefgh", 18, out, sizeof out), "0123456789abcde");
    assert_string_equal(rb_log_sanitise("", 0, out, 1), "");
}

static void traces_are_chosen_by_whole_words(void **state)
{
    (void)state;
    setenv("RB_TRACE", "planner,provider", 1);
    assert_true(rb_trace_on("planner"));
    assert_true(rb_trace_on("provider"));
    assert_false(rb_trace_on("plan"));
    assert_false(rb_trace_on("planners"));
    assert_false(rb_trace_on("executor"));
    unsetenv("RB_TRACE");
    assert_false(rb_trace_on("planner"));
}

static void colour_needs_a_terminal_and_permission(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_false(rb_colour(fileno(file)));
    fclose(file);
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || !isatty(terminal)) {
        print_message("no pseudo-terminal can be had here\n");
        skip();
    }
    assert_true(rb_colour(terminal));
    setenv("NO_COLOR", "1", 1);
    assert_false(rb_colour(terminal));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    assert_false(rb_colour(terminal));
    close(terminal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_have_the_documented_exit_codes),
        cmocka_unit_test(numbers_decide_the_class),
        cmocka_unit_test(prefixes_pile_up_and_keep_the_place),
        cmocka_unit_test(long_and_hostile_text_stays_one_valid_line),
        cmocka_unit_test(lines_name_file_line_column_and_key),
        cmocka_unit_test(json_has_every_field),
        cmocka_unit_test(untrusted_text_cannot_drive_a_terminal),
        cmocka_unit_test(traces_are_chosen_by_whole_words),
        cmocka_unit_test(colour_needs_a_terminal_and_permission),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
