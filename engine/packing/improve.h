// Searches for shorter lists: allotments between the bound and the best length known, in several orders, then one trial's
// width at a time. This gives no guarantee, but never replaces the certificate's list by a longer one.
#ifndef RB_ENGINE_PACKING_IMPROVE_H
#define RB_ENGINE_PACKING_IMPROVE_H

#include "engine/packing/list.h"

// The best list so far: it ends at makespan_us under the rule.
struct rb_best_list {
    int64_t makespan_us;
    enum rb_list_rule rule;
    int *widths, *order; // [n_trials]
};

// Places at most about `most_placements` trials, all lists together, and stops where bound_us is attained.
void rb_pack_improve(struct rb_lister *l, const struct rb_pack_group *g, int64_t bound_us, int64_t most_placements,
                     struct rb_best_list *best);

#endif
