// What a run shows about its parameters: parallel coordinates, how much each explains of the results, and slices.
#ifndef RB_VIEWS_RUN_PAGE_PARAMETERS_H
#define RB_VIEWS_RUN_PAGE_PARAMETERS_H

#include "base/document/doc.h"
#include "views/pages/page.h"

// document: an rb-run-page/1 that was checked; one without `importance` says nothing about it. live: all figures are
// there from the beginning.
void rb_run_page_parameters(struct rb_page *p, const struct rb_node *document, bool live);

#endif
