// Job, profile and prices as a command line names them: of rbplan and rbsim.
#ifndef RB_COMMANDS_RBPLAN_INPUTS_H
#define RB_COMMANDS_RBPLAN_INPUTS_H

#include "base/options.h"
#include "profiles/inputs/plan_inputs.h"

// The job that is named, with --set, --deadline, --budget, --confidence and --seed, and `more` overrides that come after
// those. Owns: finish *out with rb_plan_inputs_finish; nothing is to be finished after a failure.
bool rb_args_job(const struct rb_args *args, const char *const *more, int n_more, struct rb_plan_inputs *out,
                 struct rb_err *err);
bool rb_args_job_again(const struct rb_args *args, const char *const *more, int n_more, struct rb_plan_inputs *in,
                       struct rb_job *out, struct rb_err *err);
// Its profile and prices: --db, --prices, --profile-file.
bool rb_args_find_inputs(const struct rb_args *args, struct rb_plan_inputs *in, struct rb_err *err);

#endif
