// Made-up jobs that share a made-up cluster, for the tests of policies; and what every division must keep to.
#ifndef RB_TESTS_SHARING_JOBS_H
#define RB_TESTS_SHARING_JOBS_H

#include "base/stream.h"
#include "engine/sharing/sharing.h"

#define MAX_JOBS  24
#define MAX_NODES 32

// rate = gpus / (1 + overhead * (gpus - 1) + (nodes > 1 ? network : 0)).
struct made_up_model {
    double overhead, network;
};

struct made_up {
    struct rb_shared_cluster cluster;
    int gpus[MAX_NODES];
    struct rb_shared_job jobs[MAX_JOBS];
    struct made_up_model models[MAX_JOBS];
    int held[MAX_JOBS * MAX_NODES]; // what jobs[j].held points into
    int division[MAX_JOBS * MAX_NODES];
    int n_jobs;
};

double made_up_rate(const void *model, int nodes, int gpus);

// n_jobs equal jobs that hold nothing, of up to all GPUs and a minute old.
void make_up(struct made_up *m, int n_jobs, int n_nodes, int gpus_per_node);
// Sizes, models, ages, limits at random; a few have no model, a few can use nothing.
void make_up_at_random(struct made_up *m, struct rb_stream *draws);

// A division: the policy is asked, checked, and what it says is held from then on. Returns how many jobs moved.
int divide(struct made_up *m, const struct rb_sharing *policy, void *state, int64_t now_us);
int gpus_of(const struct made_up *m, int job);
int nodes_of(const struct made_up *m, int job);
// Power mean of rates with exponent -1, each plus 1/1000.
double harmonic_mean(const struct made_up *m);

#endif
