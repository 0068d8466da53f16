// Memory limit of one plan, for everything that grows with the job and the search: stage times, choices and their
// bounds, tables, partial plans, kept draws. The amount is counted, not measured, so that the plan does not depend on
// the machine.
#ifndef RB_PLANNER_MEMORY_H
#define RB_PLANNER_MEMORY_H

#include "planner/search/search.h"

#define RB_MEMORY_LIMIT   INT64_C(256000000) // bytes, if a request names none: every example takes a tenth of it
#define RB_MEMORY_AT_LEAST INT64_C(32000000) // with less there is no room to compare choices

double rb_search_memory_limit(const struct rb_search *search);
// Memory for kept draws: as much as they are worth, but only a part of the limit.
size_t rb_memory_for_draws(const struct rb_plan_request *req, size_t worth_bytes);
// Memory for tables: what the kept draws leave.
double rb_search_memory_for_tables(const struct rb_search *search);

// Size of tables with this many replicates of this many sampled choices.
double rb_table_bytes(double n_cells, int n_samples);

#endif
