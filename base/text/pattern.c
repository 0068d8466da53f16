#include "base/text/pattern.h"

#include <regex.h>
#include <stdlib.h>

bool rb_pattern_matches(const char *text, const char *pattern)
{
    regex_t compiled;
    if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        abort();
    const bool matches = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return matches;
}
