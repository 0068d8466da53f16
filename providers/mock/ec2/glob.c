// Greedy matching with one place to fall back to: linear in practice, never exponential.
#include "providers/mock/ec2/glob.h"

#include <stddef.h>

bool rb_mock_glob(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = NULL; // where to go on when what follows the last * did not match
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            resume = text;
            continue;
        }
        const char *want = *pattern == '\\' && pattern[1] ? pattern + 1 : pattern;
        bool any = *pattern == '?';
        if (*text && *pattern && (any || *want == *text)) {
            pattern = want + 1;
            text++;
        } else if (!*text && !*pattern) {
            return true;
        } else if (star && *resume) {
            pattern = star;
            text = ++resume;
        } else {
            return false;
        }
    }
}
