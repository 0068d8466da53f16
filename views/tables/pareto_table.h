// The frontier of cost and deadline as a table, with the value of more or less time.
#ifndef RB_VIEWS_PARETO_TABLE_H
#define RB_VIEWS_PARETO_TABLE_H

#include "planner/questions/pareto.h"
#include "views/tables/text_table.h"

// "at 2 h 0 m: 10 minutes more would save $3.20 ($0.32 a minute), 10 minutes less would cost $1.10 more ($0.11 a minute)"
void rb_marginal_write(const struct rb_marginal *marginal, struct rb_buf *out);
// The frontier's own: "on demand, at 2 h 0 m: ..." where it has spot machines beside that. It must exist.
void rb_pareto_marginal_write(const struct rb_pareto *pareto, struct rb_buf *out);
void rb_pareto_table_write(const struct rb_plan_request *req, const struct rb_pareto *pareto,
                           const struct rb_text_style *style, struct rb_buf *out);

#endif
