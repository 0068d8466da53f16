// Numbers as text, the same in every locale. Grammar: an optional sign, decimal digits with at most one point, an
// optional exponent; no spaces, no hexadecimal, no NaN, no infinity.
#ifndef RB_BASE_NUMBER_H
#define RB_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

// Does the whole of s follow the grammar?
bool rb_is_number(const char *s);
// The whole of s is a number -> the nearest double. False if it is not, or if it is too large for a double.
bool rb_parse_double(const char *s, double *out);
// The whole of s is an integer that fits. False otherwise.
bool rb_parse_int(const char *s, int64_t *out);

// Shortest of 15, 16 or 17 significant digits that reads back to the same value; v is finite. "0.95", "1e-05", "1".
char *rb_format_double(double v, char out[static 32]);

#endif
