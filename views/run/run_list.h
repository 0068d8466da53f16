// Lists every run on this machine, newest first: as a table, or as rb-runs/1.
#ifndef RB_VIEWS_RUN_LIST_H
#define RB_VIEWS_RUN_LIST_H

#include "base/errors/err.h"

// Prints. state_dir NULL: the user's own. An unreadable run is one of its rows.
bool rb_run_list_print(const char *state_dir, bool json, struct rb_err *err);

#endif
