// The search space as a unit cube. Each parameter that is not constant has one coordinate u in [0,1]; the declared
// distribution is the prior, so a configuration drawn from it is uniform in u.
//   uniform: linear; log_uniform: linear in the logarithm; whole numbers: [min - 1/2, max + 1/2], then rounded;
//   q: cells of width q; normal: u = Phi((x - mu) / sigma); choices: cells, equal or as
//   wide as their probabilities.
#ifndef RB_SAMPLERS_COORDINATES_H
#define RB_SAMPLERS_COORDINATES_H

#include "profiles/space/space.h"

struct rb_coordinate {
    int param;                  // index in the space
    int n_cells;                // of a choice, and of whole numbers and steps if there are few; 0: continuous
    bool is_choice;             // its cells have no order
    double *edges;              // of the cells of a choice with probabilities, [n_cells + 1]; NULL: equal cells
    int parent;                 // the coordinate that decides whether it applies, -1: it always applies
    int group;                  // coordinates of a group apply together; the first group always applies
};

struct rb_coordinates {
    const struct rb_space *space;
    struct rb_coordinate *items; // in the order of the parameters, [n]
    int n;
    int n_groups;               // at least 1; a group comes after the group of its parent
};

void rb_coordinates_init(struct rb_coordinates *c, const struct rb_space *space);
void rb_coordinates_finish(struct rb_coordinates *c); // zero-initialised is valid

// Values of a point; parameters that do not apply become ABSENT. u [n], out_values [space->n_params].
void rb_coordinates_values(const struct rb_coordinates *c, const double *u, struct rb_value *out_values);
// The point of values, in the middle of its cell; NAN where a parameter does not apply. out_u [n].
// false: a value is outside of its parameter's range; its coordinate is the nearest.
bool rb_coordinates_of(const struct rb_coordinates *c, const struct rb_value *values, double *out_u);
bool rb_coordinates_apply(const struct rb_coordinates *c, const double *u, int coordinate);
// Makes NAN what does not apply, and moves the rest to the middle of its cell.
void rb_coordinates_settle(const struct rb_coordinates *c, double *u);

int rb_coordinates_cell(const struct rb_coordinates *c, int coordinate, double u); // 0 .. n_cells - 1
double rb_coordinates_edge(const struct rb_coordinates *c, int coordinate, int cell); // where a cell begins
double rb_coordinates_middle(const struct rb_coordinates *c, int coordinate, int cell);

#endif
