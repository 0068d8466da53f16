// What a pool did, job by job, as rb-pool-report/1.
#ifndef RB_EXECUTOR_POOL_REPORT_H
#define RB_EXECUTOR_POOL_REPORT_H

#include "base/document/json.h"
#include "executor/pool/lent_use.h"

// One job; times from the start of the pool, -1: not yet.
struct rb_pool_report_job {
    const char *job, *run_id, *outcome;
    int64_t arrived_us, jct_us;
    int64_t alone_us;            // predicted mean, alone on the whole pool; -1: it did not arrive
    struct rb_lent_use use;
    int best_trial;              // -1: none
    double best_metric;
    const char *metric_name;
};

struct rb_pool_report {
    const char *run_id, *policy, *outcome;
    int64_t time_us, cost_uusd;
    bool is_free;                // its nodes have no price
    int instances_left;          // -1: unknown
    const struct rb_pool_report_job *jobs;
    int n_jobs;
};

// The job's part of the whole bill, by the GPU time lent to it; -1: nothing was lent.
int64_t rb_pool_report_share_uusd(const struct rb_pool_report *r, const struct rb_pool_report_job *job);
void rb_pool_report_write(const struct rb_pool_report *r, struct rb_json *j);

#endif
