// How often a trial should save in the middle of a stage (RB_CHECKPOINT_EVERY_S), as the job's checkpoint.every says. Runs and
// plans ask here.
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

// The same as far as a plan may count on it: 0 where the job does not say that its script saves, where no node is lost, and
// where the script does not go on from what it saved.
int64_t rb_planned_save_interval_s(const struct rb_job *job, const struct rb_profile *profile,
                                   const struct rb_offer *offer);

#endif
