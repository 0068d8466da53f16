// A run's report as CSV for spreadsheets and data frames, from its rb-report/1 document: one table at a time, with
// columns named like the report's keys and units last. RFC 4180: CRLF, text quoted. Unknown values are empty fields.
// Source: docs/formats/report.md.
#ifndef RB_VIEWS_REPORT_CSV_H
#define RB_VIEWS_REPORT_CSV_H

#include "base/text/buf.h"
#include "base/document/doc.h"

// "costs, nodes, notes, stages or trials": for help and errors.
#define RB_REPORT_CSV_TABLES "costs, nodes, notes, stages or trials"

// Trials have a column for each parameter, `params.lr`, and where a sampler proposed them `origin` and `because`. Text that a spreadsheet would take for a formula (it begins with
// = + - @, a tab or CR) is preceded by an apostrophe; numbers never are. Errors: no such table, no rb-report/1.
bool rb_report_csv_write(const struct rb_node *report, const char *table, struct rb_buf *out, struct rb_err *err);

#endif
