// Can this host reach the nodes of a run that another host has launched? Asked before the run is accepted here.
#ifndef RB_EXECUTOR_REACH_H
#define RB_EXECUTOR_REACH_H

#include "engine/plan/plan.h"
#include "executor/journal/journal.h"

// True: at least one node of each infra that is reached by ssh takes a connection, or there is none. A single node may have
// been lost, which the run finds out itself. Error: NODE_LOST, naming what was tried.
bool rb_reach_nodes(const struct rb_plan *plan, struct rb_journal *journal, struct rb_err *err);

#endif
