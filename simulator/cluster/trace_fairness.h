// Finish-time fairness (Themis, NSDI'20, as Pollux reports it): how long a job took over how long it would have taken alone on
// its share of the cluster, the GPUs over the mean number of jobs that were there while it was. Above 1: it would have
// been better off with a cluster of its own.
#ifndef RB_SIMULATOR_TRACE_FAIRNESS_H
#define RB_SIMULATOR_TRACE_FAIRNESS_H

#include "simulator/cluster/trace_run.h"

// Of every job of a run that is over, [trace->n]; NaN where its tables say nothing of its share. Whole GPUs, at least one, on
// the fewest nodes; the batch size as submitted where the policy leaves it so, else the best by the tables, epoch by epoch.
void rb_trace_fairness(const struct rb_trace_run *run, double *out);

#endif
