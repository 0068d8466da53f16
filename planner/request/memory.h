// How much memory one plan may take, in what grows with the job and with the search: stage times, choices and their bounds, tables,
// beginnings of plans that are compared, draws that are kept. Counted, not measured, so that the plan does not depend on the machine.
#ifndef RB_PLANNER_MEMORY_H
#define RB_PLANNER_MEMORY_H

#include "planner/search/search.h"

#define RB_MEMORY_LIMIT   INT64_C(256000000) // bytes, where a request names none: every example takes a tenth of it
#define RB_MEMORY_AT_LEAST INT64_C(32000000) // with less there is no room for choices to compare

double rb_search_memory_limit(const struct rb_search *search);
// Draws that are kept may take as much as they are worth, but no more than a part of the limit.
size_t rb_memory_for_draws(const struct rb_plan_request *req, size_t worth_bytes);
// Tables may take what these draws leave.
double rb_search_memory_for_tables(const struct rb_search *search);

// Of tables with so many replicates of so many sampled choices.
double rb_table_bytes(double n_cells, int n_samples);

#endif
