// A new node of several slots: its factor in the generating function, by the age at which it stands and the time left, made
// where it is first needed and kept, since an age comes back for every opening and every time asked.
#ifndef RB_SIMULATOR_LIST_SCHEDULE_NODE_H
#define RB_SIMULATOR_LIST_SCHEDULE_NODE_H

#include "simulator/list_schedule_circle.h"
#include "simulator/list_schedule_renewal.h"

struct rb_schedule_node_row { // of one time left, y; what is made is one interval of ages
    int from, to;             // made: from <= a < to
    int first, room;          // there is room for first <= a < first + room
    double *at_one, *slope;   // [room] the factor at z = 1, and its derivative there
    double *blocks;           // [blocks][room] blocks
};

struct rb_schedule_diagonal { // of one age + time left
    int from;                 // the youngest age
    double *chances;          // [ages][stride]; NULL: not made yet
};

struct rb_schedule_node {
    const struct rb_renewal *slot; // from its opening on
    const struct rb_opening_lattice *opening;
    const struct rb_schedule_circle *circle;
    const struct rb_schedule_kernel *kernel;
    struct rb_arena *arena;
    int slots;
    double dust;                       // chances below it are left out
    int first_y, last_y;               // times left that are asked for
    struct rb_schedule_node_row *rows; // [last_y + 1]
    int stride;                        // completions a slot may have
    struct rb_schedule_diagonal *diagonals; // [max_age + last_y + 1]
    double *weights;                   // of the openings of one place
    const double **at;                 // [blocks] of one place
};

// Fields down to last_y are given.
void rb_schedule_node_make(struct rb_schedule_node *node);

struct rb_schedule_node_place { // averaged over the openings until x, at time left y
    double unopened, total, mean; // at z = 1
    const double *weights;        // borrowed until the next call
    const double *const *blocks;
    int n_openings;
};
void rb_schedule_node_at(struct rb_schedule_node *node, int x, int y, struct rb_schedule_node_place *out);

#endif
