// Parts of rbsim --trace: the request and its results.
#ifndef RB_COMMANDS_RBSIM_TRACE_H
#define RB_COMMANDS_RBSIM_TRACE_H

#include "base/options.h"
#include "simulator/cluster/trace_summary.h"
#include "views/simulations/trace_gantt.h"

struct rb_sim_trace {
    const struct rb_args *args;
    struct rb_apps apps;
    struct rb_trace trace;
    struct rb_trace_options options;
    struct rb_rate *rates;                 // the prices that options point to
    struct rb_trace_run run;
    int64_t wall_us;                       // of the run alone, without reading
    struct rb_trace_gantt *drawing;        // if a picture was requested
};

// rbsim_trace_nodes.c: --nodes, their GPUs and prices, cheapest first.
bool rb_sim_trace_read_nodes(struct rb_sim_trace *t, struct rb_err *err);

#endif
