// Where runs live: $XDG_STATE_HOME/rubberband/runs/<run-id>/ (or --state-dir), 0700. journal.db, plan.json, keys/,
// logs/trial-0007.log, checkpoints/trial-0007/stage-1/, events.jsonl, report.json, rbrun.log (of a detached run), ended
// (executor/run/ending.h).
#ifndef RB_EXECUTOR_RUN_DIR_H
#define RB_EXECUTOR_RUN_DIR_H

#include "base/errors/err.h"

#include <stddef.h>

// state_dir NULL: from the environment. The result is absolute.
bool rb_run_dir_root(const char *state_dir, char *out, size_t size, struct rb_err *err);
bool rb_run_dir_make(const char *path, struct rb_err *err); // with all its parents, 0700
// Run ids: <job>-<UTC yyyymmdd-hhmmss>-<6 random base32>; lower case, fit EC2 tags and GCP labels.
void rb_run_dir_new_id(const char *job_name, char *out, size_t size);
bool rb_run_dir_check_id(const char *text, struct rb_err *err); // is it one?
// run_id "": gets a new one; else that id is used, and fails if there is such a run.
bool rb_run_dir_create(const char *root, const char *job_name, char *run_id, size_t id_size, char *out_dir,
                       size_t dir_size, struct rb_err *err);
// Takes the directory of a run away that could not begin, with all that is in it: it would be the newest run from then on, and
// one without a journal.
void rb_run_dir_forget(const char *dir);
// Finds a run by its id, else by the whole name of its job, else by a prefix, which must fit only one run; "" or NULL:
// the newest run. NOT_FOUND lists the newest few. out_n_others NULL: a job's name must fit only one run, too; otherwise
// its newest run is taken, and *out_n_others is the number of its others.
bool rb_run_dir_find(const char *root, const char *run, char *out_run_id, size_t id_size, char *out_dir,
                     size_t dir_size, int *out_n_others, struct rb_err *err);
// Orders names for qsort: newest first, then those that are no run ids.
int rb_run_dir_newest_first(const char *a, const char *b);
// Calls fn for every run, newest first.
bool rb_run_dir_each(const char *root, void (*fn)(void *ctx, const char *run_id, const char *dir), void *ctx,
                     struct rb_err *err);

#endif
