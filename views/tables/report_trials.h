// What tables of trials share, from an rb-report/1 document: the columns of their parameters, and why a trial has them.
#ifndef RB_VIEWS_REPORT_TRIALS_H
#define RB_VIEWS_REPORT_TRIALS_H

#include "base/document/doc.h"
#include "base/limits.h"
#include "base/text/buf.h"

// Names of all parameters that any trial has: a trial lacks those that do not apply to it. In the order of `declared`,
// a map of the job's parameters; NULL: in that of the trials. Returns how many. out: borrowed from the documents.
int rb_report_parameters(const struct rb_node *report, const struct rb_node *declared,
                         const char *out[static RB_LIMIT_PARAMETERS]);

// Was any configuration proposed by a sampler? Without one they follow from the seed.
bool rb_report_has_reasons(const struct rb_node *report);
// "tpe: 2.4 times as dense among 5 good trials as among 23 others"; "-" where no sampler proposed it.
void rb_report_trial_reason(const struct rb_node *trial, struct rb_buf *out);
// The same of its parts, which may be NULL or "". Another program may have written them: one line, without controls.
void rb_report_reason_write(const char *origin, const char *because, struct rb_buf *out);

#endif
