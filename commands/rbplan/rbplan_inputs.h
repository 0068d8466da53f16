// Reads the job, profile and prices that a command line names; for rbplan and rbsim.
#ifndef RB_COMMANDS_RBPLAN_INPUTS_H
#define RB_COMMANDS_RBPLAN_INPUTS_H

#include "base/options.h"
#include "profiles/inputs/plan_inputs.h"

// Overrides besides the command line's own: it replaces the first ones, and the last ones replace it.
struct rb_job_overrides {
    const char *const *first;
    int n_first;
    const char *const *last;
    int n_last;
};

// Reads the named job, with --set, --deadline, --budget, --confidence and --seed, and with `besides` (NULL: none). Owns:
// finish *out with rb_plan_inputs_finish, but not after a failure.
bool rb_args_job(const struct rb_args *args, const struct rb_job_overrides *besides, struct rb_plan_inputs *out,
                 struct rb_err *err);
bool rb_args_job_again(const struct rb_args *args, const struct rb_job_overrides *besides, struct rb_plan_inputs *in,
                       struct rb_job *out, struct rb_err *err);
// Finds the job's profile and prices: --db, --prices, --profile-file.
bool rb_args_find_inputs(const struct rb_args *args, struct rb_plan_inputs *in, struct rb_err *err);

#endif
