// Reads the job, profile and prices that a command line names; for rbplan and rbsim.
#ifndef RB_COMMANDS_RBPLAN_INPUTS_H
#define RB_COMMANDS_RBPLAN_INPUTS_H

#include "base/options.h"
#include "profiles/inputs/plan_inputs.h"

// Reads the named job, with --set, --deadline, --budget, --confidence and --seed, and then the overrides `more`. Owns:
// finish *out with rb_plan_inputs_finish, but not after a failure.
bool rb_args_job(const struct rb_args *args, const char *const *more, int n_more, struct rb_plan_inputs *out,
                 struct rb_err *err);
bool rb_args_job_again(const struct rb_args *args, const char *const *more, int n_more, struct rb_plan_inputs *in,
                       struct rb_job *out, struct rb_err *err);
// Finds the job's profile and prices: --db, --prices, --profile-file.
bool rb_args_find_inputs(const struct rb_args *args, struct rb_plan_inputs *in, struct rb_err *err);

#endif
