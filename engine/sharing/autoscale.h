// An autoscaling rule decides how large a shared cluster should be. It is asked at every round before the cluster is divided,
// unless the cluster's size is fixed. Pure, like the division itself: the world requests, releases and pays for nodes.
// A rule is one file.
#ifndef RB_ENGINE_SHARING_AUTOSCALE_H
#define RB_ENGINE_SHARING_AUTOSCALE_H

#include "base/text/units.h"
#include "engine/sharing/sharing.h"

struct rb_autoscale_options {
    int min_nodes, max_nodes;
    int gpus_per_node;
    int64_t provision_us;       // from the request of a node until jobs may use it, on average
    int64_t late_provision_us;  // the same with the confidence required for deadlines
    int64_t restart_us;         // as for the division
    int64_t round_us;
    // The least value of a GPU, relative to the first: of all on average, or of the last one.
    double least_worth;
    // Of nodes 0..max_nodes-1, never falling: the cheapest are requested first. NULL: unknown.
    const struct rb_rate *rates;
};

// What a rule sees at a round.
struct rb_autoscale_view {
    const struct rb_shared_cluster *cluster; // of max_nodes nodes; absent and unready nodes have 0 GPUs
    const bool *owned;                       // of each node: ready or on its way
    int n_owned;
    const struct rb_shared_job *jobs;        // as the division will see them
    int n_jobs;
};

struct rb_autoscale {
    const char *name;
    const char *summary;        // one line for --help
    double least_worth;         // default
    bool by_throughput;         // jobs are judged, and choose their batch sizes, by samples a second; the lower value
                                // of a sample in a large batch is ignored
    bool (*create)(const struct rb_autoscale_options *options, void **out_state, struct rb_err *err);
    void (*destroy)(void *state);
    // Nodes to own from now on, min_nodes..max_nodes. More than owned: the missing ones are requested, lowest number
    // first. Fewer: some are released, chosen by sharing/give_up.h; their jobs move.
    int (*decide)(void *state, int64_t now_us, const struct rb_autoscale_view *view);
};

#endif
