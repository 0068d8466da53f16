// Prints the runs of this machine, newest first: as a table, or as rb-runs/1.
#ifndef RB_VIEWS_RUN_LIST_H
#define RB_VIEWS_RUN_LIST_H

#include "executor/browse/run_list.h"

// Prints. An unreadable run is one of its rows.
bool rb_run_list_print(const struct rb_run_sources *sources, bool json, struct rb_err *err);

#endif
