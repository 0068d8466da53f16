// Draws the first run of each variant of a simulation: what the engine ordered, and when it ended.
#ifndef RB_VIEWS_SIM_GANTT_H
#define RB_VIEWS_SIM_GANTT_H

#include "simulator/world/simulation.h"

// Into FILE.html, or FILE.svg if there is only one variant. Runs the first replicate of each again.
bool rb_sim_gantt_save(const struct rb_simulation *sim, const char *path, struct rb_err *err);

#endif
