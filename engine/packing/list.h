// Schedules a group whose trials have their widths by a list: the first trial in the list that fits starts. Places
// follow engine/core/placement.h, so the engine can execute every packing.
#ifndef RB_ENGINE_PACKING_LIST_H
#define RB_ENGINE_PACKING_LIST_H

#include "engine/core/placement.h"
#include "engine/packing/group.h"

struct rb_packed {
    int width;               // index into the group's widths
    int64_t start_us, end_us;
    int first_slot, n_slots; // in rb_packing.slots; a shared GPU is in those of several trials
};

// Zero-initialised is valid and empty.
struct rb_packing {
    int64_t makespan_us;      // end of the last, tails included
    struct rb_packed *trials; // [n_trials]
    int n_trials;
    struct rb_slot *slots;
    int n_slots, slots_cap;
};
void rb_packing_finish(struct rb_packing *p);

enum rb_list_rule {
    RB_LIST_GREEDY,  // the first among those that fit starts
    RB_LIST_IN_TURN, // a trial starts only after all ahead of it in the list
};

// Work space, reused from one list to the next. Zero-initialised is valid.
struct rb_lister {
    struct rb_places places;
    struct rb_packing scratch;
    int *rank, *next, *head, *tail;   // of trials, and by width
    int *ends;                        // heap of running trials by end
    int n_ends;
    int *busy;                        // GPUs that others hold, the first free last
    int n_busy, busy_cap;
    int trials_cap, widths_cap;
};
void rb_lister_finish(struct rb_lister *l);

// widths [n_trials]: one that each trial can take. order [n_trials]: a permutation. Returns the makespan; out NULL:
// only that.
int64_t rb_pack_list(struct rb_lister *l, const struct rb_pack_group *g, const int *widths, const int *order,
                     enum rb_list_rule rule, struct rb_packing *out);

#endif
