// Laws on an even lattice that starts at 0: of one trial, and of the opening of a node.
// All integrals are sums over the lattice: spectrally accurate for smooth densities that vanish at both ends.
#ifndef RB_SIMULATOR_LIST_SCHEDULE_LATTICE_H
#define RB_SIMULATOR_LIST_SCHEDULE_LATTICE_H

#include "simulator/one_wave/law.h"

struct rb_trial_lattice {
    const struct rb_law *law;
    double step_s;
    int first, last;                 // points where the law has mass
    double *below, *above;   // [last + 1]
    double *slope, *density; // [last + 1] the density itself, and as it is to be summed over all points
};

struct rb_opening_lattice { // when a node opens
    int first, last;        // points with mass; last < first: none
    bool narrow;            // within a step or so: as if at points, half before and half after
    double *weight;         // [points] density times step
    double *unopened;       // [points] P(opens later)
};

// Degree-5 interpolation of P(X <= x), P(X > x) and density. The density of a law that starts abruptly (rough), or is
// narrower than a step, is spread over the points so that mass, mean, variance and third moment stay what they are.
bool rb_lattice_rough(const struct rb_law *law);

// `tail`: mass that may be cut off above. Both: arrays in `arena`.
bool rb_trial_lattice_make(const struct rb_law *trial, double step_s, double tail, struct rb_arena *arena,
                           struct rb_trial_lattice *out, const char **out_why);
// Points 0..points-1; weights below `dust` count as none.
void rb_opening_lattice_make(const struct rb_law *arrival, double step_s, int points, double dust,
                             struct rb_arena *arena, struct rb_opening_lattice *out);

double rb_trial_lattice_below(const struct rb_trial_lattice *l, int point); // 0 before, 1 after
double rb_trial_lattice_above(const struct rb_trial_lattice *l, int point);

#define RB_LATTICE_ENDS 4 // as many points at the end of a sum weigh otherwise than `weight`
// Weight of an opening at o in an integral over openings, so many points apart, that ends at x >= o; if narrow, also at x = o - 1.
// The integrand jumps where a node opens: by Gauss's formula it is halved there, and mended by first differences beside.
double rb_opening_weight(const struct rb_opening_lattice *l, int o, int x, int apart);
// The last opening that weighs no more and no less than `apart` times its weight there, and so do all before.
int rb_opening_last_inner(const struct rb_opening_lattice *l, int x, int apart);
// Weights of a sum that ends at a point where the integrand does not vanish (Gregory's formula), from the end inwards.
double rb_lattice_end_weight(int distance);

#endif
