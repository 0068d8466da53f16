// Durations, money, rates, sizes and instants as text. A decimal is read as an integer part and up to 18 exact digits
// of fraction, and multiplied by its unit in 128 bits: doubles appear only where seconds or probabilities come as
// doubles.
#include "base/text/units.h"

#include "base/text/number.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

struct decimal {
    uint64_t whole;
    uint64_t fraction; // digits after the point, as an integer
    uint64_t scale;    // 10 to the number of those digits, at most 10^18
    bool inexact;      // a digit that is not 0 follows the 18th
};

enum rounding { ROUND_NEAREST, ROUND_UP };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Reads "12", "12.5" or ".5" at *s and moves *s behind it. False if there is no digit or the integer part is huge.
static bool read_decimal(const char **s, struct decimal *out)
{
    struct decimal d = {.scale = 1};
    const char *p = *s;
    int n_digits = 0;
    for (; is_digit(*p); p++, n_digits++)
        if (__builtin_mul_overflow(d.whole, 10, &d.whole) ||
            __builtin_add_overflow(d.whole, (uint64_t)(*p - '0'), &d.whole))
            return false;
    if (*p == '.') {
        for (p++; is_digit(*p); p++, n_digits++) {
            if (d.scale < UINT64_C(1000000000000000000)) {
                d.fraction = d.fraction * 10 + (uint64_t)(*p - '0');
                d.scale *= 10;
            } else if (*p != '0') {
                d.inexact = true;
            }
        }
    }
    if (n_digits == 0)
        return false;
    *s = p;
    *out = d;
    return true;
}

// d * unit as an integer. False if it does not fit int64. Halves round away from zero.
static bool scale_decimal(const struct decimal *d, int64_t unit, enum rounding rounding, int64_t *out)
{
    const u128 part = (u128)d->fraction * (uint64_t)unit;
    const u128 whole = (u128)d->whole * (uint64_t)unit;
    const u128 rest = part % d->scale;
    u128 total = whole + part / d->scale;
    if (rounding == ROUND_UP ? rest > 0 || d->inexact : rest * 2 >= d->scale && rest > 0)
        total++;
    if (total > (u128)INT64_MAX)
        return false;
    *out = (int64_t)total;
    return true;
}

struct unit {
    const char *name;
    int64_t value;
};

// Longest name first where one starts with another: the first match wins.
static const struct unit *find_unit(const struct unit *units, size_t n, const char *s, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(units[i].name) == len && memcmp(units[i].name, s, len) == 0)
            return &units[i];
    return NULL;
}

static size_t unit_len(const char *s)
{
    size_t len = 0;
    while ((s[len] >= 'a' && s[len] <= 'z') || (s[len] >= 'A' && s[len] <= 'Z'))
        len++;
    return len;
}

static const struct unit time_units[] = {
    {"d", 86400 * RB_US_PER_S},
    {"h", 3600 * RB_US_PER_S},
    {"m", 60 * RB_US_PER_S},
    {"s", RB_US_PER_S},
    {"ms", 1000},
    {"us", 1},
};
#define N_TIME_UNITS (sizeof time_units / sizeof time_units[0])

static bool bad_duration(const char *s, struct rb_err *err)
{
    return rb_err_set(err, RB_E_DURATION,
                      "expected a duration such as \"2h\", \"1h30m\", \"45s\" or \"250ms\", got \"%.60s\"", s);
}

bool rb_parse_duration(const char *s, int64_t *out_us, struct rb_err *err)
{
    const struct unit *previous = NULL;
    int64_t total = 0;
    const char *p = s;
    if (!*p)
        return bad_duration(s, err);
    while (*p) {
        struct decimal d;
        int64_t part;
        if (!read_decimal(&p, &d))
            return bad_duration(s, err);
        const size_t len = unit_len(p);
        const struct unit *unit = find_unit(time_units, N_TIME_UNITS, p, len);
        if (!unit && len == 0 && !*p && previous && previous + 1 < time_units + N_TIME_UNITS)
            return rb_err_set(err, RB_E_DURATION, "the last number of \"%.60s\" has no unit; did you mean %.60s%s?", s,
                              s, previous[1].name);
        if (!unit && len == 0 && !*p)
            return rb_err_set(err, RB_E_DURATION,
                              "the duration \"%.60s\" has no unit; write for example \"%.60ss\" or \"%.60sh\"", s, s,
                              s);
        if (!unit || (previous && unit <= previous)) // each unit once, the largest first
            return bad_duration(s, err);
        if (!scale_decimal(&d, unit->value, ROUND_NEAREST, &part) || __builtin_add_overflow(total, part, &total))
            return rb_err_set(err, RB_E_DURATION, "the duration \"%.60s\" is too long; the longest is 292000 years", s);
        previous = unit;
        p += len;
    }
    *out_us = total;
    return true;
}

