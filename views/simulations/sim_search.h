// What searches on a table reached: their regret, also over dollars, and the dollars to the target.
#ifndef RB_VIEWS_SIM_SEARCH_H
#define RB_VIEWS_SIM_SEARCH_H

#include "base/document/json.h"
#include "simulator/world/simulation.h"
#include "views/tables/text_table.h"

const char *rb_sim_curves_say(const struct rb_simulation *sim); // one phrase; the curves or the table
// Of a simulation with a table only.
void rb_sim_table_json(const struct rb_simulation *sim, struct rb_json *j); // member `blackbox`
void rb_sim_search_json(const struct rb_simulation *sim, const struct rb_sim_variant *v, struct rb_json *j); // `search`
// Regret, and with a target the dollars to it, over the runs that reached it. The caller finishes *table.
void rb_sim_search_cells(const struct rb_simulation *sim, struct rb_text_table *table);
// Appends a sentence without its full stop if runs of the variant took all rows of the table; false: none did.
bool rb_sim_ran_out(const struct rb_simulation *sim, const struct rb_sim_variant *v, struct rb_buf *out);
void rb_sim_search_table(const struct rb_simulation *sim, struct rb_buf *out); // both
int64_t rb_sim_most_spent(const struct rb_simulation *sim);                    // by any run of any variant

#endif
