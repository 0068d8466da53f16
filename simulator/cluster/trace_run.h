// Runs a trace on a shared cluster in virtual time: jobs arrive, a policy divides the GPUs between them in each round,
// and measured tables give each job's progress. There are two sets of rules for the same cluster: `events` is
// event-driven, and `osdi21` reproduces the published simulator to the second.
#ifndef RB_SIMULATOR_TRACE_RUN_H
#define RB_SIMULATOR_TRACE_RUN_H

#include "engine/sharing/autoscale.h"
#include "engine/sharing/sharing.h"
#include "simulator/cluster/trace_nodes.h"
#include "simulator/cluster/trace_training.h"

enum rb_trace_rules { RB_TRACE_EVENTS, RB_TRACE_OSDI21 };

// The argument of a watcher: the allocation from now on, and which job has ended.
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
    int at_once;                      // > 0: jobs at a time; the next is submitted when one ends, but not before its
                                      // time in the trace
    const struct rb_autoscale *autoscale; // NULL: all n_nodes exist throughout; else min_nodes do at first
    int min_nodes;
    double least_worth;               // of a GPU, for autoscale
    double confidence;                // with which each node delay is bounded for a deadline; 0: the mean delay
    struct rb_trace_provisioning provisioning; // of nodes that are requested
    const struct rb_rate *rates;      // of nodes 0..n_nodes-1, non-decreasing; borrowed. NULL: unknown
    double interference;              // share of progress lost if two jobs that span nodes share a node
    const struct rb_trace_watcher *watcher; // NULL: none
};

// The defaults of the published comparison: 16 nodes of 4 GPUs, 30 s without progress after a change, one round per
// minute.
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
    int *price;                       // of each node: index into the n_prices distinct prices, cheapest first
    int n_prices;                     // 0: unknown
    int64_t *gpu_us;                  // GPU-time that jobs held at each price, [trace->n][n_prices]
    int **rows;                       // what each active job holds, [n_nodes]; NULL: not active
    int *active;                      // jobs submitted and not ended, ascending; [n_active]
    int n_active, n_arrived, n_ended;
    int n_skipped;                    // of the ended jobs: those that cannot run here; `skipped` of the job gives the
                                      // reason
    struct rb_arena arena;            // of these reasons
    struct rb_shared_job *seen;       // the policy's input for the active jobs, [n_active]
    int *division;                    // the policy's answer, [n_active][n_nodes]
    int active_cap;
    int64_t now_us;
    int64_t n_rounds, n_idle_rounds;  // rounds so far; trailing rounds that left all jobs waiting
};

bool rb_trace_run_init(struct rb_trace_run *run, const struct rb_trace *trace, const struct rb_trace_options *options,
                       struct rb_err *err);
void rb_trace_run_finish(struct rb_trace_run *run);

// Runs until all jobs have ended. A job that cannot run here is skipped and the others continue: a job that needs more
// GPUs than the cluster has, whose application was not measured for the policy's placement, or that the policy never
// runs. Errors: no job can run, or the trace does not end.
bool rb_trace_run_all(struct rb_trace_run *run, struct rb_err *err);

// ---- for the rules

// The job ends now without being trained to its end; `why` is copied. It holds nothing from now on.
void rb_trace_skip(struct rb_trace_run *run, int job, const char *why);

int64_t rb_trace_next_arrival_us(const struct rb_trace_run *run); // INT64_MAX: none, or none before a job ends
void rb_trace_arrivals(struct rb_trace_run *run);       // jobs submitted by now become active
void rb_trace_remove_ended(struct rb_trace_run *run);   // active jobs that have ended return their GPUs
void rb_trace_scale(struct rb_trace_run *run);   // the size of the cluster, if a rule decides on it
void rb_trace_divide(struct rb_trace_run *run);  // one round; jobs that cannot run on their placement are skipped
bool rb_trace_tune(struct rb_trace_run *run, int job); // false: skipped, because its batch size was not measured on its
                                                       // placement
void rb_trace_charge(struct rb_trace_run *run, int job, int64_t span_us); // accounts for this long with its current
                                                                          // GPUs
// Fails on a trace that would not end within ten years. Jobs that the policy never runs are skipped.
#define RB_TRACE_LONGEST_S (10.0 * 366 * 86400)
bool rb_trace_check_end(struct rb_trace_run *run, struct rb_err *err);
// Share of progress that an active job keeps despite interference from its neighbours, 0..1.
double rb_trace_undisturbed(const struct rb_trace_run *run, int job);

void rb_trace_pin_osdi21(struct rb_trace_run *run); // pins the application that the published simulator did not scale
bool rb_trace_run_events(struct rb_trace_run *run, struct rb_err *err);
bool rb_trace_run_osdi21(struct rb_trace_run *run, struct rb_err *err);

#endif
