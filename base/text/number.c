// Every conversion asks for the C locale by name: glibc answers newlocale("C") with a constant object, so that costs
// nothing, and a program that called setlocale() still reads "0.5" as a half.
#include "base/text/number.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *skip_digits(const char *s)
{
    while (*s >= '0' && *s <= '9')
        s++;
    return s;
}

bool rb_is_number(const char *s)
{
    if (*s == '-' || *s == '+')
        s++;
    const char *start = s;
    s = skip_digits(s);
    int n_digits = (int)(s != start);
    if (*s == '.') {
        const char *fraction = ++s;
        s = skip_digits(s);
        n_digits += (int)(s != fraction);
    }
    if (n_digits == 0)
        return false;
    if (*s == 'e' || *s == 'E') {
        s++;
        if (*s == '-' || *s == '+')
            s++;
        const char *exponent = s;
        s = skip_digits(s);
        if (s == exponent)
            return false;
    }
    return *s == '\0';
}

static double to_double(const char *s, locale_t c_locale)
{
    return strtod_l(s, NULL, c_locale);
}

bool rb_parse_double(const char *s, double *out)
{
    if (!rb_is_number(s))
        return false;
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    assert(c_locale != (locale_t)0);
    const double v = to_double(s, c_locale);
    freelocale(c_locale);
    if (!isfinite(v))
        return false;
    *out = v;
    return true;
}

bool rb_parse_printed(const char *s, size_t n, double *out)
{
    char copy[64]; // a longer number is not one
    if (n == 0 || n >= sizeof copy || memchr(s, '\0', n))
        return false;
    memcpy(copy, s, n);
    copy[n] = '\0';
    const char *word = copy + (copy[0] == '-' || copy[0] == '+');
    if (strcasecmp(word, "nan") == 0)
        *out = NAN;
    else if (strcasecmp(word, "inf") == 0 || strcasecmp(word, "infinity") == 0)
        *out = copy[0] == '-' ? -INFINITY : INFINITY;
    else
        return rb_parse_double(copy, out);
    return true;
}

bool rb_parse_int(const char *s, int64_t *out)
{
    const bool negative = *s == '-';
    if (*s == '-' || *s == '+')
        s++;
    if (*s == '\0')
        return false;
    int64_t v = 0;
    for (; *s; s++) {
        if (*s < '0' || *s > '9')
            return false;
        const int digit = *s - '0';
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, negative ? -digit : digit, &v))
            return false;
    }
    *out = v;
    return true;
}

char *rb_format_double(double v, char out[static 32])
{
    assert(isfinite(v));
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    assert(c_locale != (locale_t)0);
    const locale_t before = uselocale(c_locale);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, v);
        const double back = to_double(out, c_locale);
        if (!(back < v) && !(back > v))
            break;
    }
    uselocale(before);
    freelocale(c_locale);
    return out;
}

char *rb_double_range(double min, double max, char out[static RB_RANGE_BYTES])
{
    // Callers pass the ends of the type for "any".
    const bool has_min = isfinite(min) && min > -DBL_MAX, has_max = isfinite(max) && max < DBL_MAX;
    char lo[32] = "", hi[32] = "";
    if (has_min)
        rb_format_double(min, lo);
    if (has_max)
        rb_format_double(max, hi);
    snprintf(out, RB_RANGE_BYTES, "a number%s%s%s%s",
             has_min && has_max ? " in "
             : has_min          ? " of at least "
                                : "",
             lo,
             has_min && has_max ? ".."
             : has_max          ? " of at most "
                                : "",
             hi);
    return out;
}

char *rb_int_range(int64_t min, int64_t max, char out[static RB_RANGE_BYTES])
{
    const bool has_min = min > INT64_MIN, has_max = max < INT64_MAX;
    if (has_min && has_max)
        snprintf(out, RB_RANGE_BYTES, "a whole number in %" PRId64 "..%" PRId64, min, max);
    else if (has_min)
        snprintf(out, RB_RANGE_BYTES, "a whole number of at least %" PRId64, min);
    else if (has_max)
        snprintf(out, RB_RANGE_BYTES, "a whole number of at most %" PRId64, max);
    else
        snprintf(out, RB_RANGE_BYTES, "a whole number");
    return out;
}
