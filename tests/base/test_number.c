// Numbers as text: grammar, exactness, and no locale.
#include "base/text/number.h"

#include "check.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void doubles_follow_the_grammar(void **state)
{
    (void)state;
    static const char *const good[] = {"0", "-1", "+1.5", ".5", "5.", "1e-4", "1E+4", "-0.0", "010", "1e-400"};
    static const char *const bad[] = {"",   "-",     ".",    "e5",    "1e",       "1e+",   "1 ",
                                      " 1", "1,5",   "0x10", "nan",   "inf",      "-inf",  "1_000",
                                      "1f", "1.2.3", "--1",  "1e5.0", "infinity", "1e999", "-1e999"};
    for (size_t i = 0; i < N_OF(good); i++) {
        double v;
        if (!rb_parse_double(good[i], &v))
            fail_msg("refused \"%s\"", good[i]);
    }
    for (size_t i = 0; i < N_OF(bad); i++) {
        double v = 42;
        if (rb_parse_double(bad[i], &v))
            fail_msg("accepted \"%s\"", bad[i]);
        assert_true(v >= 42 && v <= 42); // untouched
    }
    assert_true(rb_is_number("1e999") && !rb_is_number("nan"));
}

static void integers_are_exact_to_the_last_one(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t v;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"+7", true, 7},
        {"007", true, 7},
        {"9007199254740993", true, INT64_C(9007199254740993)}, // 2^53 + 1
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+-1", false, 0},
        {"1.0", false, 0},
        {"1 ", false, 0},
        {"0x1", false, 0},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        int64_t v = -42;
        const bool ok = rb_parse_int(cases[i].text, &v);
        if (ok != cases[i].ok || v != (ok ? cases[i].v : -42))
            fail_msg("\"%s\" gave %d, %" PRId64, cases[i].text, ok, v);
    }
}

static void doubles_are_written_shortest(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1, "1"},
        {0.95, "0.95"},
        {1e-5, "1e-05"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e22, "1e+22"},
        {123456789, "123456789"},
        {-2.5, "-2.5"},
        {5e-324, "4.94065645841247e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char text[32];
        assert_string_equal(rb_format_double(cases[i].v, text), cases[i].text);
    }
}

static void any_double_reads_back(void **state)
{
    (void)state;
    uint64_t bits = 0x9e3779b97f4a7c15;
    for (int i = 0; i < 200000; i++) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        double v, back;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v))
            continue;
        char text[32];
        assert_true(rb_parse_double(rb_format_double(v, text), &back));
        assert_memory_equal(&back, &v, sizeof v);
    }
}

static void ranges_read_well(void **state)
{
    (void)state;
    char out[RB_RANGE_BYTES];
    assert_string_equal(rb_double_range(0, 1, out), "a number in 0..1");
    assert_string_equal(rb_double_range(0.5, INFINITY, out), "a number of at least 0.5");
    assert_string_equal(rb_double_range(-INFINITY, 2, out), "a number of at most 2");
    assert_string_equal(rb_double_range(-INFINITY, INFINITY, out), "a number");
    assert_string_equal(rb_int_range(1, 1024, out), "a whole number in 1..1024");
    assert_string_equal(rb_int_range(1, INT64_MAX, out), "a whole number of at least 1");
    assert_string_equal(rb_int_range(INT64_MIN, 7, out), "a whole number of at most 7");
    assert_string_equal(rb_int_range(INT64_MIN, INT64_MAX, out), "a whole number");
}

// A locale whose decimal point is a comma, compiled into a directory of its own where the tools for that exist.
static bool use_comma_locale(char *dir)
{
    static const char *const installed[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "de_DE"};
    for (size_t i = 0; i < N_OF(installed); i++)
        if (setlocale(LC_ALL, installed[i]))
            return true;
    if (!mkdtemp(dir))
        return false;
    char command[256];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", dir);
    (void)!system(command); // warnings make it fail although the locale was made: setlocale decides
    setenv("LOCPATH", dir, 1);
    return setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

static void the_locale_changes_nothing(void **state)
{
    (void)state;
    char dir[] = "/tmp/rb-locale-XXXXXX";
    if (!use_comma_locale(dir)) {
        print_message("no locale with a decimal comma can be had here\n");
        skip();
    }
    char by_libc[32], text[32], remove[64];
    snprintf(by_libc, sizeof by_libc, "%.1f", 0.5);
    double v = 0;
    const bool read = rb_parse_double("0.5", &v), read_comma = rb_parse_double("0,5", &v);
    rb_format_double(0.5, text);
    char after[32];
    snprintf(after, sizeof after, "%.1f", 0.5);
    setlocale(LC_ALL, "C");
    snprintf(remove, sizeof remove, "rm -rf %s", dir);
    (void)!system(remove);
    assert_string_equal(by_libc, "0,5"); // or this test shows nothing
    assert_true(read && v > 0.4 && v < 0.6 && !read_comma);
    assert_string_equal(text, "0.5");
    assert_string_equal(after, "0,5"); // the program's own choice is left alone
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_follow_the_grammar),
        cmocka_unit_test(integers_are_exact_to_the_last_one),
        cmocka_unit_test(doubles_are_written_shortest),
        cmocka_unit_test(any_double_reads_back),
        cmocka_unit_test(ranges_read_well),
        cmocka_unit_test(the_locale_changes_nothing),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
