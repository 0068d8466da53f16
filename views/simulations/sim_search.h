// What searches on a table reached: their regret, also over dollars, and the dollars to the target.
#ifndef RB_VIEWS_SIM_SEARCH_H
#define RB_VIEWS_SIM_SEARCH_H

#include "base/document/json.h"
#include "simulator/world/simulation.h"

const char *rb_sim_curves_say(const struct rb_simulation *sim); // one phrase; the curves or the table
// Of a simulation with a table only.
void rb_sim_table_json(const struct rb_simulation *sim, struct rb_json *j); // member `blackbox`
void rb_sim_search_json(const struct rb_simulation *sim, const struct rb_sim_variant *v, struct rb_json *j); // `search`
void rb_sim_search_table(const struct rb_simulation *sim, struct rb_buf *out);

#endif
