// The entry point that libFuzzer and replay_main.c both call.
#ifndef RB_TESTS_FUZZ_FUZZ_H
#define RB_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#endif
