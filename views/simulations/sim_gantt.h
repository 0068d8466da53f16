// The first run of each variant of a simulation, watched and drawn: what the engine ordered and when it came to an end.
#ifndef RB_VIEWS_SIM_GANTT_H
#define RB_VIEWS_SIM_GANTT_H

#include "simulator/world/simulation.h"

// FILE.html, or FILE.svg where there is one variant alone. Runs the first replicate of each again.
bool rb_sim_gantt_save(const struct rb_simulation *sim, const char *path, struct rb_err *err);

#endif
