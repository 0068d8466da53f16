// Rows of numbers below a line of names: CSV files, and the tables that fastai prints.
#ifndef RB_EXECUTOR_METRIC_TABLE_H
#define RB_EXECUTOR_METRIC_TABLE_H

#include "base/text/buf.h"
#include "executor/metrics/metric_line.h"

enum { RB_TABLE_COLUMNS = 512 }; // the rest of a longer row is ignored

// All zero: no header was seen.
struct rb_metric_table {
    struct rb_buf names; // each with its end
    int n_columns;
};
void rb_metric_table_finish(struct rb_metric_table *t);

// separator: ','; or ' ' for runs of blanks. A line with a cell that equals `key` is the header, also later ones. Cells that are
// empty or no number are left out.
void rb_metric_table_line(struct rb_metric_table *t, const char *line, size_t n, char separator, const char *key,
                          rb_metric_value_fn *fn, void *ctx);

#endif
