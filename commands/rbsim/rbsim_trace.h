// Parts of rbsim --trace: what is run, what is shown of it, and its picture.
#ifndef RB_COMMANDS_RBSIM_TRACE_H
#define RB_COMMANDS_RBSIM_TRACE_H

#include "base/buf.h"
#include "base/options.h"
#include "simulator/cluster/trace_summary.h"
#include "views/tables/gantt.h"

struct rb_sim_trace_drawing;

struct rb_sim_trace {
    const struct rb_args *args;
    struct rb_apps apps;
    struct rb_trace trace;
    struct rb_trace_options options;
    struct rb_rate *rates;                 // what these point at
    struct rb_trace_run run;
    int64_t wall_us;                       // of the run alone: nothing is read in it
    struct rb_trace_watcher watcher;       // where a picture is asked for
    struct rb_sim_trace_drawing *drawing;
};

// rbsim_trace_nodes.c: --nodes, their GPUs and prices, cheapest first.
bool rb_sim_trace_read_nodes(struct rb_sim_trace *t, struct rb_err *err);

// One rb-sim-trace/1 document, or a table.
void rb_sim_trace_write_json(const struct rb_sim_trace *t, struct rb_buf *out);
void rb_sim_trace_write_table(const struct rb_sim_trace *t, struct rb_buf *out);

// --gantt FILE: watches from before the run, draws after it.
bool rb_sim_trace_watch(struct rb_sim_trace *t, const char *path, struct rb_err *err);
bool rb_sim_trace_draw(struct rb_sim_trace *t, const char *path, struct rb_err *err);
void rb_sim_trace_drawing_destroy(struct rb_sim_trace_drawing *d); // accepts NULL

#endif
