// The results of a trace's jobs on one shared cluster: a table, or rb-sim-trace/1.
#ifndef RB_VIEWS_TRACE_TABLE_H
#define RB_VIEWS_TRACE_TABLE_H

#include "simulator/cluster/trace_summary.h"
#include "views/tables/text_table.h"

void rb_trace_table_write(const struct rb_trace_run *run, const struct rb_text_style *style, struct rb_buf *out);
void rb_trace_json_write(const struct rb_trace_run *run, int64_t wall_us, struct rb_buf *out); // wall_us: of the run alone

#endif
