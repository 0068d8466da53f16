// Which numbers of nodes the exact search considers: all of them, or a geometric series where there are too many.
#ifndef RB_PLANNER_NODE_COUNTS_H
#define RB_PLANNER_NODE_COUNTS_H

#include "planner/proof/lattice.h"

// Fills counts, most_counts, thinned and n_outbid.
void rb_node_counts(struct rb_lattice *l);

#endif
