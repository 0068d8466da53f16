// Replicates of single stages on common draws: a stage's k-th trial does the same work in every layout, and its j-th new node
// comes at the same time, so that layouts differ by what they are and not by luck. Where means of some layouts are known
// exactly, the others' follow from few replicates. Small stages of smooth laws only: simulator/stage/stage_pilot.h draws
// anew for every layout, and takes any.
#ifndef RB_SIMULATOR_COMMON_DRAWS_H
#define RB_SIMULATOR_COMMON_DRAWS_H

#include "simulator/stage/stage_time.h"

#define RB_COMMON_REPLICATES 96

// Something that is drawn together with a stage's time, and of which the mean is known.
struct rb_common_draw {
    float *seconds; // [RB_COMMON_REPLICATES]
    double mean_s;
};

struct rb_common_draws;

struct rb_common_draws *rb_common_draws_create(const struct rb_scenario *s, struct rb_stage_times *times);
void rb_common_draws_destroy(struct rb_common_draws *draws); // NULL is fine

// Is the stage small, and are its laws smooth?
bool rb_common_draws_apply(struct rb_common_draws *draws, const struct rb_stage_work *work);

// Seconds from the stage's start to its last trial's end, [RB_COMMON_REPLICATES], by the dynamic schedule. Error: a layout that
// may not be asked of the profile.
bool rb_common_draws_run(struct rb_common_draws *draws, const struct rb_stage_work *work, float *out_s,
                         struct rb_err *err);

// Of the same replicates: the work of all trials and of the longest, at one second a unit, and the mean arrival of the new
// nodes. Returns how many, up to three: what does not vary is left out. Borrowed.
#define RB_COMMON_KNOWN 3
int rb_common_draws_known(struct rb_common_draws *draws, const struct rb_stage_work *work,
                          struct rb_common_draw out[RB_COMMON_KNOWN]);

#endif
