// Finish-time fairness (Themis, NSDI'20, as Pollux reports it): a job's duration divided by its duration alone on its
// share of the cluster. The share is the number of GPUs over the mean number of jobs present during the job. Above 1:
// the job would have been better off with a cluster of its own.
#ifndef RB_SIMULATOR_TRACE_FAIRNESS_H
#define RB_SIMULATOR_TRACE_FAIRNESS_H

#include "simulator/cluster/trace_run.h"

// Computes it for every job of a finished run, [trace->n]; NaN if the job's tables do not cover its share. The share is
// rounded to whole GPUs, at least one, on the fewest nodes. The batch size is as submitted if the policy does not
// change it, else the best by the tables, epoch by epoch.
void rb_trace_fairness(const struct rb_trace_run *run, double *out);

#endif
