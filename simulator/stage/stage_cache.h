// What stage-time objects have been made, by all that they depend on. Private to simulator/stage/stage_time.c.
#ifndef RB_SIMULATOR_STAGE_CACHE_H
#define RB_SIMULATOR_STAGE_CACHE_H

#include "profiles/store/profile.h"

enum rb_stage_part {
    RB_PART_WORK,     // struct rb_law: profile, units
    RB_PART_OVERHEAD, // struct rb_law: profile
    RB_PART_TRIAL,    // struct rb_law: profile, units, unit_s
    RB_PART_LONGEST,  // struct rb_law: a trial's and trials
    RB_PART_ARRIVAL,  // struct rb_law: provisioning
    RB_PART_RANKED,   // struct rb_law: provisioning, nodes requested, rank as kept
    RB_PART_QUEUE,    // struct rb_law: provisioning, without initialisation
    RB_PART_FLOOR,    // struct rb_law: a trial's and trials, slots
    RB_PART_STAGE,    // struct rb_stage_time: all
    RB_PART_PILOT,    // struct rb_stage_time: all, and stage and seed, which key the draws, and how many there are
};

// Compared byte by byte: begin with memset.
struct rb_stage_key {
    const struct rb_profile *profile; // its noise
    const struct rb_provisioning *provisioning;
    int64_t units;
    double unit_s;
    uint64_t seed;
    int part, stage;
    int trials, gpus, gpus_per_node, nodes, kept;
    int slots, finely;
};

struct rb_stage_cache_entry {
    struct rb_stage_key key;
    void *value;     // NULL: not made yet
    double accuracy; // that it was made with; 0: serves every request
    int made_for, used_by; // users of the times, counted from 1; used_by: the last that found it made
};

struct rb_stage_cache {
    struct rb_stage_cache_entry **slots; // entries stay where they are when the table grows
    size_t n_slots, n_used;
};

void rb_stage_cache_finish(struct rb_stage_cache *cache);
// The entry of this key, made empty in `arena` if there is none.
struct rb_stage_cache_entry *rb_stage_cache_find(struct rb_stage_cache *cache, const struct rb_stage_key *key,
                                                 struct rb_arena *arena);

// The same if there is one, else NULL.
const struct rb_stage_cache_entry *rb_stage_cache_look(const struct rb_stage_cache *cache,
                                                       const struct rb_stage_key *key);

#endif
