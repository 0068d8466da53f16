// P(end > t) of one dynamic schedule at lattice times: the generating function of the starts on a circle, its n-th
// coefficient, and the integral over the time left to the last trial.
#ifndef RB_SIMULATOR_LIST_SCHEDULE_TAIL_H
#define RB_SIMULATOR_LIST_SCHEDULE_TAIL_H

#include "simulator/list_schedule/list_schedule.h"
#include "simulator/list_schedule/list_schedule_circle.h"

struct rb_schedule_late { // new nodes that open by one law
    int n;
    struct rb_opening_lattice opening;
    struct rb_renewal delayed; // if linear
    struct rb_renewal_chances chances; // scratch, with room for all ages and completions
};

struct rb_schedule_tail {
    const struct rb_list_schedule *s;
    const struct rb_trial_lattice *trial;
    int min_age, max_age;     // ages of interest: points
    bool slots;               // open at 0, or of nodes of several: `open` is made
    bool linear;              // a node has one slot: a delayed renewal process, and nothing is averaged over openings
    struct rb_renewal open;   // slots open at 0; if not linear, of nodes from their opening on, too
    struct rb_schedule_late *late; // [n_late]; one unless they are ranked
    int n_late;
    struct rb_schedule_circle circle;
    struct rb_schedule_node node; // if there are nodes and it is not linear
    const struct rb_schedule_kernel *kernel;
    double negligible;     // contributions to P below it are left out
    double dust;           // and chances below this
    struct rb_arena *arena;
    int first_y, last_y;   // time left to the last trial: points of interest
    const double *weight;  // of the time left at every point: a density
    int apart;             // every so-many-th of them is summed up where the integrand vanishes at both ends: 1 unless set
    int openings_apart;    // likewise of the points of an opening, for nodes of several slots, ...
    int cut_openings_apart; // ... and where the sum ends within its law
    double **tables;       // [last_y + 1] of the kernel; NULL: not made yet
    struct rb_renewal_chances chances; // scratch, with room for all ages and completions
};

// Step one: what needs no circle, for ages min_age..max_age (points). The lattice and the arena must outlive *out.
// false: too many points (the reason in *out_why, a constant string).
bool rb_schedule_tail_make(const struct rb_list_schedule *s, const struct rb_trial_lattice *trial, int min_age,
                           int max_age, double negligible, struct rb_arena *arena, struct rb_schedule_tail *out,
                           const char **out_why);

// Mean and variance of all starts by point x, min_age <= x <= max_age, if trials never ran out.
void rb_schedule_tail_starts(const struct rb_schedule_tail *e, int x, double *out_mean, double *out_variance);
// Starts, in the mean, by which a node that opened at 0 is ahead of one that has not opened by x.
double rb_schedule_tail_one_node(const struct rb_schedule_tail *e, int x);

// Numbers that may be tabulated for every age.
int rb_schedule_tail_width(const struct rb_schedule_tail *e);

// Step two: `points` roots, of which the first `kept` carry the coefficients; so many points lie below the mean.
void rb_schedule_tail_set_circle(struct rb_schedule_tail *e, int points, int kept, int below);

double rb_schedule_tail_above(struct rb_schedule_tail *e, int t); // P(end > t * step)

#endif
