// The bills of a run, split by what its journal says of its starts and stages (engine/bill_split.h).
#ifndef RB_EXECUTOR_REPORT_SPLIT_H
#define RB_EXECUTOR_REPORT_SPLIT_H

#include "executor/report.h"

// Adds one node's bill to `by`. Times since the start of the run; ready_us -1: never.
void rb_report_split_node(const struct rb_bill *bill, const struct rb_report_node *node, int gpus,
                          const struct rb_task_row *tasks, int n_tasks, int64_t now_us,
                          struct rb_bill_parts *by);

// Adds the node's whole bill to the stages, by its time in each; before the first and after the last counts
// as theirs.
void rb_report_split_stages(const struct rb_report_node *node, int64_t now_us, struct rb_report_stage *stages,
                            int n);

#endif
