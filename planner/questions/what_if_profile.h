// A profile with slower or faster machines and training, for what-if.
#ifndef RB_PLANNER_WHAT_IF_PROFILE_H
#define RB_PLANNER_WHAT_IF_PROFILE_H

#include "profiles/store/profile.h"

// Multiplies queueing and initialisation times of machines, and the time of a unit of training, by a factor each; 1
// leaves the time unchanged. Random times keep their relative spread. *out shares unchanged parts with `base`; the rest
// lives in `arena`. Errors: a time beyond the profile's limit.
bool rb_what_if_profile(const struct rb_profile *base, double provisioning_factor, double training_factor,
                        struct rb_arena *arena, struct rb_profile *out, struct rb_err *err);

#endif
