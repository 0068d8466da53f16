// P(end > t) of one dynamic schedule at lattice times: the generating function of the starts on a circle, its n-th
// coefficient, and the integral over the time left to the last trial.
#ifndef RB_SIMULATOR_LIST_SCHEDULE_TAIL_H
#define RB_SIMULATOR_LIST_SCHEDULE_TAIL_H

#include "simulator/list_schedule.h"
#include "simulator/list_schedule_lattice.h"

struct rb_schedule_circle { // roots of unity z_l = exp(2 pi i l / points), l = 0..kept-1; the others are conjugates or dust
    int points, kept, blocks; // blocks of RB_CIRCLE_LANES
    double *re, *im;          // [points] all roots
    double *powers;           // [max_k + 1 - min_k][blocks]: z_l^(k+1), lanes of re, then of im
    bool *peaks;              // [blocks] may count though the blocks before have faded: slots of a node start together
};
#define RB_CIRCLE_LANES 4

struct rb_schedule_block { // a node's factor at neighbouring roots by its age, w(z; a, y)^c; made where it is needed
    int from, to;          // ages made so far: from <= a < to
    double *lanes;         // [ages]: re, then im; NULL: none yet
};

struct rb_schedule_row {      // of one y
    double *chances;          // [ages][stride]
    int from, to;             // ages for which the next two are made
    double *at_one, *slope;   // [ages] the factor at z = 1, and its derivative there
    struct rb_schedule_block *blocks;
};

struct rb_schedule_tail {
    const struct rb_list_schedule *s;
    const struct rb_trial_lattice *trial;
    struct rb_schedule_circle circle;
    double negligible;     // contributions to P below it are left out
    double dust;           // and chances below this
    struct rb_arena *arena;
    int first_y, last_y;   // time left to the last trial: points of interest
    int first_o, last_o;   // openings of a node: points with mass
    bool narrow;           // nodes open within a step or so: as if at points, half before and half after
    double *opening;       // [last_o + 1] density times step
    double *unopened;      // [max_age + 1] P(opens later)
    struct rb_schedule_row *rows; // [last_y + 1]
    double *chances;       // scratch: [max_age + 1][stride]
    int stride;
};

// Mean and variance of all starts by point x if trials never ran out.
void rb_schedule_tail_starts(const struct rb_schedule_tail *e, int x, double *out_mean, double *out_variance);

// Step one: what needs no circle. The lattice and the arena must outlive *out.
void rb_schedule_tail_make(const struct rb_list_schedule *s, const struct rb_trial_lattice *trial, double negligible,
                           struct rb_arena *arena, struct rb_schedule_tail *out);
// Step two: `points` roots, of which the first `kept` carry the coefficients.
void rb_schedule_tail_set_circle(struct rb_schedule_tail *e, int points, int kept);

double rb_schedule_tail_above(struct rb_schedule_tail *e, int t); // P(end > t * step)

#endif
