// The run's money: what it has spent, what is reserved, and what the budget still allows. Inside the controller only; what
// one launch costs is computed by spend.h.
#ifndef RB_EXECUTOR_BUDGET_H
#define RB_EXECUTOR_BUDGET_H

#include "executor/controller/spend.h"

struct rb_controller;
struct rb_run_node;

// Does the budget pay for what is spent, what is reserved, and this?
bool rb_controller_within_budget(const struct rb_controller *c, int64_t reserve_uusd);
// When the instance ends if it ends now, until the cloud reports a time. On the cloud's clock where anything of that is known.
int64_t rb_run_node_estimate_end(const struct rb_run_node *n);
void rb_run_node_bill(struct rb_run_node *n); // GONE: its final cost, into the row

#endif
