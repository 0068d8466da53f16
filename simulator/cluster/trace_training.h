// One job of a trace in training: what it holds, how far it is, what it has learned of itself. Its world moves it through
// time; it knows the measured tables, and its policy knows of it only what it asks.
#ifndef RB_SIMULATOR_TRACE_TRAINING_H
#define RB_SIMULATOR_TRACE_TRAINING_H

#include "profiles/fit/goodput.h"
#include "simulator/cluster/trace.h"

struct rb_trace_training {
    const struct rb_trace_job *job;
    bool tunes;                       // chooses its batch size
    int batch;                        // else this
    bool by_throughput;               // its model takes every sample for worth the same (rb_autoscale.by_throughput)
    int node_gpus;                    // of the nodes it is placed on
    int max_gpus;                     // it may ever hold

    int nodes, gpus;                  // it holds; 0: it waits
    struct rb_app_layout layout;      // the same to the tables
    struct rb_batch cut;              // it trains with
    struct rb_app_step step;          // what an iteration takes like that,
    struct rb_grad_noise noise;       // how noisy its gradients are,
    double rate;                      // and the progress a second, restarts and neighbours aside; 0: not known yet
    int rate_epoch;                   // it holds for
    int64_t restart_left_us;          // until it makes progress again

    const char *skipped;              // why it cannot run here (rb_trace_skip); NULL: it can
    int epoch;
    double progress;                  // in iterations at the initial batch size
    int64_t submitted_us;             // as the trace says, or when there was room
    int64_t ended_us;                 // -1: not yet
    int64_t started_us;               // first placed; -1: never
    int restarts;                     // placements so far, the first one included
    int64_t executed_us, gpu_us;      // it held GPUs; times their number

    double oracle_step_s[RB_APP_MAX_GPUS + 1]; // of an iteration, by the number of GPUs, from the tables, once asked for

    // What it has seen of itself: iterations on each (nodes, GPUs, batch per GPU) it trained with, once each, and the model
    // they make. The gradients are the latest.
    struct rb_throughput_sample *seen;
    int n_seen, seen_cap, most_gpus_seen;
    bool as_published;                // fits as there (profiles/fit/throughput_fit_published.h), asks the tables nothing
    struct rb_goodput model;          // nothing before n_seen > 0
    double *asked;                    // goodput by this model, < 0: not asked yet; [RB_APP_MAX_NODES][RB_APP_MAX_GPUS]
};

// `batches` of the application's limits, for RB_APP_MAX_GPUS; borrowed.
void rb_trace_training_init(struct rb_trace_training *t, const struct rb_trace_job *job, bool tunes, int node_gpus,
                            const struct rb_goodput_batches *batches);
void rb_trace_training_finish(struct rb_trace_training *t);

// It is moved to gpus[0..n), none 0, in the order of its workers; n = 0: it waits. False: this was never measured.
bool rb_trace_training_place(struct rb_trace_training *t, const int *gpus, int n, int64_t now_us, int64_t restart_us,
                       struct rb_err *err);

// It trains, and sees how: the model knows from now on.
bool rb_trace_training_learn(struct rb_trace_training *t, struct rb_err *err);
void rb_trace_training_hold(struct rb_trace_training *t, int64_t span_us); // its GPUs, for so long
// The epoch ends: the next begins, or it ends with it.
void rb_trace_training_end_epoch(struct rb_trace_training *t, int64_t now_us);
double rb_trace_training_epoch_end(const struct rb_trace_training *t); // the progress at which it does
// Chooses the batch size again. False: on these nodes it was never measured.
bool rb_trace_training_tune(struct rb_trace_training *t, struct rb_err *err);

// How many GPUs it may be asked about: twice as many as it ever trained on, one at first.
int rb_trace_training_reach(const struct rb_trace_training *t);
// Goodput by its model, for rb_shared_job: arg is the training. 0: it cannot run there, or no one ever measured what would
// become of it.
double rb_trace_training_goodput(const void *arg, int nodes, int gpus);
// Asks the tables for an iteration on every number of GPUs, batch size as it is. Before the first rb_..._oracle_s.
void rb_trace_training_consult_oracle(struct rb_trace_training *t);
// What only an oracle knows: seconds of work left on this number of GPUs of the fewest nodes, batch size as submitted.
// INFINITY: it cannot run there. For rb_shared_job: arg is the training.
double rb_trace_training_oracle_s(const void *arg, int gpus);

#endif
