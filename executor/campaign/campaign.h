// A measuring campaign: the job's real command at several GPU counts and hyperparameters, on nodes bought for it.
// What is measured is what the stage model needs (trial time = startup + sum of units + checkpoint), as the controller
// sees it, so that nothing is counted twice and nothing is left out:
//   unit u (u >= 2)  time from report u-1 to report u
//   startup          (first report - start order) - mean of that run's units: ssh, process start, imports, loading
//   checkpoint       last report -> checkpoint on the controller: writing it, process exit, transfer
// Of runs that share a GPU only units count during which all of them trained: from when each has reported until the first
// has reported its last.
// Once three configurations (or all, where there are fewer) have failed in the same way before any run reported, the script is
// broken: nothing more is started.
// A run that does not report for trial.timeout, or does not end after its last report, is killed and counts as failed.
// Only reports are visible, so the first unit cannot be told from the start-up: it is taken to last as long as the others.
#ifndef RB_EXECUTOR_CAMPAIGN_H
#define RB_EXECUTOR_CAMPAIGN_H

#include "engine/core/batching.h"
#include "executor/launcher/launcher.h"
#include "executor/pool/node_pool.h"

struct rb_campaign_run {
    int sharers;               // runs on its GPU at the same time, itself included; 1: alone
    int gpus, config;          // GPUs, and which configuration (trial index in the search space)
    int round;                 // how often the configuration had run before: RB_ATTEMPT
    int node;                  // where it ran
    bool ok;
    double startup_s, checkpoint_s; // checkpoint < 0: none was written
    double *unit_s;            // [n_units]
    int n_units;
    bool probe;                   // of a larger batch: made for the time of its steps alone
    struct rb_trial_batch with;   // per_gpu 0: the job does not tune its batch
    struct rb_step_stats steps;   // means over the reports that told each
    double load;                  // load average of this machine, mean over its reports; < 0: not looked at
    char error[256];           // if not ok
    uint64_t failure;          // signature of how the script failed (executor/launcher/last_lines.h); 0: it did not, by its own doing
};

struct rb_campaign_config {
    struct rb_pool_config pool;      // ready, gone and ctx are the campaign's own
    const char *run_dir, *workdir;
    const int *gpus;                 // counts to measure, ascending, [n_gpus]
    int n_gpus, n_configs;
    const int *shares;               // so many runs at once on one GPU, each > 1, at most n_configs, [n_shares]
    int n_shares;
    int n_batches;                   // larger batches probed on each, where trial.batch lets it be tuned
    int64_t resource;                // units per run, >= 2
    bool exclusive;                  // one run per node at a time
    bool on_this_machine;            // what runs there does not end with its node: a stop ends it first
    bool sees_load;                  // nodes share this machine's processors: how busy they are matters
    // One line per thing that happened.
    void (*talk)(void *ctx, const char *text);
    void (*finished)(void *ctx, const struct rb_err *err); // nodes are gone, or it says what is left
    void *ctx;
};

struct rb_campaign;

// n_gpus = 0: no runs, only the nodes' own times (rbprofile provision).
bool rb_campaign_create(const struct rb_campaign_config *config, struct rb_campaign **out, struct rb_err *err);
void rb_campaign_destroy(struct rb_campaign *c); // NULL is fine
bool rb_campaign_start(struct rb_campaign *c, struct rb_err *err);
void rb_campaign_stop(struct rb_campaign *c);    // Ctrl-C: end the nodes, then `finished`

int rb_campaign_n_runs(const struct rb_campaign *c);
const struct rb_campaign_run *rb_campaign_run(const struct rb_campaign *c, int i);
// What the script printed last in that run, sanitised, " | " between the lines. Returns out.
char *rb_campaign_printed(const struct rb_campaign *c, int i, char *out, size_t size);
// Configurations that failed in the same way as the run did.
int rb_campaign_n_failed_alike(const struct rb_campaign *c, int i);
double rb_campaign_unit_s(const struct rb_campaign_run *r); // mean of its units
bool rb_campaign_has_measured(const struct rb_campaign *c); // one run at least
// Does the script go on from a checkpoint? One that was saved is started again for one more unit, and its first report tells.
enum rb_campaign_resumed {
    RB_RESUMED_UNKNOWN, // nothing was saved because nothing could be measured, or it reported nothing
    RB_RESUMED_YES,
    RB_RESUMED_NO,      // it began with the first unit again, or it writes no checkpoint
};
enum rb_campaign_resumed rb_campaign_resumed(const struct rb_campaign *c);
// The first resource that a run reported after it had reached RB_RESOURCE_END; 0: all ended there.
int64_t rb_campaign_beyond(const struct rb_campaign *c);
// Why the first of the nodes that did not come up did not; NULL: none failed.
const struct rb_err *rb_campaign_failure(const struct rb_campaign *c);
const struct rb_pool_node *rb_campaign_node(const struct rb_campaign *c, int node);

#endif
