// Units as text: tables of what is read, what is refused, and what is written.
#include "base/text/units.h"

#include "check.h"

#include <inttypes.h>
#include <math.h>

#define US RB_US_PER_S

static const struct {
    const char *text;
    int64_t us; // -1: refused
} durations[] = {
    {"0s", 0},
    {"2h", 7200 * US},
    {"90m", 5400 * US},
    {"1h30m", 5400 * US},
    {"45s", 45 * US},
    {"250ms", 250000},
    {"7us", 7},
    {"1.5h", 5400 * US},
    {"2d", 172800 * US},
    {"1d2h3m4s5ms6us", 93784 * US + 5006},
    {".5s", 500000},
    {"0.1s", 100000},
    {"0.0000005s", 1}, // half a microsecond rounds up
    {"0.00000049s", 0},
    {"1.3333333333333333333333h", INT64_C(4800000000)},
    {"9223372036854775807us", INT64_MAX},
    {"9223372036854775808us", -1},
    {"106751992d", -1}, // one day past the end of int64
    {"106751991d", INT64_C(106751991) * 86400 * US},
    {"9223372036854775807us1us", -1},
    {"99999999999999999999999h", -1},
    {"", -1},
    {"90", -1},
    {"0", -1},
    {"h", -1},
    {"2 h", -1},
    {" 2h", -1},
    {"2h ", -1},
    {"-2h", -1},
    {"+2h", -1},
    {"2H", -1},
    {"2hours", -1},
    {"30m1h", -1}, // largest first
    {"1h1h", -1},
    {"1h30", -1},
    {"1e3s", -1},
    {"1..5h", -1},
    {".h", -1},
    {"nan", -1},
    {"infs", -1},
};

static void reads_durations(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(durations); i++) {
        int64_t us = -42;
        struct rb_err err = {0};
        const bool ok = rb_parse_duration(durations[i].text, &us, &err);
        if (ok != (durations[i].us >= 0) || us != (ok ? durations[i].us : -42))
            fail_msg("\"%s\" gave %d, %" PRId64 " us", durations[i].text, ok, us);
        assert_int_equal(err.code, ok ? RB_ERR_NONE : RB_ERR_INVALID);
    }
}

static void of_bare_numbers_the_missing_unit_is_named(void **state)
{
    (void)state;
    struct rb_err err;
    int64_t us;
    assert_false(rb_parse_duration("90", &us, &err));
    assert_says(&err, "has no unit");
}

static const struct {
    const char *text;
    int64_t uusd; // -1: refused
} amounts[] = {
    {"0", 0},
    {"40", 40000000},
    {"18.40", 18400000},
    {"$18.40", 18400000},
    {"18.4", 18400000},
    {"0.000001", 1},
    {"0.0000001", 1},       // rounded up
    {"1.0000000", 1000000}, // zeros are exact
    {"1.00000000000000000000000001", 1000001},
    {"0.1", 100000}, // what a double cannot hold
    {"0.29", 290000},
    {"9223372036854.775807", INT64_MAX},
    {"9223372036854.775808", -1},
    {"9223372036854.7758070001", -1},
    {"99999999999999999999", -1},
    {"", -1},
    {"$", -1},
    {"-1", -1},
    {"$-1", -1},
    {"-0.01", -1},
    {"1,000", -1},
    {"1e3", -1},
    {"18.40 USD", -1},
    {" 18", -1},
    {"18$", -1},
    {"$$18", -1},
    {"1.2.3", -1},
    {"nan", -1},
    {"0x10", -1},
    {".", -1},
};

static void reads_money(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(amounts); i++) {
        int64_t uusd = -42;
        struct rb_err err = {0};
        const bool ok = rb_parse_money(amounts[i].text, &uusd, &err);
        if (ok != (amounts[i].uusd >= 0) || uusd != (ok ? amounts[i].uusd : -42))
            fail_msg("\"%s\" gave %d, %" PRId64 " uusd", amounts[i].text, ok, uusd);
    }
}

