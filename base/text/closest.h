// Finds the valid name that is closest to a misspelt one, for "did you mean" in messages.
#ifndef RB_BASE_CLOSEST_H
#define RB_BASE_CLOSEST_H

#include <stdbool.h>
#include <stddef.h>

// Is the word among the names? names ends with NULL.
bool rb_is_one_of(const char *word, const char *const *names);

// Among n names, the shortest that begins with the word, if the word has at least three letters; else the closest by
// edit distance, or NULL if none is close. NULL names are skipped.
const char *rb_closest(const char *word, const char *const *names, int n);

// The file or folder beside `path` whose name is closest to that of `path`, written with the same folder. False: none
// is close. Hidden files are skipped.
bool rb_closest_file(const char *path, char *out, size_t size);

#endif
