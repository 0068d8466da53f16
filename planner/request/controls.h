// What replicates of a stage say about its mean time, once that which is known exactly is taken off them: control variates.
// Replicates of all layouts of a stage share their draws (simulator/stage/common_draws.h), so a layout differs from one whose law
// is known by little, and that little is told from few.
// Source: regression-adjusted controls, Glasserman, "Monte Carlo Methods in Financial Engineering", section 4.1.
#ifndef RB_PLANNER_CONTROLS_H
#define RB_PLANNER_CONTROLS_H

#include "planner/proof/floors.h"
#include "simulator/stage/common_draws.h"

#define RB_CONTROLS_KEPT 24 // layouts of one stage whose laws are known; later ones take the places of the first

struct rb_controls { // of one stage
    struct rb_known_layout {
        const float *seconds; // [RB_COMMON_REPLICATES]
        double mean_s;
    } layouts[RB_CONTROLS_KEPT];
    int n_added;
};

void rb_controls_add(struct rb_controls *controls, const float *seconds, const struct rb_law *law);

// From the replicates of a layout and what was drawn with them: *out_below, means and tilts less five standard errors, and
// *out_likely, without tilts. The variances are the sample's. theta: rb_tilts of one.
void rb_controls_estimate(const struct rb_controls *controls, const struct rb_common_draw *known, int n_known,
                          const float *seconds, const double *theta, struct rb_times *out_below,
                          struct rb_times *out_likely);

#endif
