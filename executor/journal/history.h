// Writes what happened when in a run, for the pages: nodes with their phases, starts of trials with place and end,
// reports, GPUs owned and used, dollars spent. Reads only the journal and the report made from it; decides nothing.
#ifndef RB_EXECUTOR_HISTORY_H
#define RB_EXECUTOR_HISTORY_H

#include "executor/report/report.h"

// Most reports of one trial; no screen shows more. A longer curve is thinned evenly; its first and last report stay.
#define RB_HISTORY_REPORTS 400
// Most saves, and refused requests, of a run, for the same reason.
#define RB_HISTORY_INSTANTS 2000
// Number of instants at which the dollars so far are listed.
#define RB_HISTORY_SPENT 400

// Writes the `history` of rb-run-page/1 (docs/formats/run-page.md). report: made from the same journal before. Later
// entries of the journal are left out, so that both describe the same instant.
bool rb_history_write(struct rb_journal *j, const struct rb_report *report, struct rb_json *out, struct rb_err *err);

#endif
