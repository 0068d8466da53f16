// What a run had and spent over time: the two series of its history.
#ifndef RB_EXECUTOR_HISTORY_SERIES_H
#define RB_EXECUTOR_HISTORY_SERIES_H

#include "executor/report/report.h"

// From now on, these GPUs of a node that others use as well are this run's.
struct rb_lent_change {
    int64_t at_us;
    int node;
    uint64_t gpus; // bit mask
};

// "gpus": at every change the GPUs of nodes that are paid for, those of them that a trial is on, and dollars an hour. Of a
// node that is lent only what is lent counts.
void rb_history_gpus_write(const struct rb_report *r, const struct rb_lent_change *lent, int n_lent, struct rb_json *j);

// "spent": dollars so far, had every node ended then; the last row is the report's cost. Errors: a price that is missing.
bool rb_history_spent_write(const struct rb_report *r, struct rb_json *j, struct rb_err *err);

// "columns": the names of what stands in each of "rows".
void rb_history_columns_write(const char *const *names, int n, struct rb_json *j);

#endif
