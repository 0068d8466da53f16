// Matches extended regular expressions (regex(7)) that are written in the program itself.
#ifndef RB_BASE_PATTERN_H
#define RB_BASE_PATTERN_H

#include <stdbool.h>

// Does the pattern occur in the text? Anchors are the pattern's. A pattern that cannot be compiled is a bug: aborts.
bool rb_pattern_matches(const char *text, const char *pattern);

#endif
