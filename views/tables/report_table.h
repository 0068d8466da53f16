// A run's report for people, from its rb-report/1 document: the best configuration, predicted beside actual,
// where the money went, and the proof that no instance is left.
#ifndef RB_VIEWS_REPORT_TABLE_H
#define RB_VIEWS_REPORT_TABLE_H

#include "base/document/doc.h"
#include "views/tables/text_table.h"

// The parts of the cost in the order of the table: the members of cost_uusd.by, and their names for people.
enum { RB_REPORT_N_PARTS = 6 };
extern const struct rb_report_part {
    const char *key, *name;
} rb_report_parts[RB_REPORT_N_PARTS];

// How a run ended or stands, in words: "target" is "target reached". A text that is no outcome of rb-report/1 stays as
// it is.
const char *rb_report_outcome_words(const char *outcome);
// Did the run end without its purpose, by itself or by a fault? Then it is shown in red.
bool rb_report_outcome_is_failure(const char *outcome);
// Did no cloud bill any of the cost: were all machines there anyway, and the price list says what their time is worth?
bool rb_report_is_attributed(const struct rb_node *report);

// Fails on a document that is not rb-report/1 or lacks a member that is shown.
bool rb_report_table_write(const struct rb_node *report, const struct rb_text_style *style,
                           struct rb_buf *out, struct rb_err *err);

#endif
