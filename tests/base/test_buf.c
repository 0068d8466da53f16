// Byte strings, and quoting checked by the shell itself.
#include "base/text/buf.h"

#include "base/arena.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

static void grows_and_stays_terminated(void **state)
{
    (void)state;
    struct rb_buf b = RB_BUF_INIT;
    assert_string_equal(rb_buf_str(&b), "");
    for (int i = 0; i < 10000; i++) {
        rb_buf_printf(&b, "%d,", i % 10);
        assert_int_equal(b.data[b.len], '\0');
    }
    assert_int_equal(b.len, 20000);
    rb_buf_consume(&b, 19998);
    assert_string_equal(b.data, "9,");
    rb_buf_consume(&b, 2);
    assert_string_equal(b.data, "");
    rb_buf_append(&b, "a\0b", 3);
    assert_int_equal(b.len, 3);
    rb_buf_clear(&b);
    assert_string_equal(rb_buf_str(&b), "");
    rb_buf_putc(&b, 'x');
    rb_buf_puts(&b, "yz");
    assert_string_equal(b.data, "xyz");
    rb_buf_finish(&b);
    assert_null(b.data);
    rb_buf_finish(&b);
}

static void the_shell_reads_back_what_was_quoted(void **state)
{
    (void)state;
    static const char *const words[] = {
        "",      "plain", "two words", "it's",      "'",         "''",        "$HOME `id` $(id)", "a\\b",         "\"",
        "*?[a]", "~",     "-n",        "a;b|c&d>e", "new\nline", "tab\there", "!history",         "\xc3\xa9\xff",
    };
    for (size_t i = 0; i < N_OF(words); i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
        rb_buf_puts(&command, "printf '[%s]' ");
        rb_buf_shell_quote(&command, words[i]);
        FILE *shell = popen(command.data, "r");
        assert_non_null(shell);
        char got[128] = "", expected[128];
        const size_t n = fread(got, 1, sizeof got - 1, shell);
        assert_int_equal(pclose(shell), 0);
        got[n] = '\0';
        snprintf(expected, sizeof expected, "[%s]", words[i]);
        assert_string_equal(got, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_stays_terminated),
        cmocka_unit_test(the_shell_reads_back_what_was_quoted),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
