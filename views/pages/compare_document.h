// rb-compare/1: two runs side by side, from their rb-run-page/1 documents: what their jobs differ in, figures, best
// configurations, rungs, and the best metric so far over time and dollars.
#ifndef RB_VIEWS_COMPARE_DOCUMENT_H
#define RB_VIEWS_COMPARE_DOCUMENT_H

#include "base/document/json.h"
#include "executor/browse/run_row.h"

struct rb_compared {
    const char *run, *from;         // as in struct rb_run_row
    const struct rb_node *document; // rb-run-page/1
};

// Appends the document. INVALID: one of the two is no rb-run-page/1.
bool rb_compare_document(const struct rb_compared two[static 2], struct rb_buf *out, struct rb_err *err);

#endif
