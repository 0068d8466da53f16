// How often a trial should save in the middle of a stage (RB_CHECKPOINT_EVERY_S), as the job's checkpoint.every says.
#ifndef RB_PROFILES_SAVE_INTERVAL_H
#define RB_PROFILES_SAVE_INTERVAL_H

#include "profiles/catalog/catalog.h"
#include "profiles/job/job.h"
#include "profiles/store/profile.h"

#include <stdint.h>

enum { RB_SAVE_INTERVAL_LEAST_S = 60 }; // of `auto`: also where the profile has no time of a save

// Seconds, for a start on a node of this offer; 0: not at all. profile NULL: nothing is known of the offer. `auto` is sqrt(2 c / h) for a save of c seconds and h losses
// a second, on spot offers whose preemptions the profile knows, and 0 elsewhere. Source: J. W. Young, A first order
// approximation to the optimum checkpoint interval, CACM 17 (1974).
int64_t rb_save_interval_s(const struct rb_job *job, const struct rb_profile *profile, const struct rb_offer *offer);

#endif
