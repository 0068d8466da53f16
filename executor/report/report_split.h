// Splits the bills of a run by the starts and stages in its journal (engine/plan/bill_split.h).
#ifndef RB_EXECUTOR_REPORT_SPLIT_H
#define RB_EXECUTOR_REPORT_SPLIT_H

#include "executor/report/report.h"

// Converts an instant of the cloud's clock to the run's time; -1 (unknown) stays. Clouds report whole seconds and their
// clocks differ from ours, so the instant may seem to lie before the request or before the run. It then counts as the
// instant of the request.
int64_t rb_report_run_time_us(int64_t unix_us, int64_t started_unix_us, int64_t requested_us);

// Adds one node's bill to `by`. Times since the start of the run; ready_us -1: never.
void rb_report_split_node(const struct rb_bill *bill, const struct rb_report_node *node, int gpus,
                          const struct rb_task_row *tasks, int n_tasks, int64_t now_us,
                          struct rb_bill_parts *by);

// Computes what the node's GPUs did, from running until the node ended or now. lent_us: for a pool's node, GPU time for
// which the run had some of them; -1: the node is the run's own.
void rb_report_split_time(const struct rb_report_node *node, int gpus, const struct rb_task_row *tasks, int n_tasks,
                          int64_t now_us, int64_t lent_us, struct rb_node_time *out);

// Adds the node's whole bill to the stages, by its time in each. Time before the first stage counts as the first's, and
// time after the last as the last's.
void rb_report_split_stages(const struct rb_report_node *node, int64_t now_us, struct rb_report_stage *stages,
                            int n);

#endif
