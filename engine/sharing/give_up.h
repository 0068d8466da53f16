// Chooses the node that a shrinking cluster gives up first: the one that is worth least to keep.
#ifndef RB_ENGINE_SHARING_GIVE_UP_H
#define RB_ENGINE_SHARING_GIVE_UP_H

#include "engine/sharing/autoscale.h"

// Jobs are expected to stay for as long again as they have been there, on average, and for a round at least: of heavy-tailed
// service that is the better guess.
double rb_expected_stay_s(const struct rb_autoscale_view *view, int64_t round_us);

// Of the owned nodes the one that saves most: its price over the time that jobs are expected to stay, less, where jobs are on
// it, its price over the restart they need elsewhere. So the most expensive goes first, unless it is busy and hardly more expensive. Ties: one
// on its way before an idle one before a busy one, then the highest number. There is an owned node.
int rb_give_up(const struct rb_autoscale_view *view, int64_t restart_us, int64_t round_us);

#endif
