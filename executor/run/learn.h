// What an ended run leaves in the profile store: for later runs what its search found (executor/search/found.h), and for later
// plans of its job the times of the units that its trials trained, the delays of its nodes, and how what its plan predicted
// compares with what happened (profiles/store/ended.h).
#ifndef RB_EXECUTOR_LEARN_H
#define RB_EXECUTOR_LEARN_H

#include "executor/journal/run_files.h"
#include "profiles/store/store.h"

// Replays the journal, in a transaction of its own: all of it or nothing is left. What the run left before is replaced.
// Units: of starts that reported at least three times, each time one unit later, and had their GPUs for themselves; only
// if the plan was made with a profile that rbprofile measured, of the same command, parameters and scripts.
// Delays: of nodes that the run rented itself; and how long nodes carried out data.fetch, on this machine, too.
// How the prediction fared: of a run that came to its end or was ended by a
// limit; one that the user stopped, that found its target, that failed or that was resumed says nothing of it.
bool rb_run_learn(const struct rb_run_files *f, struct rb_journal *j, struct rb_store *s, struct rb_err *err);

#endif
