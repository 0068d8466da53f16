// Makes the document of a run's page from its journal and plan, and the page and the picture from that.
#ifndef RB_VIEWS_RUN_DOCUMENT_H
#define RB_VIEWS_RUN_DOCUMENT_H

#include "executor/journal/journal.h"
#include "views/live/progress.h"

// Appends an rb-run-page/1 (docs/formats/run-page.md). at_work: some process executes the run. progress: how it will
// end; NULL: no prediction.
bool rb_run_page_document(struct rb_journal *j, const struct rb_plan *plan, bool at_work,
                          const struct rb_progress *progress, struct rb_buf *out, struct rb_err *err);

// Writes the page, or the picture of what ran where and when as SVG, into a file.
bool rb_run_page_save(struct rb_journal *j, const struct rb_plan *plan, bool at_work, const char *path,
                      struct rb_err *err);
bool rb_run_gantt_save(struct rb_journal *j, const struct rb_plan *plan, bool at_work, const char *path,
                       struct rb_err *err);

// Prints the report on stdout, as a table or as rb-report/1.
bool rb_run_report_print(struct rb_journal *j, const struct rb_plan *plan, bool at_work, bool json, struct rb_err *err);

#endif
