// Packs a group, and reports the guaranteed length, the achieved length and a lower bound.
#ifndef RB_ENGINE_PACKING_PACK_H
#define RB_ENGINE_PACKING_PACK_H

#include "engine/packing/list.h"

struct rb_pack_options {
    int64_t most_branches;   // of the exact search, for groups it can take (engine/packing/branch.h); 0: not tried
    int64_t most_placements; // the most placements by tentative lists
    const int *widths, *order; // a list to begin from, [n_trials] each; NULL: none. The answer is never longer
};

struct rb_pack_answer {
    struct rb_packing packing;
    int64_t bound_us;        // the best lower bound proved; a packing of this length is optimal
    int64_t certified_us;    // proved before packing: no longer than this. INT64_MAX: no theorem applies
    const char *certificate; // the theorem; NULL: none
};

// The group must have passed rb_pack_group_check. Owns: rb_pack_answer_finish.
void rb_pack(const struct rb_pack_group *g, const struct rb_pack_options *options, struct rb_pack_answer *out);
void rb_pack_answer_finish(struct rb_pack_answer *a);

#endif
