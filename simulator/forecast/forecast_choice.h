// Assigns GPUs to trials if only the best score at the deadline counts. Maximises the expectation of the largest of
// independent normal scores by exchanges until none raises it further.
#ifndef RB_SIMULATOR_FORECAST_CHOICE_H
#define RB_SIMULATOR_FORECAST_CHOICE_H

#include "simulator/forecast/forecast_curve.h"

enum {
    RB_CHOICE_TRIALS = 24,  // candidates at once: beyond the best two dozen no trial's chance is worth its GPUs
    RB_CHOICE_SIZES = 17,   // sizes a trial may choose from, the pause among them
};

struct rb_choice {
    int n_trials, n_sizes;
    int gpus[RB_CHOICE_SIZES];       // ascending, gpus[0] = 0: pause
    struct rb_prospect prospects[RB_CHOICE_TRIALS][RB_CHOICE_SIZES]; // of the score, by GPUs of the trial; [0] unused
    int now[RB_CHOICE_TRIALS];       // index of the size of each trial
    int n_gpus;                      // to share among these trials and newcomers
    double reached;                  // best score so far: no result is below it

    const struct rb_prospect *newcomers; // possible scores of an unknown trial, equally likely
    int n_newcomers;
    double newcomers_per_gpu;        // tried per GPU left for newcomers; 0: none can be
};

struct rb_chosen {
    int size[RB_CHOICE_TRIALS];      // index into gpus
    double value, value_now;         // expected best score; the same if all stay as they are and free GPUs are not used
    bool newcomers;                  // GPUs left for newcomers
};

void rb_choose(const struct rb_choice *c, struct rb_chosen *out);

#endif
