// Does an error say what a test expects of it?
#ifndef RB_TESTS_BASE_SAYS_H
#define RB_TESTS_BASE_SAYS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// `words` occur in the message; where they begin with a number of the catalogue, as in "RB1112 did you mean", the error has
// that number.
static inline bool error_says(const struct rb_err *err, const char *words)
{
    const bool numbered = strlen(words) >= 6 && memcmp(words, "RB", 2) == 0 && strspn(words + 2, "0123456789") == 4;
    if (numbered && rb_err_number(err) != atoi(words + 2))
        return false;
    const char *rest = numbered ? words + 6 : words;
    return strstr(err->message, rest + (numbered && *rest == ' ')) != NULL;
}

#endif
