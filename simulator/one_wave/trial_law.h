// Laws of what a stage is made of: one trial's time and one node's arrival, from the profile's distributions. Exactly the
// random variables of simulator/model/draws.c, computed instead of drawn.
#ifndef RB_SIMULATOR_TRIAL_LAW_H
#define RB_SIMULATOR_TRIAL_LAW_H

#include "simulator/model/scenario.h"
#include "simulator/one_wave/law.h"

// startup + unit_s * between * (sum of `units` times within) + checkpoint. `unit_s` from rb_scenario_unit_s; the factor of
// measurement (training.relative_error) is not in it: it is common to all trials of a replicate.
struct rb_law rb_trial_law(const struct rb_profile *profile, int64_t units, double unit_s, struct rb_arena *arena);
// The same from what trials at other speeds share: between * (sum of `units` times within), and startup + checkpoint.
struct rb_law rb_trial_law_of(const struct rb_law *work, double unit_s, const struct rb_law *overhead,
                              struct rb_arena *arena);
struct rb_law rb_work_law(const struct rb_profile *profile, int64_t units, struct rb_arena *arena);
struct rb_law rb_overhead_law(const struct rb_profile *profile, struct rb_arena *arena);

// From a request to running, where billing starts: queueing, again after every refusal.
struct rb_law rb_queue_law(const struct rb_provisioning *p, struct rb_arena *arena);
// From a request to ready: the law of queueing, then initialisation.
struct rb_law rb_arrival_law(const struct rb_law *queue, const struct rb_provisioning *p, struct rb_arena *arena);
// Mean seconds from a request to running: queueing delay over 1 - capacity_failure.
double rb_queue_mean_s(const struct rb_provisioning *p);

#endif
