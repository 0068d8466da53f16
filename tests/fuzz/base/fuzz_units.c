// Any text as a duration, an amount, a rate, a size, an instant and a number: refused, or within range and, written
// exactly, read back to the same value.
#include "base/text/number.h"
#include "base/text/units.h"

#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

typedef bool parse_fn(const char *s, int64_t *out, struct rb_err *err);
typedef char *format_fn(int64_t v, char out[static 32]);

static void check_unit(const char *s, parse_fn *parse, format_fn *format, format_fn *for_people, int64_t min)
{
    int64_t v = -42, back;
    char text[32];
    struct rb_err err = {0};
    if (!parse(s, &v, &err)) {
        require(v == -42 && err.code == RB_ERR_INVALID && err.message[0] != '\0');
        return;
    }
    require(v >= min);
    require(parse(format(v, text), &back, NULL) && back == v);
    require(strlen(for_people(v, text)) < sizeof text);
}

static void check_rate(const char *s)
{
    struct rb_rate rate;
    int64_t uusd;
    const bool ok = rb_parse_rate(s, true, &rate, NULL);
    require(ok == rb_parse_money(s, &uusd, NULL)); // one grammar for both
    require(!ok || rate.uusd_per_hour == uusd);
    require(rb_parse_rate(s, false, &rate, NULL) == (ok && uusd > 0));
}

static void check_number(const char *s)
{
    double d, back;
    char text[32];
    if (!rb_parse_double(s, &d))
        return;
    require(isfinite(d) && rb_is_number(s));
    require(rb_parse_double(rb_format_double(d, text), &back) && memcmp(&d, &back, sizeof d) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *s = malloc(n + 1);
    if (!s)
        return 0;
    if (n)
        memcpy(s, bytes, n);
    s[n] = '\0';
    check_unit(s, rb_parse_duration, rb_format_duration_exact, rb_format_duration, 0);
    check_unit(s, rb_parse_money, rb_format_money_exact, rb_format_money, 0);
    check_unit(s, rb_parse_size, rb_format_size_exact, rb_format_size_exact, 0);
    check_unit(s, rb_parse_instant, rb_format_instant, rb_format_instant, INT64_MIN);
    check_rate(s);
    check_number(s);
    free(s);
    return 0;
}
