// The nodes of a shared cluster during a trace: fixed from the start, or requested and released by an autoscaler. A
// node is billed as everywhere: from the end of its queueing delay to its end.
#ifndef RB_SIMULATOR_TRACE_NODES_H
#define RB_SIMULATOR_TRACE_NODES_H

#include "profiles/fit/dist.h"

// One node from its request to its end. Its number can be reused afterwards.
struct rb_trace_lease {
    int node;
    int64_t requested_us, running_us, ready_us;
    int64_t ended_us; // -1: still owned
};

struct rb_trace_provisioning {
    uint64_t seed;
    struct rb_dist queue_s, init_s;
};

struct rb_trace_nodes {
    int n;                     // numbers 0..n-1, owned or not
    int gpus_per_node;
    int *gpus;                 // of each, 0 where it is not ready
    int *lease;                // of each, -1: not owned
    int n_owned;
    struct rb_trace_lease *leases;
    int n_leases, leases_cap;
    struct rb_trace_provisioning provisioning;
};

// The first n_owned nodes exist and are ready at time 0.
void rb_trace_nodes_init(struct rb_trace_nodes *t, int n, int gpus_per_node, int n_owned,
                         const struct rb_trace_provisioning *provisioning);
void rb_trace_nodes_finish(struct rb_trace_nodes *t);

void rb_trace_nodes_request(struct rb_trace_nodes *t, int64_t now_us); // the lowest free number; there must be one
void rb_trace_nodes_release(struct rb_trace_nodes *t, int node, int64_t now_us);
// The next instant at which a node becomes ready; INT64_MAX: none is pending.
int64_t rb_trace_nodes_next_us(const struct rb_trace_nodes *t);
bool rb_trace_nodes_arrive(struct rb_trace_nodes *t, int64_t now_us); // marks nodes that are ready by now; true if
                                                                      // there was one
void rb_trace_nodes_release_all(struct rb_trace_nodes *t, int64_t now_us);

#endif
