// A run as a page for a browser, from its rb-run-page/1 document (docs/formats/run-page.md): what ran where and when
// beside the plan, GPUs, learning curves, dollars, prediction and outcome, trials, nodes, faults, and whether any
// instance is left.
#ifndef RB_VIEWS_RUN_PAGE_H
#define RB_VIEWS_RUN_PAGE_H

#include "base/document/doc.h"
#include "base/errors/err.h"
#include "views/pages/page.h"

// text: the document as JSON, n bytes. live: the page asks for newer ones (views/pages/page.h). INVALID: not an rb-run-page/1.
bool rb_run_page_write(const char *text, size_t n, bool live, struct rb_buf *out, struct rb_err *err);

// Writes what a live page requests, rb-live/1: the document with its words and tables as HTML, and whether the run has
// ended.
bool rb_run_page_live(const char *text, size_t n, bool ended, struct rb_buf *out, struct rb_err *err);

// The sentence at the top: outcome, time and cost beside the prediction, the best trial. document: parsed.
void rb_run_page_summary(const struct rb_node *document, struct rb_buf *out);

#endif
