// Separates layers of noise: the part that stays with a run for a whole stage (between), of it the part that stays with a
// configuration in all its runs, and the part that varies from unit to unit (within). Random-effects analysis of
// variance on log unit times, after removing each (accelerator, layout) mean.
#ifndef RB_PROFILES_NOISE_FIT_H
#define RB_PROFILES_NOISE_FIT_H

#include "base/errors/err.h"

#include <stdbool.h>

// Share of a run's mean unit time. A unit that took less was not timed: its report was printed, or read, together with the
// one before.
#define RB_UNIT_BURST 0.05

struct rb_unit_sample {
    int cell;     // which (accelerator, layout): the fixed effect
    int run;      // which run of the training command: the random effect; unique over cells
    int configuration; // which hyperparameters the run trained with
    double unit_s;
};

struct rb_noise_fit {
    double between_cv, within_cv; // of the factors, mean 1
    double configuration_cv;      // of the part of `between` that a configuration keeps; NAN: no configuration ran twice
    double rest_cv;               // of the rest of `between`; all of it where that is unknown
    int n_runs, n_units;
    double between_se;            // rough standard error of between_cv; large when few runs
};

// Unbalanced one-way ANOVA (method of moments), negative components set to 0. Errors: fewer than 2 units in all runs.
bool rb_noise_fit(const struct rb_unit_sample *samples, int n, struct rb_noise_fit *out, struct rb_err *err);

#endif
