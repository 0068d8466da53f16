// A new node of several slots: how many trials its slots have started by some time, averaged over its opening. What it
// has done by some age is made where it is first needed and kept, since ages come back for every opening and every time.
#ifndef RB_SIMULATOR_LIST_SCHEDULE_NODE_H
#define RB_SIMULATOR_LIST_SCHEDULE_NODE_H

#include "simulator/list_schedule/list_schedule_renewal.h"

struct rb_schedule_starts { // P(so many starts, and all that run then end in the time left), trimmed
    const double *p;        // [to + 1 - from]
    int from, to;           // starts
    double total, mean;     // the sum of p, and the mean of the starts under it
};

struct rb_schedule_node {
    const struct rb_renewal *slot; // from its opening on
    const struct rb_opening_lattice *opening;
    const struct rb_schedule_convolver *convolver;
    struct rb_arena *arena;
    int slots;
    double dust;         // chances below it are left out
    int first_y, last_y; // times left that are asked for ...
    int apart;           // ... mostly every so-many-th, from the first on
    int openings_apart;  // openings are summed up at every so-many-th point where nothing ends within their law, ...
    int cut_openings_apart; // ... and where it does
    struct rb_renewal_chances *diagonals; // [max_age + last_y + 1] of a slot, by age + time left; p NULL: not made yet
    struct rb_schedule_age ***ages; // [last_y + 1][max_age + 1] w(z; a, y)^slots, powers from the fewest starts that a
                                    // node may have; NULL: not made yet, or none of this time left
    double *rooms[2], *sum, *padded; // [most starts of a node, and some]
};

// Fields down to last_y are given.
void rb_schedule_node_make(struct rb_schedule_node *node);

// Averaged over the openings until x, at time left y. out->p is borrowed until the next call.
void rb_schedule_node_at(struct rb_schedule_node *node, int x, int y, struct rb_schedule_starts *out);

// Chances below `dust` are cut off at both ends; total and mean are worked out.
struct rb_schedule_starts rb_schedule_trimmed(const double *p, int from, int to, double dust);

#endif
