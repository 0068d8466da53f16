// The key facts of a run, large, above the sections of its page: cost, time, outcome, the best trial, failures.
#ifndef RB_VIEWS_RUN_PAGE_FACTS_H
#define RB_VIEWS_RUN_PAGE_FACTS_H

#include "base/document/doc.h"
#include "views/pages/page.h"

// document: an rb-run-page/1 that was checked. Red: an outcome that is a failure, a limit that was not kept, a part
// that failed.
void rb_run_page_facts(struct rb_page *p, const struct rb_node *document);

#endif
