// Searches a table by its first column: an array of structs whose first member is a const char *, or of const char *.
#ifndef RB_BASE_TABLE_H
#define RB_BASE_TABLE_H

#include <stddef.h>

// The first row with that text; NULL: none, or text is NULL. Rows without a text are skipped.
#define RB_ROW_OF(table, text) rb_row_of(table, sizeof(table) / sizeof *(table), sizeof *(table), text)
const void *rb_row_of(const void *table, size_t n, size_t row_size, const char *text);

// The first row whose text is the beginning of the given one; likewise.
#define RB_ROW_STARTING(table, text) rb_row_starting(table, sizeof(table) / sizeof *(table), sizeof *(table), text)
const void *rb_row_starting(const void *table, size_t n, size_t row_size, const char *text);

#endif
