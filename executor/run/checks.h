// Checks everything before any money is spent.
#ifndef RB_EXECUTOR_CHECKS_H
#define RB_EXECUTOR_CHECKS_H

#include "engine/plan/plan.h"

// Refuses what cannot work (unsupported keys, secrets that are not set, credentials) and warns about what may mislead
// (the job file changed since the plan was made, old prices, a busy host). plan_path: where the plan was read from.
bool rb_run_check(const struct rb_plan *plan, const char *plan_path, struct rb_err *err);

// What a plan needs of this host, wherever it was made: secrets, open files, credentials.
bool rb_run_check_host(const struct rb_plan *plan, struct rb_err *err);

// May this process open enough files to follow the plan's trials (rb_launcher_open_files)? n_jobs share its nodes; 1
// unless it is a pool's plan.
bool rb_run_check_open_files(const struct rb_plan *plan, int n_jobs, struct rb_err *err);

// Checks only the secrets that the job and its hooks name.
bool rb_run_check_secrets(const struct rb_job *job, struct rb_err *err);

// Real path of the plan's job file ("" if it was made from stdin or the file is gone) and of its work
// directory.
bool rb_run_places(const struct rb_plan *plan, const char *plan_path, char out_job[static 4096],
                   char out_workdir[static 4096], struct rb_err *err);

#endif
