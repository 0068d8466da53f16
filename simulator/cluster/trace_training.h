// The training of one job of a trace: what it holds, its progress, and the model it has learned. Its world advances it
// in time and knows the measured tables; its policy knows only what it queries here.
#ifndef RB_SIMULATOR_TRACE_TRAINING_H
#define RB_SIMULATOR_TRACE_TRAINING_H

#include "profiles/fit/goodput.h"
#include "simulator/cluster/trace.h"

struct rb_trace_training {
    const struct rb_trace_job *job;
    bool tunes;                       // chooses its batch size
    int batch;                        // else this
    bool by_throughput;               // its model gives every sample the same value (rb_autoscale.by_throughput)
    int node_gpus;                    // of the nodes it is placed on
    int max_gpus;                     // limit on what it may hold

    int nodes, gpus;                  // held; 0: it waits
    struct rb_app_layout layout;      // the same as a key of the tables
    struct rb_batch cut;              // the batch size it trains with
    struct rb_app_step step;          // duration of an iteration with it,
    struct rb_grad_noise noise;       // noise of its gradients,
    double rate;                      // progress per second without restarts and interference; 0: unknown yet
    int rate_epoch;                   // the epoch for which rate is valid
    int64_t restart_left_us;          // remaining time until it makes progress again

    const char *skipped;              // why it cannot run here (rb_trace_skip); NULL: it can
    int epoch;
    double progress;                  // in iterations at the initial batch size
    int64_t submitted_us;             // from the trace, or when there was room
    int64_t ended_us;                 // -1: not yet
    int64_t started_us;               // first placed; -1: never
    int restarts;                     // number of placements, the first one included
    int64_t executed_us, gpu_us;      // time with GPUs; and that time times their number

    double oracle_step_s[RB_APP_MAX_GPUS + 1]; // of an iteration, by number of GPUs, from the tables, computed on first
                                               // use

    // Its own observations: iterations on each (nodes, GPUs, batch per GPU) it trained with, once each, and the model
    // fitted to them. The gradients are the latest.
    struct rb_throughput_sample *seen;
    int n_seen, seen_cap, most_gpus_seen;
    bool as_published;                // fits as there (profiles/fit/throughput_fit_published.h), does not query the
                                      // tables
    struct rb_goodput model;          // nothing before n_seen > 0
    double *asked;                    // goodput by this model, < 0: not computed yet;
                                      // [RB_APP_MAX_NODES][RB_APP_MAX_GPUS]
};

// `batches` of the application's limits, for RB_APP_MAX_GPUS; borrowed.
void rb_trace_training_init(struct rb_trace_training *t, const struct rb_trace_job *job, bool tunes, int node_gpus,
                            const struct rb_goodput_batches *batches);
void rb_trace_training_finish(struct rb_trace_training *t);

// Moves it to gpus[0..n), none 0, in the order of its workers; n = 0: it waits. False: this placement was not measured.
bool rb_trace_training_place(struct rb_trace_training *t, const int *gpus, int n, int64_t now_us, int64_t restart_us,
                       struct rb_err *err);

// It trains and observes itself; the model is updated.
bool rb_trace_training_learn(struct rb_trace_training *t, struct rb_err *err);
void rb_trace_training_hold(struct rb_trace_training *t, int64_t span_us); // accounts for its GPUs for this long
// Ends the epoch: the next begins, or the job ends.
void rb_trace_training_end_epoch(struct rb_trace_training *t, int64_t now_us);
double rb_trace_training_epoch_end(const struct rb_trace_training *t); // the progress at which it ends
// Chooses the batch size again. False: it was not measured on these nodes.
bool rb_trace_training_tune(struct rb_trace_training *t, struct rb_err *err);

// Largest number of GPUs it may be asked about: twice the most it has trained on, at first one.
int rb_trace_training_reach(const struct rb_trace_training *t);
// Goodput by its model, for rb_shared_job: arg is the training. 0: it cannot run there, or the result was not measured.
double rb_trace_training_goodput(const void *arg, int nodes, int gpus);
// Reads the duration of an iteration on every number of GPUs from the tables, with the current batch size. Call before
// the first rb_..._oracle_s.
void rb_trace_training_consult_oracle(struct rb_trace_training *t);
// Known only to an oracle: seconds of work left on this number of GPUs on the fewest nodes, with the batch size as
// submitted. INFINITY: it cannot run there. For rb_shared_job: arg is the training.
double rb_trace_training_oracle_s(const void *arg, int gpus);

#endif
