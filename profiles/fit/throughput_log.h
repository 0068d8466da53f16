// Learns the throughput model of a running job from its own reports. It keeps one observation for each placement and batch the
// job has trained with, and fits the model again when there is a new one, as Pollux does (OSDI'21, section 4.1). The result
// depends only on the reports and their order.
#ifndef RB_PROFILES_THROUGHPUT_LOG_H
#define RB_PROFILES_THROUGHPUT_LOG_H

#include "profiles/fit/throughput.h"

struct rb_throughput_log {
    struct rb_throughput_sample *samples; // each (nodes, gpus, local_batch, accumulation) once, times are means, [n]
    int *n_reports;                       // of each sample, [n]
    int n;
    int max_gpus;                         // largest number trained on so far; do not ask the model far beyond it
    double min_local_batch, max_local_batch; // seen so far
    struct rb_throughput fit;             // n > 0: of the samples as of the last new one
    double error;                         // mean |relative error| of step time, then
};

// Are there local batches a factor of two apart? Otherwise a fit can hardly separate the fixed time from the time per sample.
bool rb_throughput_log_separates_batches(const struct rb_throughput_log *log);

void rb_throughput_log_init(struct rb_throughput_log *log);
void rb_throughput_log_finish(struct rb_throughput_log *log);

// Adds one report. true: its placement and batch were new and the model has been fitted again. false: it was known, and
// counts into that observation's means at the next fit; or it is not plausible, or the log is full, and it is dropped.
bool rb_throughput_log_add(struct rb_throughput_log *log, const struct rb_throughput_sample *s);

// Fits the means as they are now. false: nothing was reported.
bool rb_throughput_log_refit(struct rb_throughput_log *log);

#endif
