// Patterns as clouds' filters have them: * and ?, a backslash takes the next character literally.
#ifndef RB_PROVIDERS_MOCK_GLOB_H
#define RB_PROVIDERS_MOCK_GLOB_H

#include <stdbool.h>

bool rb_mock_glob(const char *pattern, const char *text);

#endif
