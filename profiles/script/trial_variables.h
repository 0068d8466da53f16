// Lists the environment variables that a trial gets: docs/formats/trial.md.
#ifndef RB_PROFILES_TRIAL_VARIABLES_H
#define RB_PROFILES_TRIAL_VARIABLES_H

#include "base/arena.h"
#include "profiles/space/space.h"

// Every RB_ variable except those of the parameters; ends with NULL.
extern const char *const rb_trial_variables[];

// RB_PARAM_<NAME>: upper case, with '_' for every character that a variable's name may not have.
const char *rb_param_variable(const char *param, struct rb_arena *arena);

// Is it one of them, for a job with these parameters?
bool rb_trial_variable_exists(const struct rb_space *space, const char *name, struct rb_arena *arena);
// The closest of them; NULL: none is close.
const char *rb_trial_variable_closest(const struct rb_space *space, const char *name, struct rb_arena *arena);

#endif
