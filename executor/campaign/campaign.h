// A measuring campaign: runs the job's real command at several GPU counts and hyperparameters, on nodes launched for
// it. It measures what the stage model needs (trial time = startup + sum of units + checkpoint), as the controller sees
// it, so that nothing is counted twice and nothing is left out:
//   unit u (u >= 2)  time from report u-1 to report u
//   startup          (first report - start order) - mean of that run's units: ssh, process start, imports, loading
//   checkpoint       last report -> checkpoint on the controller: writing it, process exit, transfer
// When runs share a GPU, a unit counts only if all of them trained during it: from when each has reported until the
// first has reported its last.
// Once three configurations (or all, where there are fewer) have failed in the same way before any run reported, the
// script is broken, and the campaign starts nothing more.
// A run that does not report for trial.timeout, or does not end after its last report, is killed and counts as failed.
// Only reports are visible, so the first unit cannot be separated from the start-up. It is assumed to last as long as
// the others.
#ifndef RB_EXECUTOR_CAMPAIGN_H
#define RB_EXECUTOR_CAMPAIGN_H

#include "engine/core/batching.h"
#include "executor/launcher/launcher.h"
#include "executor/pool/node_pool.h"

struct rb_campaign_run {
    int sharers;               // runs on its GPU at the same time, itself included; 1: alone
    int gpus, config;          // GPUs, and which configuration (trial index in the search space)
    int round;                 // times the configuration had run before: RB_ATTEMPT
    int node;                  // where it ran
    bool ok;
    double startup_s, checkpoint_s; // checkpoint < 0: none was written
    const double *unit_s;      // [n_units], the campaign's
    int n_units;
    double mean_unit_s;        // of them; NAN: there are none
    bool probe;                   // probes a larger batch, only for the time of its steps
    struct rb_trial_batch with;   // per_gpu 0: the job does not tune its batch
    struct rb_step_stats steps;   // means over the reports that contained each
    double load;                  // load average of this machine, mean over its reports; < 0: not measured
    char error[256];           // if not ok
    // Signature of how the script failed (executor/launcher/last_lines.h); 0: the script did not cause it.
    uint64_t failure;
};

struct rb_campaign_config {
    struct rb_pool_config pool;      // ready, gone and ctx are the campaign's own
    const char *run_dir, *workdir;
    const int *gpus;                 // counts to measure, ascending, [n_gpus]
    int n_gpus, n_configs;
    const int *shares;               // numbers of runs at once on one GPU, each > 1, at most n_configs, [n_shares]
    int n_shares;
    int n_batches;                   // larger batches probed on each, where trial.batch lets it be tuned
    int64_t resource;                // units per run, >= 2
    bool exclusive;                  // one run per node at a time
    bool on_this_machine;            // processes there do not end with their node: a stop ends them first
    bool sees_load;                  // nodes share this machine's processors: how busy they are matters
    // One line for each event.
    void (*talk)(void *ctx, const char *text);
    void (*finished)(void *ctx, const struct rb_err *err); // the nodes are gone, or err reports what is left
    void *ctx;
};

struct rb_campaign;

// n_gpus = 0: no runs, only the nodes' own times (rbprofile provision).
struct rb_campaign *rb_campaign_create(const struct rb_campaign_config *config);
void rb_campaign_destroy(struct rb_campaign *c); // NULL is fine
bool rb_campaign_start(struct rb_campaign *c, struct rb_err *err);
void rb_campaign_stop(struct rb_campaign *c);    // Ctrl-C: end the nodes, then `finished`

int rb_campaign_n_runs(const struct rb_campaign *c);
const struct rb_campaign_run *rb_campaign_run(const struct rb_campaign *c, int i);
// The last lines that the script printed in that run, sanitised, with " | " between them. Returns out.
char *rb_campaign_printed(const struct rb_campaign *c, int i, char *out, size_t size);
// Number of configurations that failed in the same way as the run.
int rb_campaign_n_failed_alike(const struct rb_campaign *c, int i);
bool rb_campaign_has_measured(const struct rb_campaign *c); // one run at least
// Does the script resume from a checkpoint? A run that was saved is started again for one more unit; its first report
// shows it.
enum rb_campaign_resumed {
    RB_RESUMED_UNKNOWN, // nothing was saved because nothing could be measured, or it reported nothing
    RB_RESUMED_YES,
    RB_RESUMED_NO,      // it began with the first unit again, or it writes no checkpoint
};
enum rb_campaign_resumed rb_campaign_resumed(const struct rb_campaign *c);
// The first resource that a run reported after it had reached RB_RESOURCE_END; 0: all ended there.
int64_t rb_campaign_beyond(const struct rb_campaign *c);
// The error of the first node that did not come up; NULL: none failed.
const struct rb_err *rb_campaign_failure(const struct rb_campaign *c);
const struct rb_pool_node *rb_campaign_node(const struct rb_campaign *c, int node);

#endif
