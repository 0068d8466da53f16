// Scenarios beside the request as it is, one row each; below them those that cannot be planned, those that are not
// proved, and warnings.
#ifndef RB_VIEWS_WHAT_IF_TABLE_H
#define RB_VIEWS_WHAT_IF_TABLE_H

#include "planner/questions/what_if.h"
#include "views/tables/text_table.h"

// order: the order of the rows, "": the order of the request.
void rb_what_if_table_write(const struct rb_plan_request *req, const char *planner, const char *order,
                            const struct rb_what_if_table *table, const struct rb_text_style *style, struct rb_buf *out);

#endif
