// A profile holds the knowledge about a training job and about the clouds it may run on: rb-profile/1, measured or
// written by hand. Immutable after reading; everything lives in one arena.
#ifndef RB_PROFILES_PROFILE_H
#define RB_PROFILES_PROFILE_H

#include "base/arena.h"
#include "base/document/doc.h"
#include "base/document/json.h"
#include "profiles/catalog/catalog.h"
#include "profiles/fit/dist.h"
#include "profiles/fit/goodput_codec.h"
#include "profiles/fit/throughput.h"
#include "profiles/store/measured.h"
#include "profiles/store/spells.h"

struct rb_layout {
    int gpus, nodes;
    double speedup; // over one GPU
};

// Trials that share one GPU.
struct rb_gpu_sharing {
    int trials;      // of each of them relative to one that has the GPU to itself
    double slowdown; // of each of them over one that has the GPU to itself
};

// How a training's times follow from those that were measured on another GPU.
struct rb_transfer {
    const char *from;      // the GPU that was measured; NULL: nothing was transferred
    double faster, log_sd; // this GPU trains this many times as fast, with this standard deviation of the logarithm
};

// Training on one accelerator: either a speed-up table or the throughput model.
struct rb_training {
    const char *accelerator;
    double base_s;                  // mean seconds per unit of resource on one GPU
    const struct rb_layout *layouts; // sorted by (nodes, gpus), [n_layouts]
    int n_layouts;
    bool has_throughput;
    struct rb_throughput throughput;
    double batch;                   // per GPU
    double units_per_epoch;         // iterations per unit of resource
    double relative_error;          // standard error of the mean unit times over the mean; 0: taken as exact
    const struct rb_gpu_sharing *sharing; // ascending by trials, [n_sharing]; none: never measured
    int n_sharing;
    bool has_goodput;
    struct rb_training_goodput goodput; // for jobs whose batch size is tuned
    struct rb_transfer transfer;    // only in a guessed profile
    int max_gpus, max_nodes;        // with throughput: largest measured; never extrapolated beyond
};

struct rb_provisioning {
    const char *infra, *instance_type; // "*" matches all; infra "aws" matches "aws/us-east-1"
    const char *market;                // "on_demand", "spot", "*"
    struct rb_dist queue_s, init_s;
    double capacity_failure;           // probability per request
    bool has_preemption;               // how often nodes are taken back is known
    double preemption_per_hour;        // at every age, where there are no spells
    const struct rb_spells *spells;    // NULL: a market without memory
    int release_s;                     // a machine is billed for this long after its node's end; 0: it is not
};

// How long nodes of one offer took to fetch the job's data.
struct rb_reading {
    const char *fetch;                 // the command, data.fetch of the job
    const char *infra, *instance_type; // exactly
    int64_t bytes;                     // data.size then
    struct rb_dist read_s;
    int nodes;                         // how many were measured
};

// One thing that a guessed profile rests on.
struct rb_basis {
    const char *what, *from;
    double log_sd; // standard deviation of the logarithm; 0: several, each in what it is said of
};

struct rb_profile {
    const char *name, *unit, *source;
    const struct rb_training *training;
    int n_training;
    struct rb_dist between, within;   // factors
    const struct rb_dist *configuration; // factor that a trial keeps in all its stages; NULL: 1
    struct rb_dist startup_s, checkpoint_s;
    const struct rb_provisioning *provisioning; // first match wins
    int n_provisioning;
    const struct rb_reading *readings; // [n_readings]; none: nothing was fetched yet
    int n_readings;
    bool restarts;                    // `resumes: false`: a trial trains from the beginning again in every stage
    bool exact;                       // `exact: true`: times never vary
    bool has_measured;                // else it was written by hand
    struct rb_measured measured;
    const struct rb_basis *basis;     // [n_basis]; none: it was measured, or written by hand. Otherwise it is a guess: the errors
    int n_basis;                      // of its times are common to all layouts, and nothing is proved with it
};

// Mean of the product of its factors.
double rb_profile_mean_factor(const struct rb_profile *p);
// How much slower a trial is than another one: about the quantile q, 0 < q < 1, of between times configuration, whose
// logarithms count as normal.
double rb_profile_slow_factor(const struct rb_profile *p, double q);

// Is everything in it constant although it does not have `exact: true`? Then it is unknown how far a run may be from
// its prediction, and so is every probability.
bool rb_profile_spread_is_unknown(const struct rb_profile *p);

// name_override (--name) wins, else `name:`, else stem. Strings and samples are copied into `arena`.
bool rb_profile_read(const struct rb_node *root, const char *name_override, const char *stem, struct rb_arena *arena,
                     struct rb_profile *out, struct rb_err *err);
const char *rb_profile_stem(const char *path, struct rb_arena *arena); // "dir/resnet50.yaml" -> "resnet50"
// Reads only its `provisioning:` list, which the mock cloud's rb-mock/1 shares. NULL: an empty list.
bool rb_provisioning_read(const struct rb_node *list, struct rb_arena *arena, const struct rb_provisioning **out,
                          int *out_n, struct rb_err *err);
void rb_profile_write(const struct rb_profile *p, struct rb_json *j); // rb-profile/1 as canonical JSON
void rb_profile_write_yaml(const struct rb_profile *p, struct rb_buf *out);

const struct rb_training *rb_profile_training(const struct rb_profile *p, const char *accelerator); // NULL: none
// The GPU that was measured, from whose times those of others follow in a guessed profile; NULL: none follow.
const char *rb_profile_transferred_from(const struct rb_profile *p);
// First match, NULL: none.
const struct rb_provisioning *rb_profile_provisioning(const struct rb_profile *p, const char *infra,
                                                      const char *instance_type, enum rb_market market);

// How soon its nodes are taken back; whether they ever are.
struct rb_hazard rb_provisioning_hazard(const struct rb_provisioning *p);
bool rb_provisioning_may_lose(const struct rb_provisioning *p);
bool rb_provisioning_goes_down(const struct rb_provisioning *p); // its market has spells without nodes
double rb_provisioning_together(const struct rb_provisioning *p); // share of losses that take all nodes at once

// Speed-up of `gpus` over one GPU when spread over `nodes` nodes; interpolated in log-log among the entries with the
// same `nodes`, never extrapolated upwards. false: the profile does not cover that layout (err has the reason).
bool rb_training_speedup(const struct rb_training *t, int gpus, int nodes, double *out, struct rb_err *err);
// How much longer each trial takes when `trials` share one GPU; 1 for one alone. Never interpolated: only measured
// numbers.
bool rb_training_slowdown(const struct rb_training *t, int trials, double *out, struct rb_err *err);

#endif
