// What an ended run leaves in the profile store for later runs with the same search space.
#ifndef RB_EXECUTOR_SEARCH_FOUND_H
#define RB_EXECUTOR_SEARCH_FOUND_H

#include "executor/journal/run_files.h"
#include "profiles/store/store.h"

// Replays the journal: every trial's results at the ends of the scheduler's rungs, with their metrics and ranks, in the
// caller's transaction. A job without a parameter to search leaves nothing.
bool rb_search_leave(const struct rb_run_files *f, struct rb_journal *j, struct rb_store *s, struct rb_err *err);

#endif
