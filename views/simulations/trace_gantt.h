// The picture of a trace: watches its run, then draws it. Every node is a row and every job has a colour, which is
// deeper the further the job is trained.
#ifndef RB_VIEWS_TRACE_GANTT_H
#define RB_VIEWS_TRACE_GANTT_H

#include "simulator/cluster/trace_run.h"

struct rb_trace_gantt;

// Before the run begins: sets options->watcher. path: FILE.svg or FILE.html.
bool rb_trace_gantt_create(const char *path, const struct rb_trace_run *run, const struct rb_trace *trace,
                           struct rb_trace_options *options, struct rb_trace_gantt **out, struct rb_err *err);
bool rb_trace_gantt_save(struct rb_trace_gantt *g, const char *path, struct rb_err *err); // after the run
void rb_trace_gantt_destroy(struct rb_trace_gantt *g); // NULL is fine

#endif
