// Branch and bound over the tables: stage by stage, depth first, most promising choice first.
#ifndef RB_PLANNER_BRANCH_H
#define RB_PLANNER_BRANCH_H

#include "planner/search/optimum.h"

// Improves op's best until every plan of the tables is excluded, or the node, time or memory limit is reached
// (op->cut).
// slopes: prices of time (or of money, for min_time) to bound with, [n_slopes]; 0 is always included.
bool rb_branch(struct rb_optimum *op, const double *slopes, int n_slopes, struct rb_err *err);

#endif
