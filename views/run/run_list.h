// Every run on this machine, newest first: a table, or rb-runs/1.
#ifndef RB_VIEWS_RUN_LIST_H
#define RB_VIEWS_RUN_LIST_H

#include "base/err.h"

// Prints. state_dir NULL: the user's own. A run that cannot be read is one of its rows.
bool rb_run_list_print(const char *state_dir, bool json, struct rb_err *err);

#endif
