// Computes how much jobs gain from a cluster of each size: the sum of their speed-ups over one GPU, if its GPUs were divided
// for the largest sum. A job's GPUs come node by node, so a step may be of several GPUs; the best gain a GPU goes first.
#ifndef RB_ENGINE_SHARING_SIZE_SPEEDUP_H
#define RB_ENGINE_SHARING_SIZE_SPEEDUP_H

#include "engine/sharing/autoscale.h"

// out[n]: of n nodes of gpus_per_node GPUs, n = 0..max_nodes. Never falls. A job without a model scales linearly up to
// its maximum.
void rb_size_speedup(const struct rb_autoscale_view *view, int max_nodes, int gpus_per_node, double *out);

// State of a rule between rounds.
struct rb_sizer {
    struct rb_autoscale_options options;
    double *speedup; // by nodes, [max_nodes + 1]: as rb_size_speedup left it
};
// For rb_autoscale.create and .destroy.
bool rb_sizer_create(const struct rb_autoscale_options *options, void **out_state, struct rb_err *err);
void rb_sizer_destroy(void *state);

#endif
