// A directory for readers of several files: made at the first call, removed with its files when the process ends.
#ifndef RB_TESTS_FUZZ_TEMP_DIR_H
#define RB_TESTS_FUZZ_TEMP_DIR_H

#include <stddef.h>

const char *temp_dir(void);
// Path of a file in it; [4]: as many at a time.
const char *temp_path(const char *name);
// The file has these bytes and no others.
void temp_write(const char *name, const void *bytes, size_t n);
void temp_remove(const char *name); // one that is not there is fine

#endif
