// Everything that is looked at before a cent is spent.
#ifndef RB_EXECUTOR_CHECKS_H
#define RB_EXECUTOR_CHECKS_H

#include "engine/plan/plan.h"

// Refuses what cannot work (unsupported keys, secrets that are not set, credentials) and warns of what may
// mislead (the job file changed since the plan was made, old prices, a busy host). plan_path: where the plan
// was read from.
bool rb_run_check(const struct rb_plan *plan, const char *plan_path, struct rb_err *err);

// May this process have as many files open as following the plan's trials takes (rb_launcher_open_files)? n_jobs share its
// nodes; 1 unless it is a pool's.
bool rb_run_check_open_files(const struct rb_plan *plan, int n_jobs, struct rb_err *err);

// The secrets that the job names, alone.
bool rb_run_check_secrets(const struct rb_job *job, struct rb_err *err);

// Deadline and budget of this run. deadline: a duration or an instant as text, NULL: the plan's; an instant becomes what
// remains of it. budget_uusd: the most that the plan must fit, -1: none; max_uusd: where the run stops, whether or not the
// plan is likely to fit, -1: nowhere. INFEASIBLE: the plan no longer fits them with its confidence.
bool rb_run_limits(const struct rb_plan *plan, const char *deadline, int64_t budget_uusd, int64_t max_uusd,
                   int64_t *out_deadline_us, int64_t *out_budget_uusd, struct rb_err *err);

// Real path of the plan's job file ("" if it was made from stdin or the file is gone) and of its work
// directory.
bool rb_run_places(const struct rb_plan *plan, const char *plan_path, char out_job[static 4096],
                   char out_workdir[static 4096], struct rb_err *err);

#endif
