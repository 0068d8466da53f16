// Runs a trace on a shared cluster in virtual time: jobs arrive, a policy divides the GPUs between them round after round,
// measured tables say how far each one comes. Two sets of rules for the same cluster: `events` for what happens, `osdi21` for
// what the published simulator does, to the second.
#ifndef RB_SIMULATOR_TRACE_RUN_H
#define RB_SIMULATOR_TRACE_RUN_H

#include "engine/sharing/autoscale.h"
#include "engine/sharing/sharing.h"
#include "simulator/cluster/trace_nodes.h"
#include "simulator/cluster/trace_training.h"

enum rb_trace_rules { RB_TRACE_EVENTS, RB_TRACE_OSDI21 };

// What a watcher is called with: who holds what from now on, and when a job has ended.
struct rb_trace_watcher {
    void (*placed)(void *ctx, int job, const int *row, int64_t now_us); // row: GPUs on each node, [n_nodes]
    void (*ended)(void *ctx, int job, int64_t now_us);
    void *ctx;
};

struct rb_trace_options {
    enum rb_trace_rules rules;
    const struct rb_sharing *policy;
    struct rb_sharing_options sharing;
    int n_nodes, gpus_per_node;
    int at_once;                      // > 0: jobs at a time; the next is submitted when one ends, not before the trace says
    const struct rb_autoscale *autoscale; // NULL: all n_nodes are there from first to last; else min_nodes are at first
    int min_nodes;
    double least_worth;               // of a GPU, for autoscale
    double confidence;                // of each delay of a node, where a deadline waits for it; 0: as long as on average
    struct rb_trace_provisioning provisioning; // of nodes that are requested
    const struct rb_rate *rates;      // of nodes 0..n_nodes-1, never falling; borrowed. NULL: unknown
    double interference;              // share of progress lost where two jobs that span nodes meet on a node
    const struct rb_trace_watcher *watcher; // NULL: none
};

// The defaults of the published comparison: 16 nodes of 4 GPUs, 30 s without progress at a change, a round a minute.
void rb_trace_options_defaults(struct rb_trace_options *o);

struct rb_trace_run {
    const struct rb_trace *trace;
    struct rb_trace_options options;
    void *policy_state;
    void *autoscale_state;
    struct rb_trace_nodes nodes;
    struct rb_shared_cluster cluster; // of these
    struct rb_goodput_batches **batches; // of each application
    struct rb_trace_training *jobs;   // of the trace, [trace->n]
    int *price;                       // of each node: which of the n_prices unlike ones, from the cheapest on
    int n_prices;                     // 0: unknown
    int64_t *gpu_us;                  // GPU-time that jobs held for each price, [trace->n][n_prices]
    int **rows;                       // what each active job holds, [n_nodes]; NULL: not there, or not any more
    int *active;                      // jobs submitted and not ended, ascending; [n_active]
    int n_active, n_arrived, n_ended;
    int n_skipped;                    // of those that ended: they cannot run here, and `skipped` of the job says why
    struct rb_arena arena;            // of these reasons
    struct rb_shared_job *seen;       // what the policy is shown of the active, [n_active]
    int *division;                    // what it answers, [n_active][n_nodes]
    int active_cap;
    int64_t now_us;
    int64_t n_rounds, n_idle_rounds;  // held; the last of them that left everybody waiting
};

bool rb_trace_run_init(struct rb_trace_run *run, const struct rb_trace *trace, const struct rb_trace_options *options,
                       struct rb_err *err);
void rb_trace_run_finish(struct rb_trace_run *run);

// Until all jobs have ended. A job that cannot run here is skipped, and the others go on: one that needs more GPUs than the
// cluster has, one whose application was not measured where the policy puts it, one that the policy never lets run. Errors: no
// job can run, or the trace does not end.
bool rb_trace_run_all(struct rb_trace_run *run, struct rb_err *err);

// ---- for the rules

// From now on the job has ended without having been trained to its end; `why` is copied. It holds nothing any more.
void rb_trace_skip(struct rb_trace_run *run, int job, const char *why);

int64_t rb_trace_next_arrival_us(const struct rb_trace_run *run); // INT64_MAX: none, or not before one ends
void rb_trace_arrivals(struct rb_trace_run *run);       // those submitted by now become active
void rb_trace_remove_ended(struct rb_trace_run *run);   // active ones that have ended give their GPUs back
void rb_trace_scale(struct rb_trace_run *run);   // the cluster, where a rule decides on it
void rb_trace_divide(struct rb_trace_run *run);  // one round; jobs that cannot run where they are put are skipped
bool rb_trace_tune(struct rb_trace_run *run, int job); // false: skipped, its batch size was not measured where it trains
void rb_trace_charge(struct rb_trace_run *run, int job, int64_t span_us); // it held what it has, for so long
// Fails on a trace that would not end within ten years. Jobs that the policy never lets run are skipped.
#define RB_TRACE_LONGEST_S (10.0 * 366 * 86400)
bool rb_trace_check_end(struct rb_trace_run *run, struct rb_err *err);
// Progress that an active job keeps beside its neighbours, 0..1.
double rb_trace_undisturbed(const struct rb_trace_run *run, int job);

void rb_trace_pin_osdi21(struct rb_trace_run *run); // an application that was not scaled there
bool rb_trace_run_events(struct rb_trace_run *run, struct rb_err *err);
bool rb_trace_run_osdi21(struct rb_trace_run *run, struct rb_err *err);

#endif
