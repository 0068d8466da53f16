// Writes the catalogue of errors (base/errors/err_catalog.h) for readers: one row on a terminal, or all of them as
// docs/errors/README.md.
#ifndef RB_VIEWS_ERROR_CATALOG_H
#define RB_VIEWS_ERROR_CATALOG_H

#include "base/text/buf.h"
#include "base/errors/err.h"

#include <stdbool.h>

// Has the text the form of a number, such as RB1112 or rb1112, whether or not there is such a row?
bool rb_is_error_number(const char *text);
// Appends cause, remedy, example and area of that number.
bool rb_error_explain_write(const char *number, struct rb_buf *out, struct rb_err *err);
// Appends the whole catalogue in Markdown, with an anchor for each number.
void rb_error_page_write(struct rb_buf *out);

#endif
