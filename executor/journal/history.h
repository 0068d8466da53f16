// What happened when in a run, for whoever draws it: nodes with their phases, starts of trials with place and end, reports,
// GPUs owned and used, dollars spent. From the journal and the report that was made of it; decides nothing.
#ifndef RB_EXECUTOR_HISTORY_H
#define RB_EXECUTOR_HISTORY_H

#include "executor/report/report.h"

// Of one trial; a longer curve is thinned evenly, its first and last report kept: no screen shows more.
#define RB_HISTORY_REPORTS 400
// Instants at which the dollars so far are told.
#define RB_HISTORY_SPENT 400

// Writes the `history` of rb-run-page/1 (docs/formats/run-page.md). report: made from the same journal before; what was
// written since is left out, so that both tell of the same instant.
bool rb_history_write(struct rb_journal *j, const struct rb_report *report, struct rb_json *out, struct rb_err *err);

#endif
