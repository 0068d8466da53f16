// Does an error say what a test expects of it?
#ifndef RB_TESTS_BASE_SAYS_H
#define RB_TESTS_BASE_SAYS_H

#include "base/errors/err.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// `words` occur in the message; where they begin with a number of the catalogue, as in "RB1112 did you mean", the error has
// that number.
static inline bool error_says(const struct rb_err *err, const char *words)
{
    int number, length = 0;
    const bool numbered = sscanf(words, "RB%4d%n", &number, &length) == 1 && length == 6;
    if (numbered && rb_err_number(err) != number)
        return false;
    const char *rest = numbered ? words + length : words;
    return strstr(err->message, rest + (numbered && *rest == ' ')) != NULL;
}

#endif
