// Shortest paths over columns: a Lagrangian bound. Time beyond the deadline has a price; the cheapest path at any price
// costs no more than any plan in time.
#ifndef RB_PLANNER_PATHS_H
#define RB_PLANNER_PATHS_H

#include "planner/proof/columns.h"

// Chooses the prices, and fills what the later stages add at least. Returns the largest bound on the columns of a plan
// in time, less the best plan's.
double rb_paths_price(struct rb_columns *c);
// Drops columns that are on no path that is cheap enough.
void rb_paths_drop(struct rb_columns *c);

#endif
