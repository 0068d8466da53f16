// What must hold, or the fuzzer has found something.
#ifndef RB_TESTS_FUZZ_REQUIRE_H
#define RB_TESTS_FUZZ_REQUIRE_H

#include <stdbool.h>
#include <stdlib.h>

static inline void require(bool holds)
{
    if (!holds)
        abort();
}

#endif