static void reads_rates_rounding_up(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool allow_zero;
        int64_t uusd_per_hour; // -1: refused
    } cases[] = {
        {"3.06", false, 3060000},
        {"3.0600000000", false, 3060000},
        {"0.0116", false, 11600},
        {"0.00000000001", false, 1},
        {"0.0000000", false, -1},
        {"0.0000000", true, 0},
        {"0", false, -1},
        {"0", true, 0},
        {"0.1234567", false, 123457},
        {"0.1234560000001", false, 123457},
        {"0.12345600000000000000000000000000001", false, 123457},
        {"", true, -1},
        {"-3.06", true, -1},
        {"NaN", true, -1},
        {"inf", true, -1},
        {"9223372036854.8", true, -1},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_rate rate = {-42};
        struct rb_err err = {0};
        const bool ok = rb_parse_rate(cases[i].text, cases[i].allow_zero, &rate, &err);
        if (ok != (cases[i].uusd_per_hour >= 0) || rate.uusd_per_hour != (ok ? cases[i].uusd_per_hour : -42))
            fail_msg("\"%s\" gave %d, %" PRId64 " uusd/h", cases[i].text, ok, rate.uusd_per_hour);
    }
}

static void reads_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes; // -1: refused
    } cases[] = {
        {"0B", 0},
        {"400MB", 400000000},
        {"150GB", INT64_C(150000000000)},
        {"2TB", 2000000000000},
        {"1GiB", 1073741824},
        {"1.5kB", 1500},
        {"1KB", 1000},
        {"1KiB", 1024},
        {"0.5B", 1},
        {"9223PB", INT64_C(9223000000000000000)},
        {"9224PB", -1},
        {"150", -1},
        {"150 GB", -1},
        {"150gb", -1},
        {"GB", -1},
        {"-1GB", -1},
        {"1GBx", -1},
        {"", -1},
        {"1e3GB", -1},
        {"1G", -1},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        int64_t bytes = -42;
        struct rb_err err = {0};
        const bool ok = rb_parse_size(cases[i].text, &bytes, &err);
        if (ok != (cases[i].bytes >= 0) || bytes != (ok ? cases[i].bytes : -42))
            fail_msg("\"%s\" gave %d, %" PRId64 " bytes", cases[i].text, ok, bytes);
    }
}

static void reads_instants(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t us;
    } cases[] = {
        {"1970-01-01T00:00:00Z", true, 0},
        {"1970-01-01T00:00:00.000001Z", true, 1},
        {"1969-12-31T23:59:59.5Z", true, -500000},
        {"2026-08-01T12:00:00Z", true, INT64_C(1785585600) * US},
        {"2026-08-01t12:00:00z", true, INT64_C(1785585600) * US},
        {"2026-08-01 14:00:00+02:00", true, INT64_C(1785585600) * US},
        {"2026-08-01T06:30:00-05:30", true, INT64_C(1785585600) * US},
        {"2026-08-01T12:00:00.123456789Z", true, INT64_C(1785585600) * US + 123456},
        {"2024-02-29T00:00:00Z", true, INT64_C(1709164800) * US},
        {"2000-02-29T00:00:00Z", true, INT64_C(951782400) * US},
        {"0001-01-01T00:00:00Z", true, INT64_C(-62135596800) * US},
        {"9999-12-31T23:59:59Z", true, INT64_C(253402300799) * US},
        {"0001-01-01T00:00:00+00:01", false, 0},
        {"9999-12-31T23:59:59-00:01", false, 0},
        {"2023-02-29T00:00:00Z", false, 0},
        {"1900-02-29T00:00:00Z", false, 0},
        {"2026-08-01T12:00:00", false, 0}, // no offset
        {"2026-08-01", false, 0},
        {"2026-13-01T00:00:00Z", false, 0},
        {"2026-00-01T00:00:00Z", false, 0},
        {"2026-04-31T00:00:00Z", false, 0},
        {"2026-08-01T24:00:00Z", false, 0},
        {"2026-08-01T12:60:00Z", false, 0},
        {"2026-08-01T12:00:60Z", false, 0},
        {"2026-08-01T12:00:00.Z", false, 0},
        {"2026-08-01T12:00:00+0200", false, 0},
        {"2026-08-01T12:00:00+24:00", false, 0},
        {"2026-08-01T12:00:00Zx", false, 0},
        {"26-08-01T12:00:00Z", false, 0},
        {"0000-01-01T00:00:00Z", false, 0},
        {"", false, 0},
        {"+026-08-01T12:00:00Z", false, 0},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        int64_t us = -42;
        struct rb_err err = {0};
        const bool ok = rb_parse_instant(cases[i].text, &us, &err);
        if (ok != cases[i].ok || us != (ok ? cases[i].us : -42))
            fail_msg("\"%s\" gave %d, %" PRId64 " us", cases[i].text, ok, us);
    }
}