static bool parse_dollars(const char *s, int64_t *out_uusd, const char *what, struct rb_err *err)
{
    struct decimal d;
    int64_t uusd;
    const char *p = s + (*s == '$');
    if (*p == '-' && is_digit(p[1]))
        return rb_err_set(err, RB_E_MONEY, "%s may not be negative, got \"%.60s\"", what, s);
    const bool is_decimal = read_decimal(&p, &d) && *p == '\0';
    if (!is_decimal && !(is_digit(*p) && strspn(p, "0123456789.") == strlen(p)))
        return rb_err_set(err, RB_E_MONEY, "expected %s in dollars such as 18.40, got \"%.60s\"", what, s);
    if (!is_decimal || !scale_decimal(&d, RB_UUSD, ROUND_UP, &uusd))
        return rb_err_set(err, RB_E_MONEY, "%s \"%.60s\" is too large; the largest is 9223372036854 dollars", what, s);
    *out_uusd = uusd;
    return true;
}

bool rb_parse_money(const char *s, int64_t *out_uusd, struct rb_err *err)
{
    return parse_dollars(s, out_uusd, "an amount", err);
}

bool rb_parse_rate(const char *s, bool allow_zero, struct rb_rate *out, struct rb_err *err)
{
    int64_t uusd;
    if (!parse_dollars(s, &uusd, "a price per hour", err))
        return false;
    if (uusd == 0 && !allow_zero)
        return rb_err_set(err, RB_E_PRICE_TEXT, "a price per hour must be above 0, got \"%.60s\"", s);
    *out = (struct rb_rate){uusd};
    return true;
}

static const struct unit size_units[] = {
    {"PB", INT64_C(1000000000000000)},
    {"PiB", INT64_C(1) << 50},
    {"TB", INT64_C(1000000000000)},
    {"TiB", INT64_C(1) << 40},
    {"GB", 1000000000},
    {"GiB", 1 << 30},
    {"MB", 1000000},
    {"MiB", 1 << 20},
    {"kB", 1000},
    {"KB", 1000},
    {"KiB", 1 << 10},
    {"B", 1},
};
#define N_SIZE_UNITS (sizeof size_units / sizeof size_units[0])

bool rb_parse_size(const char *s, int64_t *out_bytes, struct rb_err *err)
{
    struct decimal d;
    int64_t bytes;
    const char *p = s;
    const struct unit *unit = NULL;
    if (read_decimal(&p, &d))
        unit = find_unit(size_units, N_SIZE_UNITS, p, strlen(p));
    if (!unit)
        return rb_err_set(err, RB_E_SIZE,
                          "expected a size such as \"400MB\", \"150GB\", \"2TB\" or \"1GiB\", got \"%.60s\"", s);
    if (!scale_decimal(&d, unit->value, ROUND_UP, &bytes))
        return rb_err_set(err, RB_E_SIZE, "the size \"%.60s\" is too large; the largest is 9223PB", s);
    *out_bytes = bytes;
    return true;
}

