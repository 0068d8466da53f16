// The run's money: what it has spent, what is reserved, and what the budget still allows. Inside the controller only;
// spend.h computes the cost of one launch.
#ifndef RB_EXECUTOR_BUDGET_H
#define RB_EXECUTOR_BUDGET_H

#include "executor/controller/spend.h"

struct rb_controller;
struct rb_run_node;

// Does the budget cover what is spent, what is reserved, and this amount?
bool rb_controller_within_budget(const struct rb_controller *c, int64_t reserve_uusd);
// The end of the instance if it ends now, until the cloud reports a time; on the cloud's clock where that is known.
int64_t rb_run_node_estimate_end(const struct rb_run_node *n);
void rb_run_node_bill(struct rb_run_node *n); // GONE: its final cost, into the row
// GONE: the same, because the prices of its market came later; false: the journal failed.
bool rb_run_node_rebill(struct rb_run_node *n);

#endif
