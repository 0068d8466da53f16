// Splitting bills: an amount by weights so that the parts add up to it.
#ifndef RB_EXECUTOR_REPORT_SPLIT_H
#define RB_EXECUTOR_REPORT_SPLIT_H

#include "executor/report.h"
#include "profiles/billing.h"

// Largest remainder method (Hamilton): parts in proportion to the weights (>= 0), ties by index; they sum to
// `total`. All weights 0: everything goes to `fallback`.
void rb_report_apportion(int64_t total, const int64_t *weights, int n, int fallback, int64_t *out_parts);

// Adds one node's bill to `by`. Times since the start of the run; ready_us -1: never.
void rb_report_split_node(const struct rb_bill *bill, const struct rb_report_node *node, int gpus,
                          const struct rb_task_row *tasks, int n_tasks, int64_t now_us,
                          struct rb_report_cost *by);

// Adds the node's whole bill to the stages, by its time in each; before the first and after the last counts
// as theirs.
void rb_report_split_stages(const struct rb_report_node *node, int64_t now_us, struct rb_report_stage *stages,
                            int n);

#endif
