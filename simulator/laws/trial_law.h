// The distribution of one trial's time, computed from the profile's distributions: exactly the random variable that
// simulator/model/draws.c draws part by part.
#ifndef RB_SIMULATOR_TRIAL_LAW_H
#define RB_SIMULATOR_TRIAL_LAW_H

#include "simulator/model/scenario.h"
#include "simulator/laws/law.h"

// startup + unit_s * between * (sum of `units` times within) + checkpoint. `unit_s` is from rb_scenario_unit_s. The
// measurement error factor (training.relative_error) is not included: it is common to all trials of a replicate.
struct rb_law rb_trial_law(const struct rb_profile *profile, int64_t units, double unit_s, struct rb_arena *arena);
// The same from parts that trials at other speeds share: between * (sum of `units` times within), and startup +
// checkpoint.
struct rb_law rb_trial_law_of(const struct rb_law *work, double unit_s, const struct rb_law *overhead,
                              struct rb_arena *arena);
struct rb_law rb_within_law(const struct rb_profile *profile, int64_t units, struct rb_arena *arena); // the sum alone
struct rb_law rb_work_law(const struct rb_profile *profile, int64_t units, struct rb_arena *arena);
struct rb_law rb_overhead_law(const struct rb_profile *profile, struct rb_arena *arena);

// Mean seconds from a request to running: queueing delay over 1 - capacity_failure.
double rb_queue_mean_s(const struct rb_provisioning *p);

#endif
