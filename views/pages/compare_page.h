// Two runs side by side as a page, from their rb-compare/1: figures, what their jobs differ in, best configurations,
// and the best metric so far against dollars and against time on one chart each, with the ends of rungs.
#ifndef RB_VIEWS_COMPARE_PAGE_H
#define RB_VIEWS_COMPARE_PAGE_H

#include "base/errors/err.h"
#include "base/text/buf.h"

// text: the document as JSON, n bytes. addresses: where the pages of the two runs are; NULL: nowhere.
bool rb_compare_page_write(const char *text, size_t n, const char *const addresses[2], struct rb_buf *out,
                           struct rb_err *err);

#endif
