// What the tests of measured profiles share: cmocka with the headers it wants, a check of an error's words, normal
// numbers with a seed, and a directory of its own for each test that needs files.
#ifndef RB_TESTS_PROFILES_MEASURED_H
#define RB_TESTS_PROFILES_MEASURED_H

#include "base/arena.h"
#include "base/errors/err.h"
#include "base/stream.h"

#include "tests/base/says.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

// Fails with both texts in sight unless `words` occur in the message.
static inline void assert_says(const struct rb_err *err, const char *words)
{
    if (!error_says(err, words)) {
        fail_msg("expected \"%s\" in \"RB%d %s\"", words, rb_err_number(err), err->message);
    }
}

static inline void assert_close(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance)) {
        fail_msg("expected %.10g +- %.3g, got %.10g", expected, tolerance, actual);
    }
}

// Fails with the error in sight.
static inline void assert_ok(bool ok, const struct rb_err *err)
{
    if (!ok) {
        fail_msg("%s:%d: %s: %s", err->file, err->line, err->key, err->message);
    }
}

static inline struct rb_stream test_stream(uint64_t seed, uint32_t replicate)
{
    struct rb_stream s;
    const struct rb_stream_key key = {.seed = seed, .purpose = RB_DRAW_SEARCH, .replicate = replicate};
    rb_stream_init(&s, &key);
    return s;
}

// Box and Muller: independent of the inversion that the program draws by.
static inline double draw_normal(struct rb_stream *s)
{
    const double radius = sqrt(-2 * log(rb_stream_uniform(s)));
    return radius * cos(2 * 3.14159265358979323846 * rb_stream_uniform(s));
}

#endif
