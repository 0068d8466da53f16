// A run's report for people, from its rb-report/1 document: the best configuration, predicted beside actual,
// where the money went, and the proof that no instance is left.
#ifndef RB_VIEWS_REPORT_TABLE_H
#define RB_VIEWS_REPORT_TABLE_H

#include "base/doc.h"
#include "views/tables/text_table.h"

// What is paid for, in the order in which it is told: the members of cost_uusd.by, and what people call them.
enum { RB_REPORT_N_PARTS = 6 };
extern const struct rb_report_part {
    const char *key, *name;
} rb_report_parts[RB_REPORT_N_PARTS];

// How a run ended or stands, as people say it: "target" is "target reached". What is no outcome of rb-report/1 stays as it is.
const char *rb_report_outcome_words(const char *outcome);
// Did the run end without having done what it was for, by its own or a fault's doing? Then it is shown in red.
bool rb_report_outcome_is_failure(const char *outcome);

// Fails on a document that is not rb-report/1 or lacks what is shown here.
bool rb_report_table_write(const struct rb_node *report, const struct rb_text_style *style,
                           struct rb_buf *out, struct rb_err *err);

#endif
