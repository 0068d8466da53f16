// Declares every tuner; only tuners.c refers to them by name.
#ifndef RB_ENGINE_TUNERS_TUNERS_H
#define RB_ENGINE_TUNERS_TUNERS_H

#include "engine/core/tuner.h"

extern const struct rb_tuner rb_tuner_asha, rb_tuner_dehb, rb_tuner_freeze_thaw, rb_tuner_grid, rb_tuner_hyperband, rb_tuner_median,
    rb_tuner_pasha, rb_tuner_pbt, rb_tuner_random, rb_tuner_sha;

#endif
