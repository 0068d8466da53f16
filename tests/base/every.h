// How much of a long list a test goes through: each with RB_TEST_EVERY=1 (docs/HACKING.md), every `usual`-th in the suite.
#ifndef RB_TESTS_BASE_EVERY_H
#define RB_TESTS_BASE_EVERY_H

#include <stdlib.h>

static inline int test_every(int usual)
{
    const char *every = getenv("RB_TEST_EVERY");
    return every && atoi(every) > 0 ? atoi(every) : usual;
}

#endif
