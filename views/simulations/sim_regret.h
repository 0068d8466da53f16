// Draws what searches on a table found for their dollars: mean regret with its 95 % interval, and the dollars to the
// target.
#ifndef RB_VIEWS_SIM_REGRET_H
#define RB_VIEWS_SIM_REGRET_H

#include "simulator/world/simulation.h"

// Into FILE.svg, or FILE.html with the tables beside it. Of a simulation with a table only. Errors: nothing costs
// anything (PRICE), what views/pages/picture.h cannot draw, and those of writing.
bool rb_sim_regret_save(const struct rb_simulation *sim, const char *path, struct rb_err *err);

#endif