// Days since 1970-01-01 of a date of the Gregorian calendar, and back. Years begin in March here, so that the
// leap day comes last. Source: H. Hinnant, "chrono-compatible low-level date algorithms".
static int64_t days_from_date(int64_t year, int month, int day)
{
    year -= month <= 2;
    const int64_t era = (year >= 0 ? year : year - 399) / 400;
    const int64_t year_of_era = year - era * 400;
    const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static void date_from_days(int64_t days, int64_t *year, int *month, int *day)
{
    days += 719468;
    const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const int64_t day_of_era = days - era * 146097;
    const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int from_march = (int)((5 * day_of_year + 2) / 153);
    *day = (int)(day_of_year - (153 * from_march + 2) / 5 + 1);
    *month = from_march < 10 ? from_march + 3 : from_march - 9;
    *year = year_of_era + era * 400 + (*month <= 2);
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

// Exactly n digits at *s, in min..max.
static bool read_field(const char **s, int n, int min, int max, int *out)
{
    int v = 0;
    for (int i = 0; i < n; i++) {
        if (!is_digit((*s)[i]))
            return false;
        v = v * 10 + ((*s)[i] - '0');
    }
    *s += n;
    *out = v;
    return v >= min && v <= max;
}

static bool skip_one_of(const char **s, const char *chars)
{
    if (!**s || !strchr(chars, **s))
        return false;
    ++*s;
    return true;
}

// Microseconds of ".123456789"; finer digits are cut off. No fraction: 0.
static bool read_fraction(const char **s, int *out_us)
{
    *out_us = 0;
    if (**s != '.')
        return true;
    ++*s;
    if (!is_digit(**s))
        return false;
    for (int unit = 100000; is_digit(**s); unit /= 10, ++*s)
        *out_us += (**s - '0') * unit;
    return true;
}

static bool read_offset(const char **s, int *out_minutes)
{
    if (skip_one_of(s, "Zz")) {
        *out_minutes = 0;
        return true;
    }
    const int sign = **s == '-' ? -1 : 1;
    int hours, minutes;
    if (!skip_one_of(s, "+-") || !read_field(s, 2, 0, 23, &hours) || !skip_one_of(s, ":") ||
        !read_field(s, 2, 0, 59, &minutes))
        return false;
    *out_minutes = sign * (hours * 60 + minutes);
    return true;
}

#define FIRST_MINUTE INT64_C(-1035593280) // 0001-01-01T00:00Z
#define LAST_MINUTE  INT64_C(4223371679)  // 9999-12-31T23:59Z

bool rb_parse_instant(const char *s, int64_t *out_unix_us, struct rb_err *err)
{
    int year, month, day, hour, minute, second, us, offset;
    const char *p = s;
    const bool ok = read_field(&p, 4, 1, 9999, &year) && skip_one_of(&p, "-") && read_field(&p, 2, 1, 12, &month) &&
                    skip_one_of(&p, "-") && read_field(&p, 2, 1, days_in_month(year, month), &day) &&
                    skip_one_of(&p, "Tt ") && read_field(&p, 2, 0, 23, &hour) && skip_one_of(&p, ":") &&
                    read_field(&p, 2, 0, 59, &minute) && skip_one_of(&p, ":") && read_field(&p, 2, 0, 59, &second) &&
                    read_fraction(&p, &us) && read_offset(&p, &offset) && *p == '\0';
    if (!ok)
        return rb_err_set(err, RB_E_INSTANT,
                          "expected an instant with its offset such as \"2026-08-01T12:00:00Z\", got \"%.60s\"", s);
    const int64_t minutes = days_from_date(year, month, day) * 1440 + hour * 60 + minute - offset;
    if (minutes < FIRST_MINUTE || minutes > LAST_MINUTE) // an offset can lead out of the four-digit years
        return rb_err_set(err, RB_E_INSTANT, "expected an instant in the years 0001 to 9999 UTC, got \"%.60s\"", s);
    *out_unix_us = (minutes * 60 + second) * RB_US_PER_S + us;
    return true;
}

static uint64_t magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static char *format_below_second(double us, int digits, char out[static 32])
{
    const bool in_ms = fabs(us) >= 1000;
    snprintf(out, 32, "%.*g %s", digits, in_ms ? us / 1000 : us, in_ms ? "ms" : "us");
    return out;
}

char *rb_format_duration(int64_t us, char out[static 32])
{
    const char *sign = us < 0 ? "-" : "";
    const uint64_t abs_us = magnitude(us);
    const uint64_t tenths = abs_us / 100000 + (abs_us % 100000 >= 50000);
    const uint64_t s = abs_us / 1000000 + (abs_us % 1000000 >= 500000);
    if (abs_us == 0)
        snprintf(out, 32, "0 s");
    else if (abs_us < 999500)
        format_below_second((double)us, 3, out);
    else if (tenths < 600)
        snprintf(out, 32, "%s%" PRIu64 ".%" PRIu64 " s", sign, tenths / 10, tenths % 10);
    else if (s < 3600)
        snprintf(out, 32, "%s%" PRIu64 " m %" PRIu64 " s", sign, s / 60, s % 60);
    else if ((s + 30) / 60 < 48 * 60)
        snprintf(out, 32, "%s%" PRIu64 " h %" PRIu64 " m", sign, (s + 30) / 3600, (s + 30) / 60 % 60);
    else
        snprintf(out, 32, "%s%" PRIu64 " d %" PRIu64 " h", sign, (s + 1800) / 86400, (s + 1800) / 3600 % 24);
    return out;
}

char *rb_format_seconds(double s, char out[static 32])
{
    if (fabs(s) > 0 && fabs(s) < 1)
        return format_below_second(1e6 * s, 4, out);
    snprintf(out, 32, fabs(s) < 1000 ? "%.4g s" : "%.0f s", s);
    return out;
}

char *rb_format_duration_exact(int64_t us, char out[static 32])
{
    assert(us >= 0);
    const int64_t s = us / RB_US_PER_S, h = s / 3600, m = s / 60 % 60;
    if (us % 1000 != 0) {
        snprintf(out, 32, "%" PRId64 "us", us);
    } else if (us % RB_US_PER_S != 0) {
        snprintf(out, 32, "%" PRId64 "ms", us / 1000);
    } else {
        int len = 0;
        if (h > 0)
            len += snprintf(out, 32, "%" PRId64 "h", h);
        if (m > 0)
            len += snprintf(out + len, 32 - (size_t)len, "%" PRId64 "m", m);
        if (s % 60 > 0 || len == 0)
            snprintf(out + len, 32 - (size_t)len, "%" PRId64 "s", s % 60);
    }
    return out;
}

char *rb_format_money(int64_t uusd, char out[static 32])
{
    const char *sign = uusd < 0 ? "-" : "";
    const uint64_t abs_uusd = magnitude(uusd);
    if (abs_uusd == 0 || abs_uusd >= 999950) {
        const uint64_t cents = abs_uusd / 10000 + (abs_uusd % 10000 >= 5000);
        snprintf(out, 32, "%s$%" PRIu64 ".%02" PRIu64, sign, cents / 100, cents % 100);
    } else if (abs_uusd >= 50) {
        snprintf(out, 32, "%s$0.%04" PRIu64, sign, (abs_uusd + 50) / 100);
    } else { // four decimals would call it free
        snprintf(out, 32, "%s$0.%06" PRIu64, sign, abs_uusd);
    }
    return out;
}

char *rb_format_money_exact(int64_t uusd, char out[static 32])
{
    const uint64_t abs_uusd = magnitude(uusd);
    int len = snprintf(out, 32, "%s%" PRIu64, uusd < 0 ? "-" : "", abs_uusd / 1000000);
    if (abs_uusd % 1000000 != 0) {
        len += snprintf(out + len, 32 - (size_t)len, ".%06" PRIu64, abs_uusd % 1000000);
        while (out[len - 1] == '0')
            out[--len] = '\0';
    }
    return out;
}

char *rb_format_size_exact(int64_t bytes, char out[static 32])
{
    assert(bytes >= 0);
    const struct unit *best = &size_units[N_SIZE_UNITS - 1];
    for (size_t i = 0; bytes > 0 && i < N_SIZE_UNITS; i++)
        if (bytes % size_units[i].value == 0 && size_units[i].value > best->value)
            best = &size_units[i];
    snprintf(out, 32, "%" PRId64 "%s", bytes / best->value, best->name);
    return out;
}

char *rb_format_probability(double p, char out[static 32])
{
    if (p >= 0.9995 && p < 1)
        return rb_format_double(p, out);
    snprintf(out, 32, "%.3f", p);
    return out;
}

void rb_format_probabilities(double p, double q, char out_p[static 32], char out_q[static 32])
{
    rb_format_probability(p, out_p);
    rb_format_probability(q, out_q);
    for (int digits = 4; fabs(p - q) > 0 && strcmp(out_p, out_q) == 0 && digits <= 20; digits++) {
        snprintf(out_p, 32, "%.*f", digits, p);
        snprintf(out_q, 32, "%.*f", digits, q);
    }
}

char *rb_format_instant(int64_t unix_us, char out[static 32])
{
    int64_t year, s = unix_us / RB_US_PER_S, us = unix_us % RB_US_PER_S;
    int month, day;
    s -= us < 0;
    us += us < 0 ? RB_US_PER_S : 0;
    const int64_t days = s / 86400 - (s % 86400 < 0);
    const int in_day = (int)(s - days * 86400);
    date_from_days(days, &year, &month, &day);
    int len = snprintf(out, 32, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d", year, month, day, in_day / 3600,
                       in_day / 60 % 60, in_day % 60);
    if (us != 0) {
        len += snprintf(out + len, 32 - (size_t)len, ".%06d", (int)us);
        while (out[len - 1] == '0')
            len--;
    }
    snprintf(out + len, 32 - (size_t)len, "Z");
    return out;
}

int64_t rb_us_from_seconds(double seconds)
{
    assert(seconds >= -9e12 && seconds <= 9e12); // false for NaN too
    return (int64_t)llrint(seconds * 1e6);       // the default rounding mode: ties to even
}
