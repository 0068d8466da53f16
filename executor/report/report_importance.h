// How much each parameter of a run explains of its results (samplers/importance.h), from the journal and the report:
// the `importance` of rb-run-page/1 (docs/formats/run-page.md). No other part of a run reads it.
#ifndef RB_EXECUTOR_REPORT_IMPORTANCE_H
#define RB_EXECUTOR_REPORT_IMPORTANCE_H

#include "executor/report/report.h"

// Writes the object. report: made from the same journal before; later entries of the journal are left out.
bool rb_report_importance_write(struct rb_journal *j, const struct rb_report *report, struct rb_json *out,
                                struct rb_err *err);

#endif
