// An autoscaling rule decides how large a shared cluster should be. It is asked at every round before the cluster is divided,
// unless the cluster's size is fixed. Pure, like the division itself: the world requests, releases and pays for nodes.
// A rule is one file.
#ifndef RB_ENGINE_SHARING_AUTOSCALE_H
#define RB_ENGINE_SHARING_AUTOSCALE_H

#include "base/units.h"
#include "engine/sharing/sharing.h"

struct rb_autoscale_options {
    int min_nodes, max_nodes;
    int gpus_per_node;
    int64_t provision_us;       // from the request of a node until jobs may use it, on average
    int64_t late_provision_us;  // the same with the confidence that is asked of deadlines
    int64_t restart_us;         // as for the division
    int64_t round_us;
    double least_worth;         // what a GPU must be worth, the first one being worth 1: of all on average, or the last one
    const struct rb_rate *rates; // of nodes 0..max_nodes-1, never falling: the cheapest are asked for first. NULL: unknown
};

// What a rule sees at a round.
struct rb_autoscale_view {
    const struct rb_shared_cluster *cluster; // of max_nodes nodes; those that are not there or not ready have 0 GPUs
    const bool *owned;                       // of each node: ready or on its way
    int n_owned;
    const struct rb_shared_job *jobs;        // as the division will see them
    int n_jobs;
};

struct rb_autoscale {
    const char *name;
    const char *summary;        // one line for --help
    double least_worth;         // unless another is asked for
    bool by_throughput;         // jobs are judged, and choose their batch sizes, by samples a second: what a sample is worth in
                                // a large batch is left out
    bool (*create)(const struct rb_autoscale_options *options, void **out_state, struct rb_err *err);
    void (*destroy)(void *state);
    // Nodes to own from now on, min_nodes..max_nodes. More than are owned: the missing ones are requested, lowest number
    // first. Fewer: some are given up, as sharing/give_up.h says; jobs on them are moved.
    int (*decide)(void *state, int64_t now_us, const struct rb_autoscale_view *view);
};

#endif
