// Reads and writes numbers as text, the same in every locale. Grammar: an optional sign, decimal digits with at most one point, an
// optional exponent; no spaces, no hexadecimal, no NaN, no infinity.
#ifndef RB_BASE_NUMBER_H
#define RB_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Does the whole of s follow the grammar?
bool rb_is_number(const char *s);
// The whole of s is a number -> the nearest double. False if it is not, or if it is too large for a double.
bool rb_parse_double(const char *s, double *out);
// The n bytes at s are a number as programs print it: as above, or nan, inf, infinity with an optional sign, in any case.
bool rb_parse_printed(const char *s, size_t n, double *out);
// The whole of s is an integer that fits. False otherwise.
bool rb_parse_int(const char *s, int64_t *out);

// Shortest of 15, 16 or 17 significant digits that reads back to the same value; v is finite. "0.95", "1e-05", "1".
char *rb_format_double(double v, char out[static 32]);

// "a number in 0..1", "a whole number of at least 1", ...: the expected range in an error. An infinite double or the
// end of the integer's type is no bound.
#define RB_RANGE_BYTES 96
char *rb_double_range(double min, double max, char out[static RB_RANGE_BYTES]);
char *rb_int_range(int64_t min, int64_t max, char out[static RB_RANGE_BYTES]);

#endif