static void every_day_of_nine_centuries_comes_back(void **state)
{
    (void)state;
    for (int64_t day = -200000; day < 130000; day++) {
        const int64_t us = (day * 86400 + 43200) * US;
        int64_t back;
        char text[32];
        assert_true(rb_parse_instant(rb_format_instant(us, text), &back, NULL));
        if (back != us)
            fail_msg("%s gave %" PRId64 ", expected %" PRId64, text, back, us);
    }
}

static void writes_for_people(void **state)
{
    (void)state;
    static const struct {
        char *(*format)(int64_t, char[static 32]);
        int64_t value;
        const char *text;
    } cases[] = {
        {rb_format_duration, 0, "0 s"},
        {rb_format_duration, 7, "7 us"},
        {rb_format_duration, 999, "999 us"},
        {rb_format_duration, 1250, "1.25 ms"},
        {rb_format_duration, 40000, "40 ms"},
        {rb_format_duration, 250000, "250 ms"},
        {rb_format_duration, 999499, "999 ms"},
        {rb_format_duration, 999500, "1.0 s"},
        {rb_format_duration, 52300000, "52.3 s"},
        {rb_format_duration, 59949999, "59.9 s"},
        {rb_format_duration, 59950000, "1 m 0 s"},
        {rb_format_duration, 725 * US, "12 m 5 s"},
        {rb_format_duration, 3599 * US + 499999, "59 m 59 s"},
        {rb_format_duration, 3599 * US + 500000, "1 h 0 m"},
        {rb_format_duration, 6060 * US, "1 h 41 m"},
        {rb_format_duration, 172770 * US, "2 d 0 h"},
        {rb_format_duration, 172769 * US, "47 h 59 m"},
        {rb_format_duration, -52300000, "-52.3 s"},
        {rb_format_duration, INT64_MIN, "-106751991 d 4 h"},
        {rb_format_duration_exact, 0, "0s"},
        {rb_format_duration_exact, 6060 * US, "1h41m"},
        {rb_format_duration_exact, 3605 * US, "1h5s"},
        {rb_format_duration_exact, 52300000, "52300ms"},
        {rb_format_duration_exact, 1, "1us"},
        {rb_format_money, 0, "$0.00"},
        {rb_format_money, 18400000, "$18.40"},
        {rb_format_money, 18404999, "$18.40"},
        {rb_format_money, 18405000, "$18.41"},
        {rb_format_money, 31200, "$0.0312"},
        {rb_format_money, 99999, "$0.1000"},
        {rb_format_money, 136900, "$0.1369"},
        {rb_format_money, 999949, "$0.9999"},
        {rb_format_money, 999950, "$1.00"},
        {rb_format_money, 50, "$0.0001"},
        {rb_format_money, 49, "$0.000049"},
        {rb_format_money, -1500000, "-$1.50"},
        {rb_format_money, INT64_MIN, "-$9223372036854.78"},
        {rb_format_money_exact, 18400000, "18.4"},
        {rb_format_money_exact, 1, "0.000001"},
        {rb_format_money_exact, 40000000, "40"},
        {rb_format_money_exact, 0, "0"},
        {rb_format_money_exact, -1500000, "-1.5"},
        {rb_format_size_exact, 0, "0B"},
        {rb_format_size_exact, 150000000000, "150GB"},
        {rb_format_size_exact, 1073741824, "1GiB"},
        {rb_format_size_exact, 1001, "1001B"},
        {rb_format_instant, INT64_C(1785585600) * US, "2026-08-01T12:00:00Z"},
        {rb_format_instant, INT64_C(1785585600) * US + 120000, "2026-08-01T12:00:00.12Z"},
        {rb_format_instant, -1, "1969-12-31T23:59:59.999999Z"},
        {rb_format_instant, INT64_MIN, "-290308-12-21T19:59:05.224192Z"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char text[32];
        assert_string_equal(cases[i].format(cases[i].value, text), cases[i].text);
    }
}

static void what_is_written_exactly_reads_back(void **state)
{
    (void)state;
    uint64_t x = 88172645463325252u; // xorshift: any spread of magnitudes will do
    for (int i = 0; i < 100000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        const int64_t v = (int64_t)(x >> (1 + i % 62));
        char text[32];
        int64_t back = -1;
        assert_true(rb_parse_duration(rb_format_duration_exact(v, text), &back, NULL));
        assert_int_equal(back, v);
        assert_true(rb_parse_money(rb_format_money_exact(v, text), &back, NULL));
        assert_int_equal(back, v);
        assert_true(rb_parse_size(rb_format_size_exact(v, text), &back, NULL));
        assert_int_equal(back, v);
    }
}

static void probabilities_below_1_are_never_1(void **state)
{
    (void)state;
    static const struct {
        double p;
        const char *text;
    } cases[] = {{0.95, "0.950"}, {0, "0.000"}, {0.9994, "0.999"}, {0.99999, "0.99999"}, {0.999999999, "0.999999999"}, {1, "1.000"}};
    char text[32];
    for (size_t i = 0; i < N_OF(cases); i++)
        assert_string_equal(rb_format_probability(cases[i].p, text), cases[i].text);
}

static void probabilities_that_differ_are_distinguished(void **state)
{
    (void)state;
    static const struct {
        double p, q;
        const char *p_text, *q_text;
    } cases[] = {
        {0.95, 0.9, "0.950", "0.900"},
        {0.95, 0.95, "0.950", "0.950"},
        {0.9499, 0.95, "0.9499", "0.9500"},
        {0.9499999, 0.95, "0.9499999", "0.9500000"},
        {0.99949999, 0.9995, "0.999", "0.9995"},
        {0.99999, 0.9999, "0.99999", "0.9999"},
    };
    char p[32], q[32];
    for (size_t i = 0; i < N_OF(cases); i++) {
        rb_format_probabilities(cases[i].p, cases[i].q, p, q);
        assert_string_equal(p, cases[i].p_text);
        assert_string_equal(q, cases[i].q_text);
    }
    for (double d = 0.03; 0.95 - d < 0.95; d /= 3) {
        rb_format_probabilities(0.95 - d, 0.95, p, q);
        if (strcmp(p, q) == 0)
            fail_msg("%g below 0.95: both are %s", d, p);
    }
}

static void means_below_a_second_are_no_zero(void **state)
{
    (void)state;
    static const struct {
        double s;
        const char *text;
    } cases[] = {{0, "0 s"},          {75.314, "75.31 s"}, {1.5, "1.5 s"},       {12345.6, "12346 s"}, {0.3125, "312.5 ms"},
                 {0.0004, "400 us"},  {4e-7, "0.4 us"},    {0.00123456, "1.235 ms"}};
    char text[32];
    for (size_t i = 0; i < N_OF(cases); i++)
        assert_string_equal(rb_format_seconds(cases[i].s, text), cases[i].text);
}

static void seconds_round_to_even_microseconds(void **state)
{
    (void)state;
    assert_int_equal(rb_us_from_seconds(0.0), 0);
    assert_int_equal(rb_us_from_seconds(1.5), 1500000);
    assert_int_equal(rb_us_from_seconds(0x1p-1 * 1e-6), 0); // 0.5 us
    assert_int_equal(rb_us_from_seconds(1.5e-6), 2);
    assert_int_equal(rb_us_from_seconds(2.5e-6), 2);
    assert_int_equal(rb_us_from_seconds(-2.5e-6), -2);
    assert_int_equal(rb_us_from_seconds(9e12), INT64_C(9000000000000000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_durations),
        cmocka_unit_test(of_bare_numbers_the_missing_unit_is_named),
        cmocka_unit_test(reads_money),
        cmocka_unit_test(reads_rates_rounding_up),
        cmocka_unit_test(reads_sizes),
        cmocka_unit_test(reads_instants),
        cmocka_unit_test(every_day_of_nine_centuries_comes_back),
        cmocka_unit_test(writes_for_people),
        cmocka_unit_test(what_is_written_exactly_reads_back),
        cmocka_unit_test(probabilities_below_1_are_never_1),
        cmocka_unit_test(probabilities_that_differ_are_distinguished),
        cmocka_unit_test(means_below_a_second_are_no_zero),
        cmocka_unit_test(seconds_round_to_even_microseconds),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
