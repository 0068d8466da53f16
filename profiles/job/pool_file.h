// Reads a pool as the user wrote it (rb-pool/1): nodes that several jobs share, and how they are divided between them.
// Source: docs/formats/pool.md.
#ifndef RB_PROFILES_POOL_FILE_H
#define RB_PROFILES_POOL_FILE_H

#include "profiles/job/job.h"

struct rb_pool_job {
    const char *path;       // of its job.yaml, as written: relative to the pool's file
    int64_t arrives_us;     // after the start of the pool
    int64_t deadline_us;    // after its arrival; -1: none
    double weight;          // > 0
};

struct rb_pool_file {
    const char *name;
    struct rb_resources resources; // as in job.yaml; max_nodes are owned throughout
    const char *policy;            // of engine/sharing
    double fairness_p;             // exponent of the power mean over jobs; NAN: the policy's default
    int64_t interval_us;           // between two divisions, in addition to those at arrivals and ends
    int64_t restart_us;            // the cost of a change of a job's GPUs that policies assume
    int64_t budget_uusd;           // of the pool; -1: none
    uint64_t seed;
    const struct rb_pool_job *jobs; // in the order of the file, [n_jobs]
    int n_jobs;
};

// Reads and validates; strings are copied into `arena`.
bool rb_pool_file_load(const char *path, struct rb_arena *arena, struct rb_pool_file *out, struct rb_err *err);

#endif
