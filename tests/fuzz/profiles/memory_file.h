// A file in memory for readers that take a path; the same one each time, with other bytes.
#ifndef RB_TESTS_FUZZ_MEMORY_FILE_H
#define RB_TESTS_FUZZ_MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>

const char *memory_file_with(const uint8_t *bytes, size_t n);

#endif
