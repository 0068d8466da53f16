// Chooses the node that a shrinking cluster releases first: the one that is worth least.
#ifndef RB_ENGINE_SHARING_GIVE_UP_H
#define RB_ENGINE_SHARING_GIVE_UP_H

#include "engine/sharing/autoscale.h"

// The expected stay of a job: as long as it has been there, on average, and a round at least: for heavy-tailed service
// this is a good guess.
double rb_expected_stay_s(const struct rb_autoscale_view *view, int64_t round_us);

// The owned node that saves most: its price over the expected stay of jobs, minus, if jobs are on it, its price over
// the restart they need elsewhere. So the most expensive goes first, unless it is busy and hardly more expensive. Ties:
// one on its way, then an idle one, then a busy one, then the highest number. At least one node must be owned.
int rb_give_up(const struct rb_autoscale_view *view, int64_t restart_us, int64_t round_us);

#endif
