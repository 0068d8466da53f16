// How soon nodes of a market are taken back: losses an hour that depend on a node's age, constant between steps.
// A value type: the steps are borrowed from the arena they were read into. Source: survival analysis, piecewise
// exponential model (Friedman, "Piecewise exponential models for survival data with covariates", 1982).
#ifndef RB_PROFILES_HAZARD_H
#define RB_PROFILES_HAZARD_H

#include <stdbool.h>

struct rb_hazard_step {
    double from_s, per_hour; // from this age on
};

struct rb_hazard {
    double per_hour;                     // at birth; >= 0
    const struct rb_hazard_step *later;  // ascending from_s > 0, [n_later]; none: losses do not depend on age
    int n_later;
};

bool rb_hazard_is_none(const struct rb_hazard *h); // true: nothing is ever lost
// Cumulative hazard over `for_s` seconds of a node that is `age_s` old: the chance to keep it is exp(-result).
double rb_hazard_over(const struct rb_hazard *h, double age_s, double for_s);
// Its inverse: the seconds from `age_s` on in which `cumulative` gathers; INFINITY: it never does. A life is that of
// -log1p(-u), u uniform.
double rb_hazard_seconds(const struct rb_hazard *h, double age_s, double cumulative);

#endif
