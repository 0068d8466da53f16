// Tables of simulated runs: of one variant, or of several compared replicate by replicate.
#ifndef RB_VIEWS_SIM_TABLE_H
#define RB_VIEWS_SIM_TABLE_H

#include "base/text/buf.h"
#include "simulator/world/simulation.h"

// One variant: rb-sim/1 or a table. Several: rb-sim-compare/1 or two tables.
void rb_sim_show(const struct rb_simulation *sim, bool json, struct rb_buf *out);
void rb_sim_show_comparison(const struct rb_simulation *sim, bool json, struct rb_buf *out);

#endif
