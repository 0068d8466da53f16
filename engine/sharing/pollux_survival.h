// Chooses the members that survive a generation: non-dominated sorting and crowding of NSGA-II (Deb et al., 2002), with two objectives.
#ifndef RB_ENGINE_SHARING_POLLUX_SURVIVAL_H
#define RB_ENGINE_SHARING_POLLUX_SURVIVAL_H

#include "base/stream.h"
#include "engine/sharing/pollux_search.h"

// Orders `members` by front, and sets their crowding. The first `n_kept` survive; of the last front that fits only in
// part, the least crowded, ties at random. Of members with equal costs all but one get the greatest crowding. Returns
// the number of members in the first front, at most n_kept. n <= RB_POLLUX_SLOTS.
int rb_pollux_survive(struct rb_pollux_member *members, int n, int n_kept, struct rb_stream *draws);

// a dominates b: 1, b dominates a: -1, neither: 0.
int rb_pollux_dominance(const struct rb_pollux_member *a, const struct rb_pollux_member *b);

#endif
