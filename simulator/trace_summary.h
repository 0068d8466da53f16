// What a trace came to: the figures that policies are compared by.
#ifndef RB_SIMULATOR_TRACE_SUMMARY_H
#define RB_SIMULATOR_TRACE_SUMMARY_H

#include "simulator/trace_run.h"

struct rb_trace_summary {
    double jct_mean_s, jct_p50_s, jct_p99_s; // job completion time, from submission; quantiles interpolated between ranks
    double makespan_s;                       // from time 0 of the trace to the end of its last job
    double wait_mean_s;                      // from submission to the first GPU
    double gpu_hours;                        // held by jobs
    double restarts_mean;                    // of a job, its start not counted
    int deadlines, deadlines_met;            // jobs that have one
};

struct rb_trace_summary rb_trace_summarise(const struct rb_trace_run *run);
double rb_trace_jct_s(const struct rb_trace_training *t); // of a job that has ended

#endif
