// Makes the trials of a run a group to be packed: which widths the job allows and the profile knows, the remaining time of
// each trial at each width, and what a change costs. For policies that pack (fluid, packing).
#ifndef RB_ENGINE_POLICIES_LIVE_GROUP_H
#define RB_ENGINE_POLICIES_LIVE_GROUP_H

#include "engine/core/engine.h"
#include "engine/packing/fluid_widths.h"

// The widths that a trial may have, and the time of a unit there relative to one GPU alone.
struct rb_live_widths {
    struct rb_width widths[RB_PACK_MOST_WIDTHS]; // narrowest first, [n]
    double factor[RB_PACK_MOST_WIDTHS];
    int n;
    struct rb_fluid_caps caps; // c and d, from these factors
};
// Errors: a share that was never measured, or no size of one GPU, to which all others are compared.
bool rb_live_widths_make(const struct rb_plan *plan, struct rb_live_widths *out, struct rb_err *err);
int rb_live_width_find(const struct rb_live_widths *w, int gpus, int sharers); // -1: not among them

// How fast each trial has been, by its reports. Zero-initialised is valid.
struct rb_paces {
    struct rb_pace {
        int attempt, stage;    // of the start it was last seen in
        int64_t first_us, first_resource, last_us, last_resource; // reports of that start
        double unit_s;         // on one GPU alone; 0: not known
    } *paces; // by trial, [n]
    int n;
};
void rb_paces_finish(struct rb_paces *p);
// After every event about a trial. true: it has just reported, and still trains.
bool rb_paces_see(struct rb_paces *p, const struct rb_live_widths *w, const struct rb_engine *e, int trial);

bool rb_paces_known(const struct rb_paces *p, int trial);

struct rb_live_group {
    struct rb_pack_group pack; // heights of running trials include no change of width
    // ids, [pack.n_trials]; running trials first, then waiting ones in their order, ties by id.
    int *trials;
    int *held;                 // width of each that runs, -1: it waits
    int64_t *resize_us;        // of each that runs, to yield and start again
    int64_t *height_us;
    int cap;
};
void rb_live_group_finish(struct rb_live_group *g); // zero-initialised is valid

enum rb_live_which { RB_LIVE_WAITING = 1, RB_LIVE_RUNNING = 2 };
// Trials that are to pause are left out. A trial that gives way counts as running with its next width. which: bits of
// rb_live_which. false: there are none.
bool rb_live_group_collect(struct rb_live_group *g, const struct rb_plan *plan, const struct rb_live_widths *w,
                           const struct rb_paces *paces, const struct rb_engine *e, unsigned which);

// Makes room for n trials, for callers that add some of their own.
void rb_live_group_reserve(struct rb_live_group *g, int n, int n_widths);
// The time of a trial that has not started, by the profile: start-up, `units` units, checkpoint. out_us [n of w].
void rb_live_heights(const struct rb_plan *plan, const struct rb_live_widths *w, int64_t units, int64_t *out_us);

// Idle GPUs that are not needed by trials that wait or give way to grow.
int rb_live_idle_gpus(const struct rb_engine *e);

#endif
