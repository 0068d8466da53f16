// The law of one trial on an even lattice that starts at 0, its k-fold sums, and from them what a slot has done by some age.
// All integrals are sums over the lattice: spectrally accurate for smooth densities that vanish at both ends.
#ifndef RB_SIMULATOR_LIST_SCHEDULE_LATTICE_H
#define RB_SIMULATOR_LIST_SCHEDULE_LATTICE_H

#include "simulator/law.h"

struct rb_trial_sum { // of k durations; outside first..last the density is below 1e-14 of the whole per step
    int first, last;  // lattice points; last < first: no mass at ages of interest
    double *density;  // [last - first + 1]
    double *below;    // the same points; 0 before, and 1 after unless the ages of interest end there
};

struct rb_trial_lattice {
    double step_s;
    int first, last;                // points where the law has mass
    double *below, *above, *density; // [last + 1]
    int min_age, max_age;           // of the slots of interest
    int min_k, max_k;               // completions a slot may have between the ages of interest
    struct rb_trial_sum *sums;      // [max_k + 2 - min_k], k = min_k..max_k + 1
    double *products;               // scratch
};

// P(X <= x), P(X > x) and density at i * step, i = 0..n-1; degree-5 interpolation. The density of a law that starts
// abruptly (rough), or is narrower than a step, is spread over the points so that mass, mean, variance and third moment
// stay what they are.
void rb_lattice_sample(const struct rb_law *law, double step_s, int n, double *out_below, double *out_above,
                       double *out_density, struct rb_arena *arena);
bool rb_lattice_rough(const struct rb_law *law);
bool rb_lattice_narrow(const struct rb_law *law, double step_s);

// Ages min_age..max_age (points). `tail`: mass of the trial's law that may be cut off above. All arrays in `arena`.
bool rb_trial_lattice_make(const struct rb_law *trial, double step_s, int min_age, int max_age, double tail,
                           struct rb_arena *arena, struct rb_trial_lattice *out, const char **out_why);

// For a slot open since age a: P(k completions by a and the trial running then ends within t - a), for a = from..to <= t,
// into out[(a - from) * stride + k - min_k].
void rb_trial_lattice_chances(const struct rb_trial_lattice *l, int t, int from, int to, double *out, int stride);

// Mean and variance of the number of starts of a slot by age a >= 0 if trials never ran out.
void rb_trial_lattice_starts(const struct rb_trial_lattice *l, int age, double *out_mean, double *out_variance);

double rb_trial_lattice_below(const struct rb_trial_lattice *l, int point); // 0 before, 1 after
double rb_trial_lattice_above(const struct rb_trial_lattice *l, int point);

#endif
