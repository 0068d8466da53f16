// Better plans near one that prices of time found: such plans lie on a convex hull, and between its corners cheaper ones just
// keep the deadline. A good plan early is what lets bounds exclude the others.
#ifndef RB_PLANNER_NEIGHBOURS_H
#define RB_PLANNER_NEIGHBOURS_H

#include "planner/proof/exact.h"

// From x's best: plans that differ in the choice of one stage, or in the node count of some successive ones. The cheapest that
// looks in time (as if times were normal) is made exact and offered, until none is cheaper or too many were not in time.
bool rb_neighbours_improve(struct rb_exact *x, struct rb_err *err);

#endif
