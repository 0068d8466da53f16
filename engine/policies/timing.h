// Measures how long training takes in a run: setups, units of resource, whole trials. For policies that watch. Source:
// HyperSched's released code: startup is the 90th percentile of the setups, a unit the median of those on one atom of
// GPUs, and the longest trial counts setups and units alike.
#ifndef RB_ENGINE_POLICIES_TIMING_H
#define RB_ENGINE_POLICIES_TIMING_H

#include "engine/core/engine.h"
#include "engine/tuners/ranking.h"

struct rb_seen_trial {
    int attempt, stage;      // of the start it was last seen in, attempt -1: never seen
    int64_t resource;
    int64_t reported_us;     // its last report
    int64_t first_us;        // from that start to its first report; -1: already split into setup and unit
    int64_t total_us;        // trained, setups included
    int n_since_start;       // reports
};

// All zero is not a timing: rb_timing_init.
struct rb_timing {
    struct rb_seen_trial *trials; // by id
    int n_trials;
    struct rb_ranking setups, units; // longest first; the heads are the 90th percentile and the median
    int64_t longest_us;
};

void rb_timing_init(struct rb_timing *t);
void rb_timing_finish(struct rb_timing *t);

// Call this after every event about a trial. Returns whether the trial has just reported, so that it still trains.
// speedup: of its present GPUs over one atom.
bool rb_timing_see(struct rb_timing *t, const struct rb_engine *e, int trial, double speedup);
const struct rb_seen_trial *rb_timing_of(const struct rb_timing *t, int trial); // of one that was seen

int64_t rb_timing_startup_us(const struct rb_timing *t); // 0 before any is known
int64_t rb_timing_unit_us(const struct rb_timing *t);    // -1 before any is known

#endif
