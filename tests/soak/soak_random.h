// rb_random_bytes of the programs under test, from a seed: linked with --wrap, so that a failing run can be run again.
#ifndef RB_TESTS_SOAK_RANDOM_H
#define RB_TESTS_SOAK_RANDOM_H

#include <stddef.h>
#include <stdint.h>

void soak_random_seed(uint64_t seed); // every byte from now on follows from it
void __wrap_rb_random_bytes(void *out, size_t n);

#endif
