// The two series of a run's history: the GPUs it had and the dollars it spent, over time.
#ifndef RB_EXECUTOR_HISTORY_SERIES_H
#define RB_EXECUTOR_HISTORY_SERIES_H

#include "executor/report/report.h"

// From at_us on, the run has these GPUs of a node that it shares with others.
struct rb_lent_change {
    int64_t at_us;
    int node;
    uint64_t gpus; // bit mask
};

// Writes "gpus": at every change, the GPUs of nodes that are paid for, the GPUs on which a trial runs, and dollars an
// hour. Of a lent node only the lent GPUs count.
void rb_history_gpus_write(const struct rb_report *r, const struct rb_lent_change *lent, int n_lent, struct rb_json *j);

// Writes "spent": the dollars so far, had every node ended then; the last row is the report's cost. Errors: a missing
// price.
bool rb_history_spent_write(const struct rb_report *r, struct rb_json *j, struct rb_err *err);

// Writes "columns": the names of the values in each of "rows".
void rb_history_columns_write(const char *const *names, int n, struct rb_json *j);

#endif
