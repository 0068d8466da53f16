// The page of a plan: what it costs and when it ends, in charts and in words, for a browser or on paper. Its document,
// rb-plan-page/1 (docs/formats/page.md), holds everything it shows; the words need no script.
#ifndef RB_VIEWS_PLAN_PAGE_H
#define RB_VIEWS_PLAN_PAGE_H

#include "base/document/doc.h"
#include "engine/plan/plan.h"

// document: text, parsed; of the same plan. Both as views/pages/plan_document.c writes them: a missing member is a
// programming error.
void rb_plan_page_write(const struct rb_plan *plan, const struct rb_node *document, const char *text, struct rb_buf *out);

#endif
