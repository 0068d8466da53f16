// How long a new node takes to bring the job's data to itself: by data.bandwidth, which the job declares, else as nodes of
// earlier runs took to carry out the same data.fetch (`data` of rb-profile/1).
#ifndef RB_PROFILES_READING_H
#define RB_PROFILES_READING_H

#include "profiles/catalog/catalog.h"
#include "profiles/job/job.h"
#include "profiles/store/profile.h"

// The measurements that tell how long a node of this offer reads; NULL: data.bandwidth is given, nothing is fetched, or
// nothing was measured there.
const struct rb_reading *rb_reading_measured(const struct rb_job *job, const struct rb_profile *p, const struct rb_offer *o);
// How many times as much a node reads now as was read when it was measured.
double rb_reading_scale(const struct rb_job *job, const struct rb_reading *r);

// Seconds; 0 where the time is unknown (rb_reading_is_known), and on nodes of `local`, whose data is here, unless the job
// fetches it. 0 < q < 1.
double rb_reading_mean_s(const struct rb_job *job, const struct rb_profile *p, const struct rb_offer *o);
double rb_reading_quantile_s(const struct rb_job *job, const struct rb_profile *p, const struct rb_offer *o, double q);
// The part that data.bandwidth declares.
int64_t rb_reading_declared_us(const struct rb_job *job, const struct rb_offer *o);

// False: a new node reads data, and it is unknown how long that takes.
bool rb_reading_is_known(const struct rb_job *job, const struct rb_profile *p, const struct rb_offer *o);

#endif
