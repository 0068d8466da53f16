// Parts of rbsim --trace: what is asked for.
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
    struct rb_rate *rates;                 // what these point at
    struct rb_trace_run run;
    int64_t wall_us;                       // of the run alone: nothing is read in it
    struct rb_trace_gantt *drawing;        // where a picture is asked for
};

// rbsim_trace_nodes.c: --nodes, their GPUs and prices, cheapest first.
bool rb_sim_trace_read_nodes(struct rb_sim_trace *t, struct rb_err *err);

#endif
