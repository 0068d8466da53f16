// What the tests of this folder share: cmocka with the headers it wants, documents from text, and errors
// compared by the words and the place that a person would look for.
#ifndef RB_TESTS_PROFILES_CHECK_H
#define RB_TESTS_PROFILES_CHECK_H

#include "base/document/doc.h"
#include "base/stream.h"

#include "tests/base/says.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

// Fails with both texts in sight unless `words` occur in the message.
static inline void assert_says(const struct rb_err *err, const char *words)
{
    if (!error_says(err, words))
        fail_msg("expected \"%s\" in \"RB%d %s\"", words, rb_err_number(err), err->message);
}

static inline void assert_near(double got, double expected, double relative)
{
    if (!(fabs(got - expected) <= relative * fmax(fabs(expected), 1e-300)))
        fail_msg("expected %.17g, got %.17g", expected, got);
}

static inline struct rb_doc parse_yaml(const char *text)
{
    struct rb_doc doc;
    struct rb_err err = {0};
    if (!rb_doc_parse_yaml(&doc, "test.yaml", text, strlen(text), &err))
        fail_msg("%s:%d: %s", err.file, err.line, err.message);
    return doc;
}

static inline struct rb_doc parse_json(const char *text)
{
    struct rb_doc doc;
    struct rb_err err = {0};
    if (!rb_doc_parse_json(&doc, "test.json", text, strlen(text), &err))
        fail_msg("%s:%d: %s in %s", err.file, err.line, err.message, text);
    return doc;
}

// The stream of a property test: one per topic and case, so that a failing case can be run alone.
// RB_TEST_SEED chooses another seed.
static inline struct rb_stream test_stream(uint32_t topic, uint32_t index)
{
    struct rb_stream s;
    const char *seed = getenv("RB_TEST_SEED");
    const struct rb_stream_key key = {.seed = seed ? strtoull(seed, NULL, 10) : 2,
                                      .purpose = RB_DRAW_SEARCH,
                                      .stage = topic,
                                      .index = index};
    rb_stream_init(&s, &key);
    return s;
}

#endif
