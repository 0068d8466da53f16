// Matches the patterns of clouds' filters: * and ?, and a backslash before a literal character.
#ifndef RB_PROVIDERS_MOCK_GLOB_H
#define RB_PROVIDERS_MOCK_GLOB_H

#include <stdbool.h>

bool rb_mock_glob(const char *pattern, const char *text);

#endif
