// Divides a cluster between jobs that train side by side: once a round, it decides how many GPUs of which node each job holds
// until the next round. Pure, like the rest of the engine: no clock, no I/O; a policy that searches at random draws from its
// seed and the number of the round.
// A policy is one file and one line in sharing.c. Sources: Pollux (OSDI'21), Optimus (EuroSys'18), Tiresias (NSDI'19),
// Sia (SOSP'23).
#ifndef RB_ENGINE_SHARING_H
#define RB_ENGINE_SHARING_H

#include "base/errors/err.h"
#include "base/text/units.h"

#include <stdbool.h>
#include <stdint.h>

struct rb_shared_cluster {
    int n_nodes;
    const int *gpus;            // of each node, [n_nodes]
    const struct rb_rate *rates; // likewise; NULL: all nodes cost the same, or prices are unknown
};

// One job as a policy sees it at a round. Rates are functions, not fields: the policy decides which placements it wants
// to know. Everything is borrowed for the call.
struct rb_shared_job {
    int id;                     // never changes; ascending by submission, ties by the trace's order
    int64_t submitted_us;
    int64_t age_us;             // since submission
    double attained_gpu_s;      // GPU-seconds it has held
    int64_t executed_us;        // time it has held at least one GPU
    int restarts;               // changes of placement so far; the first start counts
    int min_gpus, max_gpus;     // what it can use now; max_gpus also bounds the calls of its model
    const int *held;            // GPUs it holds on each node, [n_nodes]
    // Its submitted values, for policies that do not tune: GPUs, and a batch size that never changes.
    int asked_gpus;
    // Progress per second that its own model predicts on `gpus` GPUs of `nodes` nodes with the best batch size, in any unit that
    // stays the same for one job. 0: it cannot run there. NULL: no model yet.
    double (*rate)(const void *arg, int nodes, int gpus);
    // Progress in that unit until it has trained as long as declared, by its reports. 0: unknown.
    double left;
    // True remaining seconds of work on `gpus` GPUs with the submitted batch size: only for the oracle policies.
    // INFINITY: it cannot run there. NULL: unknown.
    double (*oracle_s)(const void *arg, int gpus);
    const void *arg;
    int64_t deadline_us;        // from its submission; INT64_MAX: none
    double weight;              // > 0; 1 unless the user says otherwise
    bool has_value;             // its owner has stated the value of an hour:
    struct rb_rate value;
};

struct rb_sharing_options {
    uint64_t seed;
    int64_t restart_us;         // cost of a change of placement: time without progress
    int64_t round_us;           // between two rounds, as the world calls them
    double fairness_p;          // exponent of the power mean over jobs; -1: harmonic; NAN: the policy's own
    bool avoid_interference;    // at most one job that spans nodes on any node
};

struct rb_sharing {
    const char *name;
    const char *summary;        // one line for --help
    bool needs_oracle;          // calls oracle_s
    // Jobs keep their submitted batch size, and, if the policy reads asked_gpus, their submitted GPUs.
    bool as_submitted;
    bool freest_first;          // a job fills the freest node first (sharing/place.h): its workers are numbered in that order
    bool (*create)(const struct rb_sharing_options *options, void **out_state, struct rb_err *err);
    void (*destroy)(void *state);
    // The division from `now_us` on: out[j * n_nodes + n] GPUs of node n for jobs[j]; zeroed by the caller. Jobs come
    // ascending by id. Never more than a node has, never less than min_gpus or more than max_gpus of a job that gets any.
    void (*divide)(void *state, int64_t now_us, const struct rb_shared_cluster *cluster, const struct rb_shared_job *jobs,
                   int n_jobs, int *out);
};

const struct rb_sharing *rb_sharing_find(const char *name); // NULL: unknown
extern const struct rb_sharing *const rb_sharings[];         // sorted by name, NULL-terminated

#endif
