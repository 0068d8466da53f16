// Patterns that find numbers in lines: "step {resource}: train loss {train_loss}, val loss {val_loss}".
//   text        itself; a run of blanks matches any run of blanks
//   {resource}  the number of the unit; {NAME}: the number of that metric; {*}: anything, also nothing
//   {{ }}       a brace
// A pattern may begin and end anywhere in the line. A number is the longest one there: digits, a sign, a point, an exponent, nan,
// inf; a % behind it is part of it and divides by 100, unless the
// pattern goes on with a %. There is no backtracking into numbers: matching takes at most
// (bytes of the line) x (bytes of the pattern) steps.
#ifndef RB_PROFILES_METRIC_PATTERN_H
#define RB_PROFILES_METRIC_PATTERN_H

#include "base/errors/err.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    RB_PATTERN_CAPTURES = 16, // at most in one pattern
    RB_PATTERN_NAME = 64,     // bytes of a name, its end included
    RB_PATTERN_LENGTH = 512,  // bytes of a pattern
};

struct rb_pattern_capture {
    char name[RB_PATTERN_NAME];
    double value;
};

// What is wrong with it: a brace that is not closed, an unknown character in a name, no capture. Names are those of metrics.
bool rb_metric_pattern_check(const char *pattern, struct rb_err *err);

// The number of captures, in the order of the pattern; -1: the line does not match. The pattern is one that was checked.
int rb_metric_pattern_match(const char *pattern, const char *line, size_t n,
                            struct rb_pattern_capture out[RB_PATTERN_CAPTURES]);

#endif
