// Inputs of a forecast: durations, the sizes each trial may have, and every curve's value at the deadline.
#ifndef RB_SIMULATOR_FORECAST_OUTLOOK_H
#define RB_SIMULATOR_FORECAST_OUTLOOK_H

#include "engine/core/engine.h"
#include "engine/policies/lookahead.h"
#include "simulator/forecast/forecast_choice.h"

struct rb_outlook {
    const struct rb_plan *plan;
    const struct rb_engine *e;
    struct rb_lookahead_seen seen;
    const struct rb_curve_model *curves;
    double left_us, restart_us, unit_us; // unit: on one atom
    double max_resource;
    double boot_us;                      // time until GPUs that are not owned yet can be used
    int n_gpus;
    int sizes[RB_CHOICE_SIZES];   // [0] = 0: pause
    double pace[RB_CHOICE_SIZES]; // units of resource per microsecond
    int n_sizes, largest;         // largest: index of the fastest
    int trials[RB_CHOICE_TRIALS]; // candidates
    int n_trials;
    int others_gpus;    // of trials that are not candidates
    double newcomer_us; // cost of trying one, on one atom
    double newcomer_resource;
};


// Forecasts use this many trials of the job as newcomers; more do not change the distribution.
enum { RB_OUTLOOK_NEWCOMERS = 96 };

// The current state. Borrows from the engine; what it makes lives in `arena`. false: the policy is not lookahead, the
// deadline has passed, or no forecast is possible yet.
bool rb_outlook_look(const struct rb_plan *plan, const struct rb_engine *e, struct rb_arena *arena,
                     struct rb_outlook *out);
// The same with n GPUs to share; those that do not exist yet arrive after boot_us.
void rb_outlook_resize(struct rb_outlook *o, int n_gpus, double boot_us);

// The choice if, after a window, the trial that is best then takes all GPUs it can use until the deadline. `newcomers`
// [RB_OUTLOOK_NEWCOMERS] is borrowed by *out.
void rb_outlook_pose(const struct rb_outlook *o, double window_us, struct rb_prospect *newcomers, struct rb_choice *out);

#endif
