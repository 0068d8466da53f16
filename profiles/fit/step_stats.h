// The reports of a training script about its optimiser steps since its last report (docs/formats/trial.md).
#ifndef RB_PROFILES_STEP_STATS_H
#define RB_PROFILES_STEP_STATS_H

#include "profiles/fit/grad_noise.h"

struct rb_step_stats {
    bool has_noise;
    struct rb_grad_noise noise; // either part may be negative by chance
    double step_s;              // mean time of one step, accumulated gradients included; 0: not reported
    bool has_sync;
    double sync_s;              // synchronisation's part of it
};

#endif
