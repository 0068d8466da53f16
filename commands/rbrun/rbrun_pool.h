// Pools: several jobs on nodes that they share.
#ifndef RB_COMMANDS_RBRUN_POOL_H
#define RB_COMMANDS_RBRUN_POOL_H

#include "base/json.h"
#include "commands/rbrun/rbrun.h"
#include "executor/pool/lent_use.h"
#include "profiles/job/pool_file.h"

int rb_run_pool(int argc, char **argv); // rbrun --pool pool.yaml [JOB.yaml ...]

// Was this run begun as the owner of a pool's nodes? Then it goes on as one.
bool rb_pool_is_one(const char *dir);
// A job of a pool goes on and is stopped with it: else an error that names the pool. verb: "resume".
bool rb_pool_check_alone(const struct rb_run_files *f, const char *verb, struct rb_err *err);
// Takes files and journal over.
bool rb_pool_resume(struct rb_run_files *files, struct rb_journal *journal, const struct rb_args *args, int *out_code,
                    struct rb_err *err);

// rb-pool-report/1. One job of it; times from the start of the pool, -1: not yet.
struct rb_pool_report_job {
    const char *job, *run_id, *outcome;
    int64_t arrived_us, jct_us;
    int64_t alone_us;            // predicted mean, had it been alone on the whole pool; -1: it did not arrive
    struct rb_lent_use use;
    int best_trial;              // -1: none
    double best_metric;
    const char *metric_name;
};

struct rb_pool_report {
    const char *run_id, *policy, *outcome;
    int64_t time_us, cost_uusd;
    int instances_left;          // -1: unknown
    const struct rb_pool_report_job *jobs;
    int n_jobs;
};

// The whole bill is shared out by the GPU time that was lent; -1: nothing was.
int64_t rb_pool_report_share_uusd(const struct rb_pool_report *r, const struct rb_pool_report_job *job);
void rb_pool_report_write(const struct rb_pool_report *r, struct rb_json *j);
void rb_pool_report_table(const struct rb_pool_report *r, const struct rb_text_style *style, struct rb_buf *out);

#endif
