// Laws of trials and quantile tables of all latencies. Each is made once and shared by every plan, deadline, price and
// what-if.
#ifndef RB_SIMULATOR_TRIAL_LAWS_H
#define RB_SIMULATOR_TRIAL_LAWS_H

#include "simulator/laws/law.h"
#include "simulator/model/scenario.h"

struct rb_trial_laws;
struct rb_sampler_tables; // simulator/sampler/sampler_tables.h

// May outlive a scenario and serve others with the same profile object (compared by address). Not thread-safe.
struct rb_trial_laws *rb_trial_laws_create(void);
void rb_trial_laws_destroy(struct rb_trial_laws *laws); // NULL is allowed

// The law of one trial of this many units. Borrowed.
const struct rb_law *rb_trial_laws_get(struct rb_trial_laws *laws, const struct rb_profile *profile, int64_t units,
                                       double unit_s);
// Tables for the sampler, of these laws and of the delays of nodes. Borrowed.
struct rb_sampler_tables *rb_trial_laws_tables(struct rb_trial_laws *laws);

#endif
