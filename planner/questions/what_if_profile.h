// A profile with slower or faster machines and training, for what-if.
#ifndef RB_PLANNER_WHAT_IF_PROFILE_H
#define RB_PLANNER_WHAT_IF_PROFILE_H

#include "profiles/store/profile.h"

// Queueing and initialisation of machines, and the time of a unit of training, each multiplied by its factor; 1 leaves it.
// What varies keeps its relative spread. *out shares with `base` what is unchanged; the rest lives in `arena`. Errors: a time
// beyond what a profile may hold.
bool rb_what_if_profile(const struct rb_profile *base, double provisioning_factor, double training_factor,
                        struct rb_arena *arena, struct rb_profile *out, struct rb_err *err);

#endif
