// Parses and formats time and money. Time is int64_t microseconds (names end in _us), money int64_t micro-dollars (_uusd).
// Rates are a type of their own and become money only in profiles/catalog/billing. Decimals that people type are parsed
// exactly, never through double. Overflow and malformed text are errors.
#ifndef RB_BASE_UNITS_H
#define RB_BASE_UNITS_H

#include "base/errors/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RB_US_PER_S    INT64_C(1000000)
#define RB_S_PER_HOUR  INT64_C(3600)
#define RB_UUSD        INT64_C(1000000) // micro-dollars in a dollar

// Price of one machine (or of one GB, for disk) for one hour.
struct rb_rate {
    int64_t uusd_per_hour;
};

// "2h", "90m", "1h30m", "45s", "250ms", "1.5h", "2d"; a bare number is an error. Result >= 0.
bool rb_parse_duration(const char *s, int64_t *out_us, struct rb_err *err);
// "18.40" or "$18.40" -> 18400000. At most 6 decimals are exact; more are rounded up. Result >= 0.
bool rb_parse_money(const char *s, int64_t *out_uusd, struct rb_err *err);
// USD per hour as a decimal of any length, rounded up to 1 uusd/h. Negative, empty, NaN: error. 0 only if allow_zero.
bool rb_parse_rate(const char *s, bool allow_zero, struct rb_rate *out, struct rb_err *err);
// "400MB", "150GB", "2TB" (powers of ten), "1GiB" (powers of two). Result in bytes.
bool rb_parse_size(const char *s, int64_t *out_bytes, struct rb_err *err);
// RFC 3339 instant -> microseconds since the Unix epoch. "Z" or an offset is required.
bool rb_parse_instant(const char *s, int64_t *out_unix_us, struct rb_err *err);

// Formatters write a NUL-terminated text into out (at least 32 bytes) and return it.
char *rb_format_duration(int64_t us, char out[static 32]);       // "1 h 41 m", "52.3 s", "250 ms", "1.25 ms": for people
char *rb_format_seconds(double s, char out[static 32]);          // of means: "75.31 s", "312.5 ms", "0.4 us"
char *rb_format_duration_exact(int64_t us, char out[static 32]); // "1h41m", "52300ms": parses back to the same value
char *rb_format_money(int64_t uusd, char out[static 32]);        // "$18.40"; below a dollar 4 decimals: "$0.1369"
char *rb_format_money_exact(int64_t uusd, char out[static 32]);  // "18.4", "0.000001": parses back
char *rb_format_size_exact(int64_t bytes, char out[static 32]);  // "150GB"
char *rb_format_probability(double p, char out[static 32]);      // "0.950", and all digits where three would round it to 1
// Formats two probabilities for comparison: with three digits, or as many as show their difference.
void rb_format_probabilities(double p, double q, char out_p[static 32], char out_q[static 32]);
char *rb_format_instant(int64_t unix_us, char out[static 32]);   // "2026-08-01T12:00:00Z" (fraction only if not 0)

// Nearest microsecond of `seconds`, ties to even. NaN or beyond +-9e12 s: assert.
int64_t rb_us_from_seconds(double seconds);

#endif
