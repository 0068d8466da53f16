// Summary of a trace: the figures for comparing policies.
#ifndef RB_SIMULATOR_TRACE_SUMMARY_H
#define RB_SIMULATOR_TRACE_SUMMARY_H

#include "simulator/cluster/trace_run.h"

struct rb_trace_summary {
    double jct_mean_s, jct_p50_s, jct_p99_s; // job completion time, from submission; interpolated quantiles
    double makespan_s;                       // from time 0 of the trace to the end of its last job
    double wait_mean_s;                      // from submission to the first GPU
    double gpu_hours;                        // held by jobs
    double restarts_mean;                    // of a job, its start not counted
    int deadlines, deadlines_met;            // jobs that have one
    double fairness_mean, fairness_max;      // finish-time fairness, simulator/cluster/trace_fairness.h
    double unfair;                           // share of the jobs with more than 1
    int n_fairness;                          // jobs for which it is known
    double node_hours;                       // owned
    int64_t cost_uusd;                       // of all nodes; -1: no price
    int64_t idle_uusd;                       // part of it for time that no job held: nodes that boot or wait, started
                                             // seconds; -1: no price
};

// The nodes of one price.
struct rb_trace_price {
    struct rb_rate rate;
    int n_nodes;                             // there may be
    double node_hours;                       // owned
    int64_t cost_uusd;
};

// fairness: of each job, rb_trace_fairness.
struct rb_trace_summary rb_trace_summarise(const struct rb_trace_run *run, const double *fairness);
// out: [run->n_prices], cheapest first.
void rb_trace_prices(const struct rb_trace_run *run, struct rb_trace_price *out);
// Cost of a job: its GPUs at their nodes' prices for as long as it held them, rounded down. -1: no price. The sum over
// all jobs plus idle_uusd is cost_uusd.
int64_t rb_trace_job_uusd(const struct rb_trace_run *run, int job);
// For a job that has ended.
double rb_trace_jct_s(const struct rb_trace_training *t);
double rb_trace_wait_s(const struct rb_trace_training *t);

#endif
