#include "base/text/table.h"

#include <stdbool.h>
#include <string.h>

static const void *find(const void *table, size_t n, size_t row_size, const char *text, bool whole)
{
    const char *row = table;
    for (size_t i = 0; text && i < n; i++, row += row_size) {
        const char *own;
        memcpy(&own, row, sizeof own);
        if (own && (whole ? strcmp(own, text) == 0 : strncmp(own, text, strlen(own)) == 0))
            return row;
    }
    return NULL;
}

const void *rb_row_of(const void *table, size_t n, size_t row_size, const char *text)
{
    return find(table, n, row_size, text, true);
}

const void *rb_row_starting(const void *table, size_t n, size_t row_size, const char *text)
{
    return find(table, n, row_size, text, false);
}
