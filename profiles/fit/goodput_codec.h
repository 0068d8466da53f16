// Reads and writes `goodput:` of a profile's training entry, by which a trial's batch size is tuned until the trial has
// reported enough itself.
#ifndef RB_PROFILES_GOODPUT_CODEC_H
#define RB_PROFILES_GOODPUT_CODEC_H

#include "base/document/doc.h"
#include "base/document/json.h"
#include "profiles/fit/grad_noise.h"
#include "profiles/fit/throughput.h"

struct rb_training_goodput {
    double batch;               // M0, which grad_var is for
    bool has_noise;
    struct rb_grad_noise noise;
    bool has_steps;
    struct rb_throughput steps; // time of an optimiser step
    int max_per_gpu;            // largest batch per GPU that was timed for them; 0: unknown
};

// Reads the seven parameters from a map; ranges are checked.
bool rb_throughput_read(struct rb_map *m, struct rb_throughput *out, struct rb_err *err);
void rb_throughput_write(const struct rb_throughput *t, struct rb_json *j); // into an open object

bool rb_training_goodput_read(const struct rb_node *node, struct rb_training_goodput *out, struct rb_err *err);
// On one line this is YAML as well.
void rb_training_goodput_write(const struct rb_training_goodput *g, struct rb_json *j);

// The noise for another initial batch: the trace of a mean's covariance falls with the samples in it.
struct rb_grad_noise rb_training_goodput_noise(const struct rb_training_goodput *g, double batch);

#endif
