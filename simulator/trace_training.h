// One job of a trace in training: what it holds, how far it is, what it has learned of itself. Its world moves it through
// time; it knows the measured tables, and its policy knows of it only what it asks.
#ifndef RB_SIMULATOR_TRACE_TRAINING_H
#define RB_SIMULATOR_TRACE_TRAINING_H

#include "simulator/trace.h"

struct rb_trace_training {
    const struct rb_trace_job *job;
    bool tunes;                       // chooses its batch size
    int batch;                        // else this
    int node_gpus;                    // of the nodes it is placed on
    int max_gpus;                     // it may ever hold

    int nodes, gpus;                  // it holds; 0: it waits
    const struct rb_app_times *times; // there
    int local_batch, accumulation;    // samples a GPU takes at a time, and how often more before it synchronises
    double rate;                      // progress a second, restarts and neighbours aside
    int64_t restart_left_us;          // until it makes progress again

    int epoch;
    double progress;                  // in iterations at the initial batch size
    int64_t ended_us;                 // -1: not yet
    int64_t started_us;               // first placed; -1: never
    int restarts;                     // placements so far, the first one included
    int64_t executed_us, gpu_us;      // it held GPUs; times their number
};

void rb_trace_training_init(struct rb_trace_training *t, const struct rb_trace_job *job, bool tunes, int node_gpus);
void rb_trace_training_finish(struct rb_trace_training *t);

// It is moved to gpus[0..n), none 0, in the order of its workers; n = 0: it waits. False: this was never measured.
bool rb_trace_training_place(struct rb_trace_training *t, const int *gpus, int n, int64_t now_us, int64_t restart_us,
                       struct rb_err *err);

// The epoch ends: the next begins, or it ends with it.
void rb_trace_training_end_epoch(struct rb_trace_training *t, int64_t now_us);
double rb_trace_training_epoch_end(const struct rb_trace_training *t); // the progress at which it does
// Chooses the batch size anew. False: on these nodes it was never measured.
bool rb_trace_training_tune(struct rb_trace_training *t, struct rb_err *err);

// What only an oracle knows: seconds of work left on so many GPUs of the fewest nodes, batch size as submitted.
// INFINITY: it cannot run there. For rb_shared_job: arg is the training.
double rb_trace_training_oracle_s(const void *arg, int gpus);

#endif
