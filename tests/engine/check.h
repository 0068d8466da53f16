// What the tests of this folder share: cmocka with the headers it wants, and a check of an error's words.
#ifndef RB_TESTS_ENGINE_CHECK_H
#define RB_TESTS_ENGINE_CHECK_H

#include "base/errors/err.h"

#include "tests/base/says.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

// Fails with both texts in sight unless `words` occur in the place, the key or the message.
static inline void assert_says(const struct rb_err *err, const char *words)
{
    if (!error_says(err, words) && !strstr(err->key, words))
        fail_msg("expected \"%s\" in \"RB%d %s: %s\"", words, rb_err_number(err), err->key, err->message);
}

#endif
