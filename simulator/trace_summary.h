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
    double fairness_mean, fairness_max;      // finish-time fairness, simulator/trace_fairness.h
    double unfair;                           // share of the jobs with more than 1
    int n_fairness;                          // jobs it is known of
    double node_hours;                       // owned
    int64_t cost_uusd;                       // of all nodes; -1: no price
};

// fairness: of each job, rb_trace_fairness.
struct rb_trace_summary rb_trace_summarise(const struct rb_trace_run *run, const double *fairness);
// Of a job that has ended.
double rb_trace_jct_s(const struct rb_trace_training *t);
double rb_trace_wait_s(const struct rb_trace_training *t);

#endif
