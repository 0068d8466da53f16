// The report of a pool for people: a row for each job, what the pool cost, and whether instances are left.
#ifndef RB_VIEWS_POOL_TABLE_H
#define RB_VIEWS_POOL_TABLE_H

#include "executor/pool/pool_report.h"
#include "views/tables/text_table.h"

void rb_pool_report_table(const struct rb_pool_report *r, const struct rb_text_style *style, struct rb_buf *out);

#endif
