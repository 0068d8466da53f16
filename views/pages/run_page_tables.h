// The tables of a run's page, each from the whole document. Unknown values are shown as unknown, never as 0.
#ifndef RB_VIEWS_RUN_PAGE_TABLES_H
#define RB_VIEWS_RUN_PAGE_TABLES_H

#include "base/document/doc.h"
#include "views/pages/page.h"

#define RB_RUN_PAGE_TRIALS 1000 // rows of the table of trials, the best first; the document has all of them

const struct rb_node *rb_run_page_job(const struct rb_node *document); // the job with every key resolved; NULL: none

// Nothing has a price for this run, as on the user's own machine, or a pool pays: shares of time are shown, not of
// $0.00.
bool rb_run_page_is_of_cpus(const struct rb_node *document); // the job has trial.cpus: no GPUs
bool rb_run_page_is_free(const struct rb_node *document);

// A section, only while the run is not over.
void rb_run_page_progress(struct rb_page *p, const struct rb_node *document);
void rb_run_page_stages(struct rb_page *p, const struct rb_node *document);
void rb_run_page_parts(struct rb_page *p, const struct rb_node *document);     // of the bill
void rb_run_page_time_parts(struct rb_page *p, const struct rb_node *document); // of the nodes' GPU time
void rb_run_page_beside(struct rb_page *p, const struct rb_node *document);
void rb_run_page_trials(struct rb_page *p, const struct rb_node *document); // section and table
void rb_run_page_nodes(struct rb_page *p, const struct rb_node *document);  // likewise
void rb_run_page_events(struct rb_page *p, const struct rb_node *document); // likewise: replans, faults, stops, warnings

#endif
