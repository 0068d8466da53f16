// What one slot has done by some age if trials never ran out: a renewal process on the lattice. Delayed: the slot opens at a
// random time, so that ages are times; its factor in the generating function then needs no average over openings.
#ifndef RB_SIMULATOR_LIST_SCHEDULE_RENEWAL_H
#define RB_SIMULATOR_LIST_SCHEDULE_RENEWAL_H

#include "simulator/list_schedule/list_schedule_convolve.h"
#include "simulator/list_schedule/list_schedule_lattice.h"

struct rb_renewal_sum { // the opening if delayed, and k durations; outside first..last the density is next to nothing
    int first, last;    // lattice points; last < first: no mass at ages of interest
    bool narrow;        // only its moments are kept
    bool padded;        // a tile of zeros lies on either side of the density
    double *density;    // [last - first + 1]
    double *plain;      // [last - first + 1] sum of the density up to here
    double *below;      // the same points; 0 before, and 1 after unless the ages of interest end there
};

struct rb_renewal {
    const struct rb_trial_lattice *trial;
    const struct rb_schedule_convolver *convolver;
    bool delayed;
    int min_age, max_age;        // points
    double dust;                 // chances below it are of no interest
    int min_k, max_k;            // completions a slot may have between the ages of interest
    struct rb_renewal_sum *sums; // [max_k + 2 - min_k], k = min_k..max_k + 1
    double *products;            // scratch
};

// opening NULL: open at age 0. The lattice and the convolver must outlive *out, whose arrays are in `arena`.
// false: too many points (the reason in *out_why, a constant string).
bool rb_renewal_make(const struct rb_trial_lattice *trial, const struct rb_opening_lattice *opening, int min_age,
                     int max_age, double dust, const struct rb_schedule_convolver *convolver, struct rb_arena *arena,
                     struct rb_renewal *out, const char **out_why);

struct rb_renewal_chances { // of a slot at ages from, from + apart, .. <= to
    int from, to, apart;
    int min_k, n_k; // completions that it may have at these ages; others are next to impossible
    double *p;      // [ages][n_k]
};

// Fills in min_k and n_k for the ages given, all within min_age..max_age.
void rb_renewal_likely(const struct rb_renewal *r, struct rb_renewal_chances *chances);
// P(open, k completions by age a and the trial running then ends within t - a); to <= t. `p` has room.
void rb_renewal_fill(const struct rb_renewal *r, int t, const struct rb_renewal_chances *chances);

// Mean and variance of the number of starts by age a, min_age <= a <= max_age.
void rb_renewal_starts(const struct rb_renewal *r, int age, double *out_mean, double *out_variance);

#endif
